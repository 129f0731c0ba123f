import type { SvcClient } from '../client.ts';
import type { ExecutionExternalWorkerLease } from '../generated/models.ts';
import type { Settings } from '../options.ts';
import { type StopKind, WorkStopped } from './errors.ts';
import type { Logger } from './log.ts';
import type { KeptLease, LeaseListener } from './renewals.ts';
import type { Proof } from './renewer.ts';
import { isLost, mayPass, untilKnown } from './repeat.ts';

/** The reasons that end an attempt before its handler returns. */
export type EarlyEnd = Exclude<StopKind, 'cancelled'>;

const CALL_MS_MAX = 20_000;
/** A stop waits this long for the answer to a release. */
const RELEASE_MS_MAX = 5_000;

interface CallShape {
  /** The content may be large, so the call gets the timeout of the client instead of the short one. */
  readonly large?: boolean;
}

/** The settings of the worker that its attempts need. */
export interface AttemptSettings {
  readonly client: Pick<SvcClient, 'releaseExternalExecutionLease'>;
  readonly connection: Pick<Settings, 'timeout' | 'world'>;
  readonly workerId: string;
  readonly leaseMs: number;
  readonly log: Logger;
}

/** One leased run: the state of its lease, and the calls under the lease. */
export class Attempt {
  readonly lease: ExecutionExternalWorkerLease;
  readonly proof: Proof;
  /** The run that came with the answer to the completion. */
  next: Attempt | null = null;
  readonly #settings: AttemptSettings;
  /** The signal of the handler. */
  readonly #handler = new AbortController();
  /** Ends the calls. It is separate from the handler's signal: a handler may write to a run that is being cancelled. */
  readonly #calls = new AbortController();
  #kept: KeptLease | null = null;
  #over: WorkStopped | null = null;
  #isCancelled = false;
  #isCompleting = false;
  #writes = 0;
  #givenBack: Promise<void> | null = null;
  #until: number;

  /** `until`: the lease is valid at least up to this moment. */
  constructor(lease: ExecutionExternalWorkerLease, settings: AttemptSettings, until: number) {
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

  /** Aborted when no call can be made any more; unlike `signal` not when the run is to be cancelled. */
  get calls(): AbortSignal {
    return this.#calls.signal;
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

  /** Gives the run of a stopping worker back, so that another worker need not wait for its lease to expire. */
  giveBack(): Promise<void> {
    this.#givenBack ??= this.#release();
    return this.#givenBack;
  }

  /** Gives back a run that came when the worker already stopped. */
  giveBackUnbegun(): Promise<void> {
    this.end('stopping');
    return this.giveBack();
  }

  async #release(): Promise<void> {
    if (this.#over?.kind !== 'stopping') return;
    const { client, connection } = this.#settings;
    try {
      const timeout = Math.min(RELEASE_MS_MAX, connection.timeout);
      await client.releaseExternalExecutionLease(this.proof, { timeout });
      this.log('info', 'the run was given back');
    } catch (error) {
      this.log('info', 'the run was not given back: its lease has ended, or expires', error);
    }
  }

  beginCompletion(): void {
    this.#isCompleting = true;
  }

  /** A name for a write of this lease: a repeat of the write gets the same answer. */
  nextWriteId(): string {
    this.#writes += 1;
    return `w${this.#writes}`;
  }

  /**
   * Makes an idempotent call under the lease and retries it while that may help. It sends nothing after the lease is lost. If
   * the outcome stays unknown, the attempt ends without a result, and the next lease continues the run.
   */
  async call<T>(
    make: (options: { readonly signal: AbortSignal; readonly timeout: number }) => PromiseLike<T>,
    { large = false }: CallShape = {},
  ): Promise<T> {
    const { connection, leaseMs } = this.#settings;
    const { world } = connection;
    const { signal } = this.#calls;
    const longest = Math.min(connection.timeout, large ? Infinity : CALL_MS_MAX);
    const timeout = () => Math.max(1, Math.min(longest, this.leftMs));
    if (this.leftMs < leaseMs / 2) await this.confirm();
    if (this.#over !== null) throw this.#over;
    // A handler that waits for one call as long as a lease lasts blocks its slot: another execution may do better.
    const giveUpAt = this.#isCompleting ? Infinity : world.now() + Math.max(leaseMs, connection.timeout);
    try {
      return await untilKnown(() => make({ signal, timeout: timeout() }), {
        world,
        signal,
        until: () => Math.min(this.#until, giveUpAt),
        failed: (error) => this.log('warning', 'a call is made again', error),
      });
    } catch (error) {
      if (this.#over !== null) throw this.#over;
      if ((isLost(error) || mayPass(error)) && !this.#isCompleting) throw this.end('lease_lost', error);
      throw error;
    }
  }

  log(level: 'debug' | 'info' | 'warning' | 'error', message: string, error?: unknown): void {
    const { id: runId, handlerId, attempt } = this.lease.run;
    const its = { level, message, runId, handlerId, attempt };
    this.#settings.log(error === undefined ? its : { ...its, error });
  }
}
