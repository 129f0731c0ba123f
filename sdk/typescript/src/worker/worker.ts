import { SvcError } from '../errors.ts';
import { pause } from '../world.ts';
import { Attempt } from './attempt.ts';
import { fullJitter } from './backoff.ts';
import { type Carried, carryOut } from './carry-out.ts';
import { WorkerUnavailableError } from './errors.ts';
import { LoopRenewals } from './loop-renewals.ts';
import { settleWorker, type WorkerOptions, type WorkerSettings } from './options.ts';
import type { Renewals } from './renewals.ts';
import { askedBy } from './repeat.ts';
import { Slots } from './slots.ts';
import { ThreadRenewals } from './thread-renewals.ts';

export interface StopOptions {
  /** How long handlers may go on, in seconds; 30 where it is not given. */
  readonly graceSeconds?: number | undefined;
}

/** What came of a delivered run: its handler was executed to an end, it waits, or there was nothing to lease. */
export type Delivered = 'executed' | 'suspended' | 'nothing';

/** Executes runs of the service by handlers of this process. Either `run()` it, or `deliver()` runs to it. */
export interface SvcWorker extends AsyncDisposable {
  readonly workerId: string;
  /** Asks for runs and carries them out until the worker is stopped; resolves once it has. Called once. */
  run(): Promise<void>;
  /**
   * Leases exactly this run, as a message of a queue names it, and carries it out. Rejects with `WorkerUnavailableError` where
   * as many runs as may are under way, and with another error where the run was not carried out: it should be delivered again.
   */
  deliver(message: { readonly runId: string }): Promise<Delivered>;
  /**
   * Takes no more runs, but one that it has just asked for; waits for the handlers under way, and then aborts their signals; a
   * run that is not completed by then is left to its next lease. What is said first counts.
   */
  stop(options?: StopOptions): Promise<void>;
}

/** Makes a worker. It does nothing before it is run or delivered to. */
export function createWorker(options: WorkerOptions): SvcWorker {
  return new RunWorker(settleWorker(options));
}

const GRACE_SECONDS = 30;
const GRACE_SECONDS_MAX = 86_400;
/** Beyond what the service waits, and what any other call of the kit may take. */
const CALL_MS_MAX = 20_000;
const BACKOFF_MS = 1_000;
/**
 * A question that was asked less long ago is mostly about to be answered with a run, which nobody would have until its lease is
 * over; one that has waited longer waits for a run that is not there.
 */
const ANSWER_MS = 1_000;

class RunWorker implements SvcWorker {
  readonly #settings: WorkerSettings;
  readonly #renewals: Renewals;
  readonly #slots: Slots;
  readonly #attempts = new Set<Attempt>();
  readonly #stopping = new AbortController();
  /** Ends the questions for runs. */
  readonly #asking = new AbortController();
  #askedAt = -Infinity;
  #isRun = false;
  #stopped: Promise<void> | null = null;

