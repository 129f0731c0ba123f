import { createHash, hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';

/** Long work of one call, in parts: between two parts the other calls of the process get their turn. */
export interface Turns {
  /** Whether long work has held this turn of the event loop long enough. Asked for after each small step: it is cheap. */
  readonly due: () => boolean;
  /** Lets the others work, and settles when it is the turn of this work again. */
  readonly next: () => Promise<void>;
}

/** For work that has no others beside it, such as that of the operator tool. */
export const UNDISTURBED: Turns = { due: () => false, next: () => Promise.resolve() };

/** Lets the other calls of the process work, once. */
export async function nextTurn(): Promise<void> {
  await setImmediate();
}

/** At some 250 MB a second these take less than 20 ms. */
const HASHED_AT_ONCE_BYTES = 4 * 1024 * 1024;

/** SHA-256 of many bytes, in parts: `sha256:` and 64 lower-case hexadecimal digits. */
export async function sha256InTurns(bytes: Uint8Array): Promise<string> {
  if (bytes.byteLength <= HASHED_AT_ONCE_BYTES) return `sha256:${hash('sha256', bytes, 'hex')}`;
  const parts = createHash('sha256');
  for (let at = 0; at < bytes.byteLength; at += HASHED_AT_ONCE_BYTES) {
    if (at > 0) await nextTurn();
    parts.update(bytes.subarray(at, at + HASHED_AT_ONCE_BYTES));
  }
  return `sha256:${parts.digest('hex')}`;
}

/** Does work that comes in steps in one go. */
export function finished<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Does work that comes in steps, and lets the others work between two of them. */
export async function inTurns<Result>(steps: Generator<void, Result>, turns: Turns): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (turns.due()) await turns.next();
  }
}
