import { sha256 } from '../kernel/canonical-json.ts';
import { describeFailure } from '../kernel/log.ts';
import { delay } from '../kernel/world.ts';
import type { Held } from './held.ts';
import { leaseNext, type NextWish } from './lease-next.ts';
import { leaseRunById } from './lease-run.ts';
import {
  cancelled,
  failed,
  failureOf,
  isLeaseRefusal,
  isPassing,
  type Outcome,
  succeeded,
} from './outcome.ts';
import type { PluginHandler } from './plugin.ts';
import { isRunFailure, RunSuspended } from './plugin.ts';
import { loadValues } from './read-runs.ts';
import type { LeaseGrant } from './rules/lease.ts';
import type { Run } from './run.ts';
import { createRunContext } from './run-context.ts';
import type { Runtime } from './runtime.ts';
import { complete, heartbeat } from './work.ts';

export interface EngineOptions {
  readonly workerId: string;
  /** Runs executed at a time. */
  readonly concurrencyMax: number;
  /** How long a run is held without a word from this process; it is renewed at half of it. */
  readonly leaseMs: number;
  /** Whether it takes what it is told of by itself; otherwise it executes what is delivered to it. Default `true`. */
  readonly asks?: boolean;
}

/**
 * What became of a delivery. The same message should come again where there was no room (`busy`), and where the attempt was
 * left to its lease, of whose end nobody has been told (`left`).
 */
export type Delivered = 'executed' | 'nothing' | 'busy' | 'left';

interface Execution {
  readonly held: Held;
  readonly abort: AbortController;
  expiresAt: number;
  /** When its cancellation was asked for: a handler that does not listen is given up a lease later. */
  cancelledAt: number | null;
  /** Given up, or its lease is lost: it takes no room any more, and what its handler still does changes nothing. */
  isOver: boolean;
  readonly ended: (done: boolean) => void;
}

const TOKEN_BYTES = 32;

const always = () => true;

/** Before a completion that the store did not take is said again; twice as long each further time. */
const COMPLETION_RETRY_MS = 100;

/** Leases that are asked for at a time. */
const ASKERS_MAX = 8;

/**
 * Executes the runs of handlers that live in this process. It holds each under a lease like any worker, so that another
 * process goes on with them when this one dies, and asks for work only when it is told of some.
 */
export class Engine {
  readonly #runtime: Runtime;
  readonly #options: EngineOptions;
  readonly #handlers: ReadonlyMap<string, PluginHandler>;
  readonly handlerIds: ReadonlySet<string>;
  readonly #running = new Map<string, Execution>();
  readonly #finished = new Set<() => void>();
  readonly #stopping = new AbortController();
  #stopped = false;
  readonly #secret: string;
  #drawn = 0;
  #reserved = 0;
  #asking = 0;
  #wanted = false;
  #disarm: (() => void) | null = null;

  constructor(runtime: Runtime, handlers: ReadonlyMap<string, PluginHandler>, options: EngineOptions) {
    this.#runtime = runtime;
    this.#handlers = handlers;
    this.#options = options;
    this.handlerIds = new Set(handlers.keys());
    this.#secret = Buffer.from(runtime.world.random.bytes(TOKEN_BYTES)).toString('hex');
  }

