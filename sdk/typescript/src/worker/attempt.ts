import { ConflictError } from '../errors.ts';
import type { ExecutionExternalWorkerLease } from '../generated/models.ts';
import { type StopKind, WorkStopped } from './errors.ts';
import type { WorkerSettings } from './options.ts';
import type { KeptLease, LeaseListener } from './renewals.ts';
import type { Proof } from './renewer.ts';
import { mayPass, type Repeatable, untilKnown } from './repeat.ts';

/** The reasons that end an attempt before its handler returns. */
export type EarlyEnd = Exclude<StopKind, 'cancelled'>;

const CALL_MS_MAX = 20_000;

/** One leased run: the state of its lease, and the calls under the lease. */
export class Attempt {
  readonly lease: ExecutionExternalWorkerLease;
  readonly proof: Proof;
  readonly #settings: WorkerSettings;
  /** The signal of the handler. */
  readonly #handler = new AbortController();
  /** Ends the calls. It is separate from the handler's signal: a handler may write to a run that is being cancelled. */
  readonly #calls = new AbortController();
  #kept: KeptLease | null = null;
  #over: WorkStopped | null = null;
  #isCancelled = false;
  #isCompleting = false;
  #until: number;

  /** `until`: the lease is valid at least up to this moment. */
  constructor(lease: ExecutionExternalWorkerLease, settings: WorkerSettings, until: number) {
    this.lease = lease;
    this.#settings = settings;
    const { leaseKey, leaseToken } = lease;
    this.proof = { leaseKey, leaseToken, workerId: settings.workerId };
    this.#until = until;
    if (lease.run.cancellationRequested) this.cancel();
  }

  get signal(): AbortSignal {
    return this.#handler.signal;
  }

  get over(): WorkStopped | null {
    return this.#over;
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** The rest of the lease, as far as this attempt knows it. */
  get leftMs(): number {
    return this.#until - this.#settings.connection.world.now();
  }

  /** Sets the renewal of the lease. */
  keptBy(kept: KeptLease): void {
    this.#kept = kept;
  }

  /**
   * Asks the renewal for the state of the lease. A handler that blocks the event loop delays the renewal's messages.
   */
  async confirm(): Promise<void> {
    const leftMs = this.#over === null && this.#kept !== null ? await this.#kept.leftMs() : null;
    if (this.#over !== null || this.#isCompleting) return;
    if (leftMs === null) this.end('lease_lost');
    else this.listener.renewed(leftMs);
  }

  readonly listener: LeaseListener = {
    renewed: (leftMs) => {
      this.#until = this.#settings.connection.world.now() + leftMs;
    },
    cancelled: () => this.cancel(),
    // A completion ends the lease too. It is repeated until its answer arrives, so it is no loss.
    lost: () => {
      if (!this.#isCompleting) this.end('lease_lost');
    },
    failed: (why) => this.log('warning', `the lease was not renewed: ${why}`),
  };

  cancel(): void {
    if (this.#isCancelled || this.#over !== null) return;
    this.#isCancelled = true;
    this.log('info', 'the run is to be cancelled');
    this.#handler.abort(new WorkStopped('cancelled'));
  }

  end(kind: EarlyEnd, cause?: unknown): WorkStopped {
    if (this.#over === null) {
      this.#over = new WorkStopped(kind, cause === undefined ? {} : { cause });
      if (kind === 'lease_lost') this.log('warning', 'the lease is lost', cause);
      this.#handler.abort(this.#over);
      this.#calls.abort(this.#over);
    }
    return this.#over;
  }

  beginCompletion(): void {
    this.#isCompleting = true;
  }

  /**
   * Makes a call under the lease and retries it while that may help. It sends nothing after the lease is lost. It throws if a
   * call that must not be repeated may have reached the service.
   */
  async call<T>(
    repeatable: Repeatable,
    make: (options: { readonly signal: AbortSignal; readonly timeout: number }) => PromiseLike<T>,
  ): Promise<T> {
    const { connection, leaseMs } = this.#settings;
    const { signal } = this.#calls;
    // Repeatable calls get a short timeout and a retry; others may carry large content and get the full timeout.
    const longest = Math.min(connection.timeout, repeatable === 'any' ? CALL_MS_MAX : Infinity);
    const timeout = () => Math.max(1, Math.min(longest, this.leftMs));
    if (this.leftMs < leaseMs / 2) await this.confirm();
    if (this.#over !== null) throw this.#over;
    try {
      return await untilKnown(() => make({ signal, timeout: timeout() }), {
        world: connection.world,
        repeatable,
        signal,
        until: () => this.#until,
        failed: (error) => this.log('warning', 'a call is made again', error),
      });
    } catch (error) {
      if (this.#over !== null) throw this.#over;
      if (isLost(error) && !this.#isCompleting) throw this.end('lease_lost', error);
      throw error;
    }
  }

  /** As `call`, for a call that must not be made twice. If its outcome is unknown, the next lease continues the run. */
  async once<T>(make: Parameters<typeof this.call<T>>[1]): Promise<T> {
    try {
      return await this.call('refused', make);
    } catch (error) {
      if (mayPass(error, 'any') && !mayPass(error, 'refused')) throw this.end('lease_lost', error);
      throw error;
    }
  }

  log(level: 'debug' | 'info' | 'warning' | 'error', message: string, error?: unknown): void {
    const { id: runId, handlerId, attempt } = this.lease.run;
    const its = { level, message, runId, handlerId, attempt };
    this.#settings.log(error === undefined ? its : { ...its, error });
  }
}

/** Whether the service says that the lease is stale or over. */
export function isLost(error: unknown): boolean {
  return (
    error instanceof ConflictError && (error.code === 'lease_stale' || error.code === 'lease_not_active')
  );
}