  constructor(settings: WorkerSettings) {
    this.#settings = settings;
    const isThread = settings.heartbeatFrom === 'thread';
    this.#renewals = isThread ? new ThreadRenewals(settings) : new LoopRenewals(settings);
    this.#slots = new Slots(settings.concurrency);
    const { signal } = settings;
    if (signal?.aborted === true) void this.stop();
    else signal?.addEventListener('abort', () => void this.stop(), { signal: this.#stopping.signal });
  }

  get workerId(): string {
    return this.#settings.workerId;
  }

  async run(): Promise<void> {
    if (this.#isRun) throw new SvcError('The worker was run already.');
    this.#isRun = true;
    const { signal } = this.#stopping;
    for (let failures = 0; !signal.aborted; ) {
      await this.#slots.free(signal);
      if (signal.aborted || !this.#slots.take()) continue;
      try {
        const attempt = await this.#leaseOrIdle();
        failures = 0;
        if (attempt === null) this.#slots.give();
        else void this.#inSlot(attempt).catch(() => undefined);
      } catch (error) {
        this.#slots.give();
        failures += 1;
        await this.#backOff(failures, error);
      }
    }
    await this.stop();
  }

  async deliver({ runId }: { readonly runId: string }): Promise<Delivered> {
    if (typeof runId !== 'string' || runId.trim() === '') throw new SvcError('runId names no run.');
    if (this.#stopping.signal.aborted) throw new WorkerUnavailableError('The worker stops.');
    if (!this.#slots.take())
      throw new WorkerUnavailableError('As many runs as the worker may carry out are under way.');
    let attempt: Attempt | null;
    try {
      attempt = await this.#lease({ runId });
    } catch (error) {
      this.#slots.give();
      if (this.#stopping.signal.aborted) throw new WorkerUnavailableError('The worker stops.');
      throw error;
    }
    if (attempt === null) this.#slots.give();
    return attempt === null ? 'nothing' : this.#inSlot(attempt);
  }

  stop({ graceSeconds = GRACE_SECONDS }: StopOptions = {}): Promise<void> {
    if (!(graceSeconds >= 0 && graceSeconds <= GRACE_SECONDS_MAX))
      return Promise.reject(new SvcError(`graceSeconds is from 0 to ${GRACE_SECONDS_MAX}.`));
    this.#stopped ??= this.#stop(graceSeconds * 1_000);
    return this.#stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #stop(graceMs: number): Promise<void> {
    const { world } = this.#settings.connection;
    this.#stopping.abort();
    const over = new AbortController();
    const ended = this.#slots.allFree().then(() => over.abort());
    const answersMs = Math.max(0, Math.min(graceMs, this.#askedAt + ANSWER_MS - world.now()));
    if (answersMs > 0) await pause(world, answersMs, over.signal);
    this.#asking.abort();
    await pause(world, graceMs - answersMs, over.signal);
    for (const attempt of this.#attempts) attempt.end('stopping');
    if (this.#attempts.size === 0) await ended;
    await this.#renewals.close();
  }

  async #lease(wish: { readonly runId: string } | { readonly waitSeconds: number }): Promise<Attempt | null> {
    // A run that could not be kept is better left to others.
    await this.#renewals.prepare();
    this.#stopping.signal.throwIfAborted();
    const { client, connection, workerId, handlers, leaseMs } = this.#settings;
    const waitMs = 'runId' in wish ? 0 : wish.waitSeconds * 1_000;
    const { world } = connection;
    const sentAt = world.now();
    this.#askedAt = sentAt;
    const lease = await client.leaseExternalExecutionRun(
      { workerId, handlerIds: [...handlers.keys()], ttlSeconds: leaseMs / 1_000, ...wish },
      { signal: this.#asking.signal, timeout: waitMs + Math.min(CALL_MS_MAX, connection.timeout) },
    );
    if (lease === null) return null;
    // It was claimed before the answer came, and before the time to wait for it was over.
    const claimedAt = Math.min(world.now(), sentAt + waitMs);
    return new Attempt(lease, this.#settings, claimedAt + leaseMs);
  }

  /** A run, or `null` after the time that a question without an answer should take. */
  async #leaseOrIdle(): Promise<Attempt | null> {
    const { connection, waitMs, idleMs } = this.#settings;
    const { world } = connection;
    const begun = world.now();
    const attempt = await this.#lease({ waitSeconds: waitMs / 1_000 });
    // The service answers at once where as many calls wait there as may.
    const isEarly = waitMs === 0 || world.now() - begun < waitMs / 2;
    if (attempt === null && isEarly) await pause(world, idleMs, this.#stopping.signal);
    return attempt;
  }

  async #backOff(failures: number, error: unknown): Promise<void> {
    const { signal } = this.#stopping;
    if (signal.aborted) return;
    const { connection, backoffMsMax, tell } = this.#settings;
    const { world } = connection;
    tell({ level: 'warning', message: 'the question for a run failed', error });
    const askedMs = askedBy(error);
    const question = { failures, baseMs: BACKOFF_MS, capMs: backoffMsMax, random: world.random(), askedMs };
    await pause(world, fullJitter(question), signal);
  }

  /** Carries it out in the slot that was taken for it. */
  async #inSlot(attempt: Attempt): Promise<Carried> {
    this.#attempts.add(attempt);
    try {
      return await carryOut(attempt, this.#settings, this.#renewals);
    } catch (error) {
      attempt.tell('warning', 'the run was not carried out; it is left to its next lease', error);
      throw error;
    } finally {
      this.#attempts.delete(attempt);
      this.#slots.give();
    }
  }
}
