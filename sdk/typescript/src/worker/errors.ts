import { SvcError } from '../errors.ts';

/**
 * Ends an attempt with a failure that the run tells. The class decides about retries: `validation` is never tried again. The
 * message of any other error stays with the worker.
 */
export class RunFailure extends Error {
  readonly failureClass: string;
  readonly status: 'failed' | 'timed_out' | 'rejected';

  constructor(failureClass: string, message: string, options: RunFailureOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = 'RunFailure';
    this.failureClass = failureClass;
    this.status = options.status ?? 'failed';
  }
}

export interface RunFailureOptions {
  /** `failed` where it is not given. Only `failed` and `timed_out` are tried again. */
  readonly status?: 'failed' | 'timed_out' | 'rejected';
  readonly cause?: unknown;
}

/**
 * Why a handler is to stop: `cancelled`: somebody asked to cancel the run; `lease_lost`: another worker may have it now;
 * `stopping`: the worker ends and has waited long enough; `suspended`: the run is parked until what it waits for has come.
 */
export type StopKind = 'cancelled' | 'lease_lost' | 'stopping' | 'suspended';

const texts: Readonly<Record<StopKind, string>> = {
  cancelled: 'The run is to be cancelled.',
  lease_lost: 'The run is no longer that of this worker.',
  stopping: 'The worker stops.',
  suspended: 'The run waits; its handler is executed again once that is over.',
};

/** The reason of a handler's signal, and what its calls are refused with once its attempt is over. Need not be caught. */
export class WorkStopped extends SvcError {
  readonly kind: StopKind;

  constructor(kind: StopKind, options: { readonly cause?: unknown } = {}) {
    super(texts[kind], options);
    this.kind = kind;
  }
}

/** A run was not carried out to an end that the service knows: it stays for the next lease. */
export class WorkNotDoneError extends SvcError {}

/** A worker that takes no more at the moment: as many runs as it may have are under way, or it stops. */
export class WorkerUnavailableError extends SvcError {}
