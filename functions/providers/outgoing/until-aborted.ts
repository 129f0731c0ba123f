import { ProviderFailure } from '../failure.ts';

/**
 * What the work gives, or a `ProviderFailure` as soon as the signal is aborted: the one that it was aborted with, otherwise one of the class
 * `cancelled`. The work itself goes on.
 */
export async function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => {
    const reason: unknown = signal.reason;
    const isKnown = reason instanceof ProviderFailure;
    reject(isKnown ? reason : new ProviderFailure('cancelled', 'cancelled', 'The call was cancelled.'));
  };
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
