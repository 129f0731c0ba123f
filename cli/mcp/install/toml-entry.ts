import { scanToml, type TomlTable, type TomlValue } from './toml-scan.ts';

/**
 * Sets members of one table in a TOML text and leaves every other character as it is. Throws an Error that says why that cannot be
 * done.
 */
export function withTomlMembers(
  text: string,
  path: readonly string[],
  members: Readonly<Record<string, string | readonly string[]>>,
): string {
  const { tables, values } = scanToml(text);
  const name = path.join('.');
  if (isInAnotherForm(tables, values, path))
    throw new Error(`it writes ${name} in another form than a table`);
  const table = tables.find((each) => isSame(each.path, path));
  const feed = text.includes('\r\n') ? '\r\n' : '\n';
  const lines = Object.entries(members).map(([key, value]) => ({ key, text: tomlOf(value) }));
  if (table === undefined) {
    const gap = text === '' ? '' : text.endsWith('\n') ? feed : `${feed}${feed}`;
    return `${text}${gap}${[`[${name}]`, ...lines.map((each) => `${each.key} = ${each.text}`), ''].join(feed)}`;
  }
  const own = values.filter((value) => isSame(value.table, path));
  const edits = lines.map((line): Edit => {
    const old = own.find(({ key }) => isSame(key, [line.key]));
    if (old !== undefined) return { start: old.start, end: old.end, text: line.text };
    const before = text[table.bodyStart - 1] === '\n' ? '' : feed;
    return {
      start: table.bodyStart,
      end: table.bodyStart,
      text: `${before}${line.key} = ${line.text}${feed}`,
    };
  });
  return edited(text, edits);
}

/** The names of the members of the table. */
export function tomlNames(text: string, path: readonly string[]): readonly string[] {
  return scanToml(text).values.flatMap(({ table, key }) => (isSame(table, path) ? [key.join('.')] : []));
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** From the end to the beginning, so that places stay right. */
function edited(text: string, edits: readonly Edit[]): string {
  const ordered = edits.toReversed().toSorted((left, right) => right.start - left.start);
  return ordered.reduce(
    (rest, edit) => `${rest.slice(0, edit.start)}${edit.text}${rest.slice(edit.end)}`,
    text,
  );
}

/** Dotted names, inline tables and lists of tables. */
function isInAnotherForm(
  tables: readonly TomlTable[],
  values: readonly TomlValue[],
  path: readonly string[],
): boolean {
  const inValues = values.some(({ table, key }) => {
    const whole = [...table, ...key];
    const shorter = Math.min(whole.length, path.length);
    return table.length < path.length && isSame(whole.slice(0, shorter), path.slice(0, shorter));
  });
  return (
    inValues || tables.some((each) => each.isArray && isSame(each.path, path.slice(0, each.path.length)))
  );
}

function isSame(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((part, at) => part === right[at]);
}

function tomlOf(value: string | readonly string[]): string {
  if (typeof value !== 'string') return `[${value.map(tomlOf).join(', ')}]`;
  return JSON.stringify(value).replaceAll('\u007F', '\\u007F');
}
