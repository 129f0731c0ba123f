import { createHash, hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';

/** The pauses of one call's long work: between two parts other calls of the process run. */
export interface Turns {
  /** Whether long work has held this turn of the event loop long enough. Cheap, so that work checks it after each small step. */
  readonly due: () => boolean;
  /** Lets other work run, and settles when it is this work's turn again. */
  readonly next: () => Promise<void>;
}

/** For work that shares its process with no calls, such as that of the operator tool. */
export const UNDISTURBED: Turns = { due: () => false, next: () => Promise.resolve() };

/** Lets the other calls of the process work, once. */
export async function nextTurn(): Promise<void> {
  await setImmediate();
}

/** Hashed in one part: at some 250 MB a second it takes less than 20 ms. */
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

/** Runs all steps without a pause. */
export function finished<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Runs the steps, and lets other work run between two of them. */
export async function inTurns<Result>(steps: Generator<void, Result>, turns: Turns): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (turns.due()) await turns.next();
  }
}
