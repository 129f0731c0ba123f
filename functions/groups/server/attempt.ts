import type { Timers } from '../../kernel/world.ts';
import { type RecordStore, StoreError } from '../../store/port.ts';

/**
 * Timeout of an attempt. Callers could not use a store that is slower.
 * @testonly
 */
export const TIMEOUT_MS = 5000;

export interface Failure {
  readonly reason: string;
  /** The store answers, but has no room for writes. */
  readonly full: boolean;
}

/** The failure of the attempt; `undefined` if it succeeds in time. */
export function failureWithin(timers: Timers, attempt: () => Promise<void>): Promise<Failure | undefined> {
  return new Promise((resolve) => {
    const late = { reason: `no answer within ${TIMEOUT_MS} ms`, full: false };
    const cancel = timers.after(TIMEOUT_MS, () => resolve(late));
    void failureOf(attempt).then((failure) => {
      cancel();
      resolve(failure);
    });
  });
}

/** Asks the store for an answer. */
export async function ping(open: () => Promise<RecordStore>): Promise<void> {
  await (await open()).ping();
}

async function failureOf(attempt: () => Promise<void>): Promise<Failure | undefined> {
  try {
    await attempt();
    return undefined;
  } catch (error) {
    const full = error instanceof StoreError && error.failure === 'full';
    return { reason: error instanceof Error ? error.message : 'unknown', full };
  }
}
