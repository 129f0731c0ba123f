import { ServiceError } from '../kernel/errors.ts';
import { isPassing, ProviderFailure } from './failure.ts';

const RETRY_AFTER_SECONDS = 5;

/** The refusal in the words of the contract; every other error is thrown unchanged. Repeats no text of the provider. */
export function refusedBy(error: unknown): unknown {
  if (!(error instanceof ProviderFailure)) return error;
  const { failureClass, providerStatus, message, retryAfterMs } = error;
  const facts = { failureClass, providerStatus };
  const retryAfterSeconds =
    retryAfterMs === null ? RETRY_AFTER_SECONDS : Math.max(1, Math.ceil(retryAfterMs / 1_000));
  if (error.isOfGuard)
    return new ServiceError('provider_limit_reached', message, { ...facts, retryAfterSeconds });
  if (isPassing(error))
    return new ServiceError('provider_unavailable', message, { ...facts, retryAfterSeconds });
  return new ServiceError('provider_failed', message, facts);
}
