import { CanonicalText, canonicalJson } from './canonical-json.ts';
import { inTurns, type Turns } from './turns.ts';

/**
 * The canonical text of a large value, made in parts, so that other calls of the process run in between. Values `depth` levels below
 * the top are written in one part. Throws as `canonicalJson` does.
 */
export function canonicalInTurns(value: unknown, depth: number, turns: Turns): Promise<string> {
  return inTurns(written(value, depth), turns);
}

function* written(value: unknown, depth: number): Generator<void, string> {
  if (depth === 0 || typeof value !== 'object' || value === null || value instanceof CanonicalText) {
    yield;
    return canonicalJson(value);
  }
  const texts: string[] = [];
  if (Array.isArray(value)) {
    for (const each of value) texts.push(yield* written(each, depth - 1));
    return `[${texts.join(',')}]`;
  }
  const members = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(members).sort()) {
    const member = members[name];
    if (member !== undefined) texts.push(`${canonicalJson(name)}:${yield* written(member, depth - 1)}`);
  }
  return `{${texts.join(',')}}`;
}