  /** Tells that a run may be there to be taken. */
  wake(): void {
    if (this.#options.asks === false || this.handlerIds.size === 0) return;
    if (this.#stopping.signal.aborted) return;
    this.#wanted = true;
    if (this.#room() > 0 && this.#asking < ASKERS_MAX) void this.#ask();
  }

  /** A lease for a run that is only now being admitted, where one of these handlers has room for it. */
  reserve(handlerId: string): Reservation | null {
    const handler = this.#runtime.registry.get(handlerId);
    if (handler === undefined || handler.concurrencyKey !== null || !this.handlerIds.has(handlerId))
      return null;
    if (this.#room() <= 0 || this.#stopping.signal.aborted) return null;
    this.#reserved += 1;
    const token = this.#token();
    const { workerId, leaseMs: ttlMs } = this.#options;
    const grant: LeaseGrant = {
      kind: 'process',
      workerId,
      tokenHash: sha256(token),
      ttlMs,
      concurrencyKey: null,
    };
    return {
      grant,
      execute: (run) => {
        this.#reserved -= 1;
        void this.#execute(run, token);
        this.#tell();
      },
      release: () => {
        this.#reserved -= 1;
        this.#tell();
        // What came while the room was kept found none.
        if (this.#wanted) this.wake();
      },
    };
  }

  /**
   * Leases the run that a message of the queue names, and executes it to the end of this attempt. A run that is not to be had,
   * unknown, ended, held or not due, is `nothing`, and the message has done its work.
   */
  async deliver(runId: string): Promise<Delivered> {
    if (this.#room() <= 0 || this.#stopping.signal.aborted) return 'busy';
    this.#reserved += 1;
    const token = this.#token();
    let ended: Promise<boolean>;
    try {
      const wish = { ...this.#wish(token), delivered: true };
      const run = await leaseRunById(this.#runtime, runId, wish, this.#runtime.world.clock.now());
      if (run === null) return 'nothing';
      ended = this.#execute(run, token);
    } finally {
      this.#reserved -= 1;
      this.#tell();
    }
    return (await ended) ? 'executed' : 'left';
  }

  cancel(runId: string): void {
    const execution = this.#running.get(runId);
    if (execution !== undefined) this.#cancel(execution);
  }

  /**
   * Takes no more runs, and waits for those under way, and for those that are just being taken, up to `waitMs`; what is not
   * done by then is left to its lease. Answers whether all were done.
   */
  async stop(waitMs: number): Promise<boolean> {
    this.#stopping.abort();
    if (!this.#isIdle()) {
      await new Promise<void>((resolve) => {
        const cancel = this.#runtime.world.timers.after(waitMs, resolve);
        this.#finished.add(() => {
          if (!this.#isIdle()) return;
          cancel();
          resolve();
        });
      });
    }
    this.#stopped = true;
    this.#disarm?.();
    for (const { abort } of this.#running.values()) abort.abort();
    return this.#isIdle();
  }

  #isIdle(): boolean {
    return this.#running.size + this.#reserved + this.#asking === 0;
  }

  #tell(): void {
    for (const told of this.#finished) told();
  }

  #room(): number {
    return this.#options.concurrencyMax - this.#running.size - this.#reserved - this.#asking;
  }

  #token(): string {
    this.#drawn += 1;
    return `${this.#secret}${this.#drawn.toString(16)}`;
  }

  async #ask(): Promise<void> {
    this.#asking += 1;
    try {
      // Whoever asks counts as a run already, and so does what is reserved.
      while (this.#wanted && !this.#stopping.signal.aborted && this.#room() >= 0) {
        this.#wanted = false;
        const token = this.#token();
        const run = await leaseNext(this.#runtime, this.#wish(token));
        if (run === null) continue;
        this.#wanted = true;
        void this.#execute(run, token);
      }
    } catch (error) {
      this.#runtime.log({
        severity: 'ERROR',
        message: 'Runs could not be leased',
        failure: describeFailure(error),
      });
    } finally {
      this.#asking -= 1;
      this.#tell();
    }
  }

  #wish(token: string): NextWish {
    const { workerId, leaseMs: ttlMs } = this.#options;
    const { handlerIds } = this;
    const signal = this.#stopping.signal;
    return {
      kind: 'process',
      workerId,
      handlerIds,
      ttlMs,
      token,
      mayLease: always,
      waitMs: 0,
      told: true,
      signal,
    };
  }

  /** Resolves when the attempt is over with `true`, or is nobody's concern here any more, and left to its lease. */
  #execute(run: Run, token: string): Promise<boolean> {
    // Nobody waits for it any more.
    if (this.#stopped) return Promise.resolve(false);
    const { workerId } = this.#options;
    const mayHold = (seen: Run) => this.#sees(execution, seen);
    const { promise, resolve: ended } = Promise.withResolvers<boolean>();
    const execution: Execution = {
      held: { runId: run.id, workerId, tokenHash: sha256(token), mayHold },
      abort: new AbortController(),
      expiresAt: run.lease?.expiresAt ?? 0,
      cancelledAt: null,
      isOver: false,
      ended,
    };
    // Its lease ran out before this process noticed, and now there is another.
    const before = this.#running.get(run.id);
    if (before !== undefined) this.#end(before);
    this.#running.set(run.id, execution);
    this.#renewLater();
    void this.#attempt(run, execution).then((done) => this.#end(execution, done));
    return promise;
  }

  /** Whatever is done under the lease reads the run first: so a cancellation that another process was asked for is heard of. */
  #sees(execution: Execution, { cancellationRequested }: Run): boolean {
    if (execution.isOver) return false;
    if (cancellationRequested) this.#cancel(execution);
    return true;
  }

  #cancel(execution: Execution): void {
    execution.cancelledAt ??= this.#runtime.world.clock.now();
    execution.abort.abort();
  }

