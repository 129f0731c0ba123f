export type FailureClass =
  | 'auth'
  | 'cancelled'
  | 'configuration'
  | 'network'
  | 'policy'
  | 'provider_unavailable'
  | 'quota'
  | 'rate_limit'
  | 'schema'
  | 'timeout'
  | 'unknown'
  | 'unsupported';

/**
 * A provider did not answer as requested. The message contains the service's own words alone: text of the provider, the
 * network or a library may repeat a secret of the request.
 */
export class ProviderFailure extends Error {
  readonly failureClass: FailureClass;
  /** A word for machines, such as `http_503`. */
  readonly providerStatus: string;
  /** Another try may succeed. */
  readonly isRetryable: boolean;
  /** The wait that the provider demands; `null` for none. */
  readonly retryAfterMs: number | null;
  /** The service itself made no call: one of its limits for the provider is spent. */
  readonly isOfGuard: boolean;

  constructor(
    failureClass: FailureClass,
    providerStatus: string,
    message: string,
    { isRetryable = false, retryAfterMs = null, isOfGuard = false }: Retry = {},
  ) {
    super(message);
    this.name = 'ProviderFailure';
    this.failureClass = failureClass;
    this.providerStatus = providerStatus;
    this.isRetryable = isRetryable;
    this.retryAfterMs = retryAfterMs;
    this.isOfGuard = isOfGuard;
  }
}

interface Retry {
  readonly isRetryable?: boolean;
  readonly retryAfterMs?: number | null;
  readonly isOfGuard?: boolean;
}

/** Temporary failures, which end without an action of a person. */
const passing: ReadonlySet<FailureClass> = new Set([
  'network',
  'provider_unavailable',
  'rate_limit',
  'timeout',
]);

/** Whether the same call may succeed a while later. */
export function isPassing({ failureClass }: Pick<ProviderFailure, 'failureClass'>): boolean {
  return passing.has(failureClass);
}
