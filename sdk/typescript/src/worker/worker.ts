import { SvcError } from '../errors.ts';
import { pause } from '../world.ts';
import { Attempt } from './attempt.ts';
import { fullJitter } from './backoff.ts';
import { type Carried, type Carrying, carryOut } from './carry-out.ts';
import { WorkerUnavailableError } from './errors.ts';
import { LoopRenewals } from './loop-renewals.ts';
import { NextRuns } from './next-runs.ts';
import { settleWorker, type WorkerOptions, type WorkerSettings } from './options.ts';
import type { Renewals } from './renewals.ts';
import { askedBy } from './repeat.ts';
import { Slots } from './slots.ts';
import type { Delivered, StopOptions, SvcWorker } from './svc-worker.ts';
import { ThreadRenewals } from './thread-renewals.ts';

/** Makes a worker. It does nothing before `run()` or `deliver()`. */
export function createWorker(options: WorkerOptions): SvcWorker {
  return new RunWorker(settleWorker(options));
}

const GRACE_SECONDS = 30;
const GRACE_SECONDS_MAX = 86_400;
/** The time for a lease request, without the wait at the service. */
const CALL_MS_MAX = 20_000;
const BACKOFF_MS = 1_000;
/**
 * On stop, wait this long for a fresh lease request: the service may have leased a run already, and an aborted request would
 * block that run until its lease ends. An older request probably waits without a run.
 */
const ANSWER_MS = 1_000;

/** Time for aborted handlers to return, before their runs are given back. */
const FAREWELL_MS = 1_000;

class RunWorker implements SvcWorker {
  readonly #settings: WorkerSettings;
  readonly #renewals: Renewals;
  readonly #slots: Slots;
  readonly #carrying: Carrying;
  readonly #attempts = new Set<Attempt>();
  readonly #stopping = new AbortController();
  /** Ends the requests for runs. */
  readonly #asking = new AbortController();
  #askedAt = -Infinity;
  #isRun = false;
  #stopped: Promise<void> | null = null;

  constructor(settings: WorkerSettings) {
    this.#settings = settings;
    const isThread = settings.heartbeatFrom === 'thread';
    this.#renewals = isThread ? new ThreadRenewals(settings) : new LoopRenewals(settings);
    this.#slots = new Slots(settings.concurrency);
    const nextRuns = new NextRuns(settings, this.#stopping.signal);
    this.#carrying = { settings, renewals: this.#renewals, nextRuns };
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
        else void this.#successively(attempt).catch(() => undefined);
      } catch (error) {
        this.#slots.give();
        failures += 1;
        await this.#backOff(failures, error);
      }
    }
    await this.stop();
  }

  async deliver({ runId }: { readonly runId: string }): Promise<Delivered> {
    if (typeof runId !== 'string' || runId.trim() === '') throw new SvcError('runId must not be blank.');
    if (this.#stopping.signal.aborted) throw new WorkerUnavailableError('The worker stops.');
    if (!this.#slots.take()) throw new WorkerUnavailableError('All slots of the worker are in use.');
    let attempt: Attempt | null;
    try {
      attempt = await this.#lease({ runId });
    } catch (error) {
      this.#slots.give();
      if (this.#stopping.signal.aborted) throw new WorkerUnavailableError('The worker stops.');
      throw error;
    }
    if (attempt === null) this.#slots.give();
    return attempt === null ? 'nothing' : this.#execute(attempt, false).finally(() => this.#slots.give());
  }

  stop({ graceSeconds = GRACE_SECONDS }: StopOptions = {}): Promise<void> {
    if (!(graceSeconds >= 0 && graceSeconds <= GRACE_SECONDS_MAX))
      return Promise.reject(new SvcError(`graceSeconds must be from 0 to ${GRACE_SECONDS_MAX}.`));
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
    const left = [...this.#attempts];
    for (const attempt of left) attempt.end('stopping');
    if (left.length === 0) await ended;
    else await pause(world, FAREWELL_MS, over.signal);
    await Promise.all(left.map((attempt) => attempt.giveBack()));
    await this.#renewals.close();
  }

  async #lease(wish: { readonly runId: string } | { readonly waitSeconds: number }): Promise<Attempt | null> {
    // Lease no run that this worker could not renew.
    await this.#renewals.prepare();
    this.#stopping.signal.throwIfAborted();
    const { client, connection, workerId, handlers, leaseMs, unknown, newer } = this.#settings;
    const waitMs = 'runId' in wish ? 0 : wish.waitSeconds * 1_000;
    const { timeout: limit, world } = connection;
    const sentAt = world.now();
    this.#askedAt = sentAt;
    const request = { workerId, handlerIds: [...handlers.keys()], ttlSeconds: leaseMs / 1_000, ...wish };
    const options = { signal: this.#asking.signal, timeout: waitMs + Math.min(CALL_MS_MAX, limit) };
    const lease = await newer.leaseWith((more) =>
      unknown.answerOf(client.leaseExternalExecutionRun({ ...request, ...more }, options)),
    );
    if (lease === null) return null;
    // The lease starts at the claim. The claim is not later than the answer, and not later than the end of the wait.
    const claimedAt = Math.min(world.now(), sentAt + waitMs);
    return new Attempt(lease, this.#settings, claimedAt + leaseMs);
  }

  /** A leased run, or `null`. Without a run it returns only after the wait or an idle pause, so that the loop does not spin. */
  async #leaseOrIdle(): Promise<Attempt | null> {
    const { connection, waitMs, idleMs } = this.#settings;
    const { world } = connection;
    const begun = world.now();
    const attempt = await this.#lease({ waitSeconds: waitMs / 1_000 });
    // The service answers at once if it has too many waiting calls.
    const isEarly = waitMs === 0 || world.now() - begun < waitMs / 2;
    if (attempt === null && isEarly) await pause(world, idleMs, this.#stopping.signal);
    return attempt;
  }

  async #backOff(failures: number, error: unknown): Promise<void> {
    const { signal } = this.#stopping;
    if (signal.aborted) return;
    const { connection, backoffMsMax, log } = this.#settings;
    const { world } = connection;
    log({ level: 'warning', message: 'the request for a run failed', error });
    const askedMs = askedBy(error);
    const question = { failures, baseMs: BACKOFF_MS, capMs: backoffMsMax, random: world.random(), askedMs };
    await pause(world, fullJitter(question), signal);
  }

  /** Executes the attempt and the runs that come with its completion and with theirs, in one slot. */
  async #successively(first: Attempt): Promise<void> {
    try {
      for (let attempt: Attempt | null = first; attempt !== null; ) {
        await this.#execute(attempt, true);
        const next: Attempt | null = attempt.next;
        // Otherwise the first attempt would hold all that follow it.
        attempt.next = null;
        if (this.#stopping.signal.aborted) return await next?.giveBackUnbegun();
        attempt = next;
      }
    } finally {
      this.#slots.give();
    }
  }

  async #execute(attempt: Attempt, takesNext: boolean): Promise<Carried> {
    this.#attempts.add(attempt);
    try {
      return await carryOut(attempt, this.#carrying, takesNext);
    } catch (error) {
      attempt.log('warning', 'the run was not carried out; it is left to its next lease', error);
      throw error;
    } finally {
      this.#attempts.delete(attempt);
    }
  }
}
