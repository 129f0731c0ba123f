import { type Statement, statement } from './statement.ts';

/**
 * Joins statements that do not depend on each other's effects. Most commits consist of such statements, and each one
 * costs the server as much as its rows. The server may execute them in any order, so a lost race shows as a conflict on
 * a record's key or on that of its parts. Parts before the last one are readable as `w0`, `w1` and so on. The parts at
 * the start of the last statement come first.
 */
export function together(all: readonly Statement[]): Statement[] {
  if (all.length < 2) return [...all];
  let known = joined;
  for (const { text } of all) {
    const next = known.next.get(text) ?? { next: new Map(), text: undefined };
    known.next.set(text, next);
    known = next;
  }
  known.text ??= joinedText(all);
  return [statement(known.text, ...all.flatMap(({ values }) => values))];
}

/** By the texts that were joined, one after the other. They are constants, of which there are few. */
interface Joined {
  readonly next: Map<string, Joined>;
  text: string | undefined;
}

const joined: Joined = { next: new Map(), text: undefined };

function joinedText(statements: readonly Statement[]): string {
  let taken = 0;
  const texts = statements.map(({ text, values }) => {
    const before = taken;
    taken += values.length;
    return text.replace(/\$(\d+)/g, (_, number) => `$${Number(number) + before}`);
  });
  const last = texts.pop() ?? '';
  const parts = texts.map((text, index) => `w${index} AS (${text})`);
  const [, own, rest = last] = /^WITH ([\s\S]*\n {2}\))\n([\s\S]*)$/.exec(last) ?? [];
  return `WITH ${[...(own === undefined ? [] : [own]), ...parts].join(', ')} ${rest}`;
}
