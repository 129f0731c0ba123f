import { ConflictError } from '../errors.ts';
import type { ExecutionExternalWorkerLease } from '../generated/models.ts';
import { type StopKind, WorkStopped } from './errors.ts';
import type { WorkerSettings } from './options.ts';
import type { KeptLease, LeaseListener } from './renewals.ts';
import type { Proof } from './renewer.ts';
import { mayPass, type Repeatable, untilKnown } from './repeat.ts';

/** Why an attempt is over before its handler has said how it ended. */
export type EarlyEnd = Exclude<StopKind, 'cancelled'>;

const CALL_MS_MAX = 20_000;

/** One run in the hands of this worker: whether it still is, and the calls for it. */
export class Attempt {
  readonly lease: ExecutionExternalWorkerLease;
  readonly proof: Proof;
  readonly #settings: WorkerSettings;
  /** What the handler is told. */
  readonly #handler = new AbortController();
  /** Ends the calls: a run that is only to be cancelled can still be written to. */
  readonly #calls = new AbortController();
  #kept: KeptLease | null = null;
  #over: WorkStopped | null = null;
  #isCancelled = false;
  #isCompleting = false;
  #until: number;

  /** `until`: the moment to which the lease surely holds. */
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

  /** What is left of the lease, as far as it is known here. */
  get leftMs(): number {
    return this.#until - this.#settings.connection.world.now();
  }

  /** Who renews the lease from now on. */
  keptBy(kept: KeptLease): void {
    this.#kept = kept;
  }

  /**
   * Asks whoever renews the lease what became of it: after a handler has blocked the event loop that is not known here yet.
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
    // A completion that was carried out ends the lease as well, and is repeated until its answer is known.
    lost: () => {
      if (!this.#isCompleting) this.end('lease_lost');
    },
    failed: (why) => this.tell('warning', `the lease was not renewed: ${why}`),
  };

  cancel(): void {
    if (this.#isCancelled || this.#over !== null) return;
    this.#isCancelled = true;
    this.tell('info', 'the run is to be cancelled');
    this.#handler.abort(new WorkStopped('cancelled'));
  }

  end(kind: EarlyEnd, cause?: unknown): WorkStopped {
    if (this.#over === null) {
      this.#over = new WorkStopped(kind, cause === undefined ? {} : { cause });
      if (kind === 'lease_lost') this.tell('warning', 'the lease is lost', cause);
      this.#handler.abort(this.#over);
      this.#calls.abort(this.#over);
    }
    return this.#over;
  }

  beginCompletion(): void {
    this.#isCompleting = true;
  }

  /**
   * A call under the lease, repeated while it may help. Once it is known that the lease is lost nothing more is sent. A failure
   * that leaves open what became of a call that must not be made twice is thrown.
   */
  async call<T>(
    repeatable: Repeatable,
    make: (options: { readonly signal: AbortSignal; readonly timeout: number }) => PromiseLike<T>,
  ): Promise<T> {
    const { connection, leaseMs } = this.#settings;
    const { signal } = this.#calls;
    // What is done once may be large; the rest is asked again rather than waited for.
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
        failed: (error) => this.tell('warning', 'a call is made again', error),
      });
    } catch (error) {
      if (this.#over !== null) throw this.#over;
      if (isLost(error) && !this.#isCompleting) throw this.end('lease_lost', error);
      throw error;
    }
  }

  /** As `call`, for what must not be done twice: where it is not known whether it was, the run is left to its next lease. */
  async once<T>(make: Parameters<typeof this.call<T>>[1]): Promise<T> {
    try {
      return await this.call('refused', make);
    } catch (error) {
      if (mayPass(error, 'any') && !mayPass(error, 'refused')) throw this.end('lease_lost', error);
      throw error;
    }
  }

  tell(level: 'debug' | 'info' | 'warning' | 'error', message: string, error?: unknown): void {
    const { id: runId, handlerId, attempt } = this.lease.run;
    const its = { level, message, runId, handlerId, attempt };
    this.#settings.tell(error === undefined ? its : { ...its, error });
  }
}

/** Whether the service says that the run is in other hands, or in none. */
export function isLost(error: unknown): boolean {
  return (
    error instanceof ConflictError && (error.code === 'lease_stale' || error.code === 'lease_not_active')
  );
}
