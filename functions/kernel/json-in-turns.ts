import { inTurns, type Turns } from './turns.ts';

/**
 * The JSON text of a large value, made in parts, so that other calls of the process run in between. Values `depth` levels below the
 * top are written in one part.
 */
export function jsonInTurns(value: unknown, depth: number, turns: Turns): Promise<string> {
  return inTurns(written(value, depth), turns);
}

function* written(value: unknown, depth: number): Generator<void, string> {
  if (depth === 0 || typeof value !== 'object' || value === null) {
    yield;
    return JSON.stringify(value);
  }
  const texts: string[] = [];
  if (Array.isArray(value)) {
    for (const each of value) texts.push(yield* written(each, depth - 1));
    return `[${texts.join(',')}]`;
  }
  for (const [name, member] of Object.entries(value))
    if (member !== undefined) texts.push(`${JSON.stringify(name)}:${yield* written(member, depth - 1)}`);
  return `{${texts.join(',')}}`;
}
