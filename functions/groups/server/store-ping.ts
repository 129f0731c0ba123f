import type { Timers } from '../../kernel/world.ts';
import { type RecordStore, StoreError } from '../../store/port.ts';

/** A database that takes longer is of no use to a caller either. */
const PING_TIMEOUT_MS = 5000;

export interface PingFailure {
  readonly reason: string;
  /** It answers, but has no room for writes. */
  readonly full: boolean;
}

/** Why the store does not answer in time, `undefined` when it does. */
export function failureWithin(
  timers: Timers,
  open: () => Promise<RecordStore>,
): Promise<PingFailure | undefined> {
  return new Promise((resolve) => {
    const late = { reason: `no answer within ${PING_TIMEOUT_MS} ms`, full: false };
    const cancel = timers.after(PING_TIMEOUT_MS, () => resolve(late));
    void failureOf(open).then((failure) => {
      cancel();
      resolve(failure);
    });
  });
}

async function failureOf(open: () => Promise<RecordStore>): Promise<PingFailure | undefined> {
  try {
    const store = await open();
    await store.ping();
    return undefined;
  } catch (error) {
    const full = error instanceof StoreError && error.failure === 'full';
    return { reason: error instanceof Error ? error.message : 'unknown', full };
  }
}
