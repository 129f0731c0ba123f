import type { Prepared } from './batch.ts';
import type { Statement } from './statement.ts';

/** Texts get a name each, by which a connection remembers their plan. Lists have many texts: beyond this, no names. */
const names = new Map<string, string>();
const namesMax = 400;

function nameOf({ text, values }: Statement): string | undefined {
  if (values.length === 0) return undefined;
  const known = names.get(text);
  if (known !== undefined || names.size >= namesMax) return known;
  const name = `svc_${names.size}`;
  names.set(text, name);
  return name;
}

/** `undefined` when one of them is a script, which cannot be prepared, or has a timeout of its own. */
export function preparedOf(statements: readonly Statement[]): Prepared[] | undefined {
  const prepared: Prepared[] = [];
  for (const each of statements) {
    const { text, values, name, timeoutMs } = each;
    if (timeoutMs !== undefined || (values.length === 0 && name === undefined)) return undefined;
    // The driver keeps the names of its own statements.
    const number = nameOf(each);
    const given = number === undefined || name === undefined ? number : `${number}_${name}`;
    const plain = values.length === 0 ? name : given;
    prepared.push({ name: plain === undefined ? undefined : `batch_${plain}`, text, values });
  }
  return prepared;
}

export function configOf(each: Statement) {
  const { text, values, timeoutMs } = each;
  const name = nameOf(each);
  return {
    text,
    ...(values.length === 0 ? {} : { values: [...values] }),
    ...(name === undefined ? {} : { name }),
    ...(timeoutMs === undefined ? {} : { query_timeout: timeoutMs }),
  };
}
