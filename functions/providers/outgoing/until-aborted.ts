import { ProviderFailure } from '../failure.ts';

/** What the work gives, or a `ProviderFailure` of the class `cancelled` as soon as the signal is aborted. The work itself goes on. */
export async function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(new ProviderFailure('cancelled', 'cancelled', 'The call was cancelled.'));
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
