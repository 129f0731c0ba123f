import { ProviderFailure } from '../failure.ts';

/**
 * Resolves to the result of the work. When the signal is aborted, rejects at once with the `ProviderFailure` of the abort, or with one of
 * the class `cancelled`. The work itself goes on.
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
