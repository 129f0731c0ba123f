import { createHash, hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Clock } from './world.ts';

/** Long work of one call, in parts: between two parts the other calls of the process get their turn. */
export interface Turns {
  /** Whether the work has held the process long enough. */
  readonly due: () => boolean;
  /** Lets the others work. */
  readonly next: () => Promise<void>;
}

const PART_MS = 10;

/** Lets the other calls of the process work, once. */
export async function nextTurn(): Promise<void> {
  await setImmediate();
}

/** Asked for after each small step, since the clock is cheap; a clock that stands still gives no turn. */
export function turnsOf(clock: Clock, partMs = PART_MS): Turns {
  let since = clock.now();
  return {
    due: () => clock.now() - since >= partMs,
    next: async () => {
      await nextTurn();
      since = clock.now();
    },
  };
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

/** Does work that comes in steps, and lets the others work between two of them. */
export async function inTurns<Result>(steps: Generator<void, Result>, turns: Turns): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (turns.due()) await turns.next();
  }
}
