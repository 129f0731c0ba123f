import type { JsonObject } from '../../kernel/canonical-json.ts';
import type { ProviderFailure } from '../failure.ts';
import type { RunFailureClass } from './capabilities.ts';

export type RunResultStatus =
  | 'Succeeded'
  | 'Failed'
  | 'TimedOut'
  | 'Rejected'
  | 'Unsupported'
  | 'NotConfigured'
  | 'Cancelled';

/** How a run of a capability ended. Its message is the service's own text and repeats nothing of the request or the provider. */
export interface RunOutcome {
  readonly status: RunResultStatus;
  /** `null` only for a success. */
  readonly failureClass: RunFailureClass | null;
  /** A word for machines, such as `ok`, `input_limit` or `http_503`. */
  readonly providerStatus: string;
  readonly message: string | null;
  readonly output: JsonObject | null;
  readonly isRetryable: boolean;
  /** The wait that the refusal or the provider demands; `null` or absent for none. */
  readonly retryAfterMs?: number | null;
  /** The last step of the run: before the call of the provider, or after its answer. */
  readonly reached: 'nothing' | 'guard' | 'provider' | 'answer';
}

export function succeeded(output: JsonObject): RunOutcome {
  return {
    status: 'Succeeded',
    failureClass: null,
    providerStatus: 'ok',
    message: null,
    output,
    isRetryable: false,
    reached: 'answer',
  };
}

type Refusal = readonly [RunResultStatus, RunFailureClass, providerStatus: string];

/** A run that is refused before the provider is called. */
export function refused([status, failureClass, providerStatus]: Refusal, message: string): RunOutcome {
  return {
    status,
    failureClass,
    providerStatus,
    message,
    output: null,
    isRetryable: false,
    reached: 'nothing',
  };
}

const statuses: Readonly<Partial<Record<RunFailureClass, RunResultStatus>>> = {
  cancelled: 'Cancelled',
  configuration: 'NotConfigured',
  policy: 'Rejected',
  timeout: 'TimedOut',
  unsupported: 'Unsupported',
};

/** The outcome of a call that failed. A limit of the service itself rejects the run; one of the provider fails it. */
export function outcomeOfFailure(failure: ProviderFailure): RunOutcome {
  const { failureClass, providerStatus, message, isRetryable, retryAfterMs, isOfGuard } = failure;
  return {
    status: isOfGuard ? 'Rejected' : (statuses[failureClass] ?? 'Failed'),
    failureClass,
    // The time of the tries is that of the run.
    providerStatus: providerStatus === 'client_timeout' ? 'server_timeout' : providerStatus,
    message,
    output: null,
    isRetryable,
    retryAfterMs,
    reached: reachedBy(failure),
  };
}

function reachedBy({ failureClass, isOfGuard, providerStatus }: ProviderFailure): RunOutcome['reached'] {
  if (isOfGuard || providerStatus === 'circuit_open') return 'guard';
  if (failureClass === 'configuration' && !providerStatus.startsWith('http_')) return 'nothing';
  return failureClass === 'schema' && !providerStatus.startsWith('http_') ? 'answer' : 'provider';
}

/** Omits the text of the error, which may repeat a secret. */
export const UNHANDLED: RunOutcome = {
  status: 'Failed',
  failureClass: 'unknown',
  providerStatus: 'job_unhandled_exception',
  message: 'The run ended by a fault of the service.',
  output: null,
  isRetryable: false,
  reached: 'nothing',
};

/** The settings have no such provider any more. */
export const PROVIDER_GONE: RunOutcome = refused(
  ['NotConfigured', 'configuration', 'provider_not_found'],
  'The service has no such provider.',
);
