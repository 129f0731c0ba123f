import { canonicalJson } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';

/** A JSON value as canonical text of at most `bytesMax` bytes; `limit_exceeded` naming `pointer` otherwise. */
export function boundedText(value: unknown, bytesMax: number, pointer: string): string {
  const text = canonicalJson(value);
  if (Buffer.byteLength(text) > bytesMax) {
    throw invalidMember(pointer, `must be at most ${bytesMax} bytes of canonical JSON`, 'limit_exceeded');
  }
  return text;
}
