import { canonicalInSteps } from '../../kernel/canonical-in-steps.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { finished } from '../../kernel/turns.ts';

/** A JSON value as canonical text of at most `bytesMax` bytes; `limit_exceeded` naming `pointer` otherwise. */
export function boundedText(value: unknown, bytesMax: number, pointer: string): string {
  return finished(boundedInSteps(value, bytesMax, pointer));
}

/** Does the same in steps, because a value may be large. */
export function* boundedInSteps(value: unknown, bytesMax: number, pointer: string): Generator<void, string> {
  const text = yield* canonicalInSteps(value);
  if (Buffer.byteLength(text) > bytesMax) {
    throw invalidMember(pointer, `must be at most ${bytesMax} bytes of canonical JSON`, 'limit_exceeded');
  }
  return text;
}
