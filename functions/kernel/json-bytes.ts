import { canonicalJson } from './canonical-json.ts';
import { invalidMember } from './errors.ts';

/** Returns the size of the canonical text. Throws `limit_exceeded` where it is larger, `validation_failed` where it is no JSON. */
export function checkJson(json: unknown, bytesMax: number, pointer: string): number {
  const bytes = Buffer.byteLength(canonical(json, pointer));
  if (bytes > bytesMax)
    throw invalidMember(pointer, `must be at most ${bytesMax} bytes as JSON`, 'limit_exceeded');
  return bytes;
}

function canonical(json: unknown, pointer: string): string {
  try {
    return canonicalJson(json);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw invalidMember(pointer, 'must be JSON');
  }
}