  /** Its handler may still be at it, but it has no room here any more. */
  #end(execution: Execution, done = false): void {
    if (execution.isOver) return;
    execution.isOver = true;
    execution.abort.abort(OVER);
    const { runId } = execution.held;
    // The same run may be executed again already, under another lease.
    if (this.#running.get(runId) === execution) this.#running.delete(runId);
    execution.ended(done);
    this.#tell();
    // Nothing is asked for where nothing can be there.
    if (this.#runtime.ready?.mayHave(this.handlerIds) !== false) this.wake();
  }

  /** Whether the run was completed or parked. */
  async #attempt(run: Run, execution: Execution): Promise<boolean> {
    try {
      const completion = await this.#outcome(run, execution);
      if (completion === null || completion === 'parked') return completion !== null;
      await this.#complete(execution, completion);
      return true;
    } catch (error) {
      // Its lease was lost, or the store did not answer: whoever holds the run now, or its expiry, goes on with it.
      this.#runtime.log({
        severity: isLeaseRefusal(error) ? 'WARNING' : 'ERROR',
        message: 'An attempt could not be completed',
        failure: describeFailure(error),
      });
      return false;
    }
  }

  #giveUp(execution: Execution, message: string): void {
    if (execution.isOver) return;
    this.#runtime.log({ severity: 'WARNING', message });
    this.#end(execution);
  }

  /** Said again while the lease lasts: a completion may be repeated, and what the handler did need not be done once more. */
  async #complete(execution: Execution, completion: Outcome): Promise<void> {
    const { clock, timers } = this.#runtime.world;
    for (let delayMs = COMPLETION_RETRY_MS; ; delayMs *= 2) {
      try {
        await complete(this.#runtime, execution.held, completion, clock.now());
        return;
      } catch (error) {
        const late = execution.isOver || clock.now() + delayMs >= execution.expiresAt;
        if (!isPassing(error) || late) throw error;
      }
      await delay(timers, delayMs);
    }
  }

  /** `null` where the handler was interrupted: another attempt goes on. */
  async #outcome(run: Run, execution: Execution): Promise<Outcome | 'parked' | null> {
    const { held, abort } = execution;
    const handler = this.#handlers.get(run.handlerId);
    if (handler === undefined) return failed('handler_missing', 'No handler is registered under this id');
    try {
      const [payload = null] = await loadValues(this.#runtime, [run.payload]);
      const refused = (error: unknown) => {
        if (isLeaseRefusal(error)) this.#giveUp(execution, LOST);
      };
      const context = createRunContext(this.#runtime, { run, payload, held, signal: abort.signal, refused });
      const result = (await handler.run(context)) ?? null;
      return execution.isOver ? null : succeeded(result, this.#runtime.options.resultBytesMax);
    } catch (error) {
      if (error instanceof RunSuspended) return 'parked';
      if (execution.isOver) return null;
      // Nothing is wrong with the run: it is executed again when its lease is over.
      if (isPassing(error)) throw error;
      if (isRunFailure(error)) return failureOf(error);
      if (execution.cancelledAt !== null) return cancelled();
      // This process stops, or has lost the run: nobody asked to cancel it.
      if (abort.signal.aborted) return null;
      this.#runtime.log({
        severity: 'WARNING',
        message: 'A handler failed',
        failure: describeFailure(error),
      });
      return failed('unknown', 'The handler failed.');
    }
  }

  /** One timer for all: leases are renewed when half of their time is over, so a short run never is. */
  #renewLater(): void {
    if (this.#disarm !== null) return;
    this.#disarm = this.#runtime.world.timers.after(this.#options.leaseMs / 4, () => {
      this.#disarm = null;
      void this.#renew();
    });
  }

  async #renew(): Promise<void> {
    const { leaseMs } = this.#options;
    const now = this.#runtime.world.clock.now();
    const running = [...this.#running.values()];
    for (const execution of running) {
      const { cancelledAt } = execution;
      if (cancelledAt !== null && now - cancelledAt >= leaseMs) this.#giveUp(execution, UNHEARD);
    }
    const due = running.filter(({ expiresAt, isOver }) => !isOver && expiresAt - now <= leaseMs / 2);
    await Promise.all(due.map((execution) => this.#renewOne(execution, leaseMs)));
    if (this.#running.size > 0 && !this.#stopped) this.#renewLater();
  }

  async #renewOne(execution: Execution, leaseMs: number): Promise<void> {
    const { clock } = this.#runtime.world;
    try {
      const run = await heartbeat(this.#runtime, execution.held, leaseMs, clock.now());
      execution.expiresAt = run.lease?.expiresAt ?? execution.expiresAt;
    } catch (error) {
      // Somebody else holds the run, or may take it by now: what this handler still does must not count.
      if (isLeaseRefusal(error) || clock.now() >= execution.expiresAt) this.#giveUp(execution, LOST);
    }
  }
}

const LOST = 'The lease of a run was lost while its handler executed';
const UNHEARD = 'A handler that does not listen to its cancellation was given up';

export interface Reservation {
  readonly grant: LeaseGrant;
  execute(run: Run): void;
  release(): void;
}

/** One for all: making one costs as much as a statement of the database. */
const OVER = new DOMException('The attempt is over', 'AbortError');
