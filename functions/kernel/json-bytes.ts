import { canonicalJson } from './canonical-json.ts';
import { invalidMember } from './errors.ts';

/** Throws `limit_exceeded` where the text of a value that was read from JSON has more bytes. */
export function checkJsonBytes(json: unknown, bytesMax: number, pointer: string): void {
  // Natively: the text has the size of the canonical one, in a small part of the time.
  if (Buffer.byteLength(JSON.stringify(json)) > bytesMax) throw tooLarge(bytesMax, pointer);
}

/** Returns the size of the canonical text. Throws `limit_exceeded` where it is larger, `validation_failed` where it is no JSON. */
export function checkJson(json: unknown, bytesMax: number, pointer: string): number {
  const bytes = Buffer.byteLength(canonical(json, pointer));
  if (bytes > bytesMax) throw tooLarge(bytesMax, pointer);
  return bytes;
}

function tooLarge(bytesMax: number, pointer: string) {
  return invalidMember(pointer, `must be at most ${bytesMax} bytes as JSON`, 'limit_exceeded');
}

function canonical(json: unknown, pointer: string): string {
  try {
    return canonicalJson(json);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw invalidMember(pointer, 'must be JSON');
  }
}
