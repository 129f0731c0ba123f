import { ProviderFailure } from '../failure.ts';

/**
 * What the work gives, or a `ProviderFailure` as soon as the signal is aborted: the one that it was aborted with, otherwise one of the class
 * `cancelled`. The work itself goes on.
 */
export async function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(failureOf(signal));
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Throws that failure where the signal is aborted. */
export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw failureOf(signal);
}

function failureOf(signal: AbortSignal): ProviderFailure {
  const reason: unknown = signal.reason;
  if (reason instanceof ProviderFailure) return reason;
  return new ProviderFailure('cancelled', 'cancelled', 'The call was cancelled.');
}
