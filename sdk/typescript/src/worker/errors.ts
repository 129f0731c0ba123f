import { SvcError } from '../errors.ts';

/**
 * Ends an attempt with a failure whose class and message the run keeps. The class decides about retries: `validation` is
 * never retried. The message of any other error stays in the worker's log.
 */
export class RunFailure extends Error {
  readonly failureClass: string;
  readonly status: 'failed' | 'timed_out' | 'rejected';
  /** `false`: the run is not retried, of whichever class the failure is. */
  readonly retryable: boolean;

  constructor(failureClass: string, message: string, options: RunFailureOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = 'RunFailure';
    this.failureClass = failureClass;
    this.status = options.status ?? 'failed';
    this.retryable = options.retryable ?? true;
  }
}

export interface RunFailureOptions {
  /** `failed` if absent. Only `failed` and `timed_out` are retried. */
  readonly status?: 'failed' | 'timed_out' | 'rejected';
  /** `false` ends the run for good. To a server that does not know this, the failure has the class `validation`. */
  readonly retryable?: boolean;
  readonly cause?: unknown;
}

/**
 * Why a handler must stop. `cancelled`: a caller cancelled the run; `lease_lost`: another worker may have the run;
 * `stopping`: the worker stops and its grace period is over; `suspended`: the run is parked on a wait.
 */
export type StopKind = 'cancelled' | 'lease_lost' | 'stopping' | 'suspended';

const texts: Readonly<Record<StopKind, string>> = {
  cancelled: 'The run is to be cancelled.',
  lease_lost: 'The worker no longer holds the lease of the run.',
  stopping: 'The worker stops.',
  suspended: 'The run waits; the service executes its handler again after the wait.',
};

/** The reason of a handler's signal, and the error of its calls after the attempt is over. Handlers need not catch it. */
export class WorkStopped extends SvcError {
  readonly kind: StopKind;

  constructor(kind: StopKind, options: { readonly cause?: unknown } = {}) {
    super(texts[kind], options);
    this.kind = kind;
  }
}

/** The service has no result of the run: the next lease executes it again. */
export class WorkNotDoneError extends SvcError {}

/** The worker takes no run at the moment: all its slots are in use, or it stops. */
export class WorkerUnavailableError extends SvcError {}
