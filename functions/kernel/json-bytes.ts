import { canonicalInTurns } from './canonical-in-turns.ts';
import { canonicalJson } from './canonical-json.ts';
import { invalidMember } from './errors.ts';
import type { Turns } from './turns.ts';

/** Throws `limit_exceeded` where the text of a value that was read from JSON has more bytes. */
export function checkJsonBytes(json: unknown, bytesMax: number, pointer: string): void {
  // `JSON.stringify` gives a text of the same size as the canonical one, and is much faster.
  if (Buffer.byteLength(JSON.stringify(json)) > bytesMax) throw tooLarge(bytesMax, pointer);
}

/** Returns the size of the canonical text. Throws `limit_exceeded` where it is larger, `validation_failed` where it is no JSON. */
export function checkJson(json: unknown, bytesMax: number, pointer: string): number {
  const bytes = Buffer.byteLength(canonical(json, pointer));
  if (bytes > bytesMax) throw tooLarge(bytesMax, pointer);
  return bytes;
}

/** Values this many levels below the top, such as the items of a member's list, are written in one part. */
const ITEMS_DEPTH = 3;

/** Returns the canonical text, made in turns. Throws as `checkJson` does. */
export async function checkedText(
  json: unknown,
  bytesMax: number,
  { pointer, turns }: { readonly pointer: string; readonly turns: Turns },
): Promise<string> {
  const text = await canonicalInTurns(json, ITEMS_DEPTH, turns).catch((error: unknown) => {
    throw refusalOf(error, pointer);
  });
  if (Buffer.byteLength(text) > bytesMax) throw tooLarge(bytesMax, pointer);
  return text;
}

function tooLarge(bytesMax: number, pointer: string) {
  return invalidMember(pointer, `must be at most ${bytesMax} bytes as JSON`, 'limit_exceeded');
}

function canonical(json: unknown, pointer: string): string {
  try {
    return canonicalJson(json);
  } catch (error) {
    throw refusalOf(error, pointer);
  }
}

function refusalOf(error: unknown, pointer: string): unknown {
  return error instanceof TypeError ? invalidMember(pointer, 'must be JSON') : error;
}
