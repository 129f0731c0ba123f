import { sha256 } from '../kernel/canonical-json.ts';
import type { RunOwner } from '../queue/port.ts';
import { announceLeaseEnd } from './announce-lease-end.ts';
import { attemptRun, type HandlerExecution } from './attempt.ts';
import { CANCELLED, OVER } from './cancellation.ts';
import { giveBack } from './give-back.ts';
import { leaseNext, type NextWish } from './lease-next.ts';
import { LEASE_LOST, LeaseRenewal } from './lease-renewal.ts';
import { leaseRunById } from './lease-run.ts';
import type { OutageLog } from './outage-log.ts';
import type { PluginHandler } from './plugin.ts';
import type { RunLeaseGrant } from './rules/lease.ts';
import { isBeingCancelled, type Run } from './run.ts';
import { slotOwner } from './run-job.ts';
import type { Runtime } from './runtime.ts';
import { type SlotClaim, SlotShares } from './slot-shares.ts';
import { optionalName } from './text-checks.ts';

export interface EngineOptions {
  readonly workerId: string;
  /** Runs executed at a time. */
  readonly concurrencyMax: number;
  /** Length of a lease. The engine renews a lease after half of it. */
  readonly leaseMs: number;
  /** Whether the engine leases ready runs itself; otherwise it executes deliveries only. Default `true`. */
  readonly asks?: boolean;
  /** Takes the failures of searches. */
  readonly outage: OutageLog;
}

/**
 * The result of a delivery. The queue delivers again after `busy` (no free slot) and after `left` (the attempt ended without
 * completing the run, and no message reports the end of its lease).
 */
export type Delivered = 'executed' | 'nothing' | 'busy' | 'left';

export interface Reservation {
  readonly grant: RunLeaseGrant;
  execute(run: Run): void;
  release(): void;
}

const TOKEN_BYTES = 32;

/** Searches for a run that the engine makes at a time. */
const SEARCHES_MAX = 8;

const always = () => true;

/** The time that interrupted handlers have to return before their runs are requeued. */
const FAREWELL_MS = 1_000;

/**
 * Executes the runs of handlers in this process. It holds each under a lease, like any worker, so that another process
 * continues them after a crash.
 */
export class Engine {
  readonly #runtime: Runtime;
  readonly #options: EngineOptions;
  readonly #handlers: ReadonlyMap<string, PluginHandler>;
  readonly handlerIds: ReadonlySet<string>;
  readonly #versions: ReadonlyMap<string, string>;
  readonly #running = new Map<string, HandlerExecution>();
  readonly #idleListeners = new Set<() => void>();
  readonly #stopping = new AbortController();
  readonly #renewal: LeaseRenewal;
  readonly #shares: SlotShares;
  readonly #secret: string;
  #stopped = false;
  #tokensDrawn = 0;
  #reserved = 0;
  #searching = 0;
  #wanted = false;

  constructor(runtime: Runtime, handlers: ReadonlyMap<string, PluginHandler>, options: EngineOptions) {
    this.#runtime = runtime;
    this.#handlers = handlers;
    this.#options = options;
    this.handlerIds = new Set(handlers.keys());
    this.#versions = versionsOf(handlers.values());
    this.#shares = new SlotShares(
      options.concurrencyMax,
      (owner) => runtime.ready?.holdsOther(this.handlerIds, owner) === true,
    );
    this.#secret = Buffer.from(runtime.world.random.bytes(TOKEN_BYTES)).toString('hex');
    this.#renewal = new LeaseRenewal(
      runtime,
      options.leaseMs,
      () => [...this.#running.values()],
      (execution, reason) => this.#abandon(execution, reason),
    );
  }

  /** Makes the engine search for a ready run, if it has a free slot. */
  wake(): void {
    if (this.#options.asks === false || this.handlerIds.size === 0) return;
    if (this.#stopping.signal.aborted) return;
    this.#wanted = true;
    if (this.#freeSlots() > 0 && this.#searching < SEARCHES_MAX) void this.#search();
  }

  /**
   * Reserves a slot for a run of the owner that is being admitted, so that admission also leases it; `null` without a slot that
   * the owner may have.
   */
  reserve(handlerId: string, owner: RunOwner): Reservation | null {
    const handler = this.#runtime.registry.get(handlerId);
    if (handler === undefined || handler.concurrencyKey !== null || !this.handlerIds.has(handlerId))
      return null;
    if (this.#freeSlots() <= 0 || this.#stopping.signal.aborted || !this.#shares.mayTake(owner)) return null;
    this.#reserve(owner);
    const token = this.#newToken();
    const { workerId, leaseMs: ttlMs } = this.#options;
    const tokenHash = sha256(token);
    const handlerVersion = this.#versions.get(handlerId) ?? null;
    const lease = { kind: 'process', workerId, tokenHash, ttlMs, concurrencyKey: null } as const;
    const grant: RunLeaseGrant = { ...lease, handlerVersion };
    return {
      grant,
      execute: (run) => {
        this.#unreserve(owner);
        void this.#execute(run, token);
        this.#notifyIdleListeners();
      },
      release: () => {
        this.#unreserve(owner);
        this.#notifyIdleListeners();
        // A wake during the reservation found no free slot, or none that the run's owner may use.
        if (this.#shares.takeRefusal() || this.#wanted) this.wake();
      },
    };
  }

  #reserve(owner: RunOwner): void {
    this.#reserved += 1;
    this.#shares.hold(owner);
  }

  #unreserve(owner: RunOwner): void {
    this.#reserved -= 1;
    this.#shares.free(owner);
  }

  /**
   * Leases the run that a queue message names and executes one attempt. A run that is unknown, ended, leased or not due is
   * `nothing`: the message is done. So no share of its owner refuses it here: the queue would drop the message.
   */
  async deliver(runId: string): Promise<Delivered> {
    if (this.#freeSlots() <= 0 || this.#stopping.signal.aborted) return 'busy';
    this.#reserve(null);
    const token = this.#newToken();
    let ended: Promise<boolean>;
    try {
      const wish = { ...this.#wish(token), mayLease: always, delivered: true };
      const run = await leaseRunById(this.#runtime, runId, wish, this.#runtime.world.clock.now());
      if (run === null) return 'nothing';
      ended = this.#execute(run, token);
    } finally {
      this.#unreserve(null);
      this.#notifyIdleListeners();
    }
    if (await ended) return 'executed';
    // A second delivery of the same message may have ended it meanwhile, so its redelivery is not certain.
    await announceLeaseEnd(this.#runtime, runId);
    return 'left';
  }

  cancel(runId: string): void {
    const execution = this.#running.get(runId);
    if (execution !== undefined) this.#cancel(execution);
  }

  /** How many runs this process executes now. */
  get executing(): number {
    return this.#running.size;
  }

  /**
   * Stops taking runs. Runs that have begun continue, but jobs start no further call of a provider: a job that needs
   * one requeues its run and keeps its checkpoints.
   */
  drain(): void {
    this.#stopping.abort();
  }

  /**
   * Stops taking runs and waits up to `waitMs` for the executions and searches under way. Then it interrupts the
   * handlers and requeues their runs, so that another process continues them at once. Returns whether everything ended.
   */
  async stop(waitMs: number): Promise<boolean> {
    this.drain();
    await this.#idleWithin(waitMs);
    this.#stopped = true;
    this.#renewal.stop();
    const left = [...this.#running.values()];
    for (const { abort } of left) abort.abort();
    if (left.length > 0) await this.#idleWithin(FAREWELL_MS);
    await Promise.all(left.map(({ held }) => giveBack(this.#runtime, held)));
    return this.#isIdle();
  }

  async #idleWithin(waitMs: number): Promise<void> {
    if (this.#isIdle()) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#runtime.world.timers.after(waitMs, resolve);
      this.#idleListeners.add(() => {
        if (!this.#isIdle()) return;
        cancel();
        resolve();
      });
    });
  }

  #isIdle(): boolean {
    return this.#running.size + this.#reserved + this.#searching === 0;
  }

  #notifyIdleListeners(): void {
    for (const listener of this.#idleListeners) listener();
  }

  #freeSlots(): number {
    return this.#options.concurrencyMax - this.#running.size - this.#reserved - this.#searching;
  }

  #newToken(): string {
    this.#tokensDrawn += 1;
    return `${this.#secret}${this.#tokensDrawn.toString(16)}`;
  }

  async #search(): Promise<void> {
    this.#searching += 1;
    try {
      // This search already counts as a used slot, so zero free slots still leave one for its run.
      while (this.#wanted && !this.#stopping.signal.aborted && this.#freeSlots() >= 0) {
        this.#wanted = false;
        const token = this.#newToken();
        const claim = this.#shares.newClaim();
        const run = await leaseNext(this.#runtime, this.#sharedWish(token, claim));
        // A run of the same owner may have been refused for the claim of another one, which no lease followed.
        if (run === null && claim.gaveUp && this.#shares.takeRefusal()) this.#wanted = true;
        if (run === null) continue;
        claim.release();
        this.#wanted = true;
        void this.#execute(run, token);
      }
    } catch (error) {
      this.#options.outage.failed('Runs could not be leased', error);
    } finally {
      this.#searching -= 1;
      this.#notifyIdleListeners();
      // A wake while the search failed found no free slot.
      if (this.#wanted) this.wake();
    }
  }

  #sharedWish(token: string, share: SlotClaim): NextWish {
    return { ...this.#wish(token), share, mayLease: (run) => share.mayTake(slotOwner(run)) };
  }

  #wish(token: string): NextWish {
    const { workerId, leaseMs: ttlMs } = this.#options;
    const { handlerIds } = this;
    const versions = this.#versions;
    const signal = this.#stopping.signal;
    const holder = {
      kind: 'process',
      workerId,
      handlerIds,
      versions,
      ttlMs,
      token,
      mayLease: always,
    } as const;
    return { ...holder, wait: null, isNotified: true, signal };
  }

  /** Resolves when the attempt ends: `true` if the run was completed or parked, `false` if it is left to its lease. */
  #execute(run: Run, token: string): Promise<boolean> {
    // The engine has stopped, so no caller waits for the attempt.
    if (this.#stopped) return Promise.resolve(false);
    const { workerId } = this.#options;
    const mayHold = (seen: Run) => this.#observe(execution, seen);
    const { promise, resolve: ended } = Promise.withResolvers<boolean>();
    const execution: HandlerExecution = {
      held: { runId: run.id, workerId, tokenHash: sha256(token), mayHold },
      owner: slotOwner(run),
      abort: new AbortController(),
      expiresAt: run.lease?.expiresAt ?? 0,
      cancelledAt: null,
      isOver: false,
      ended,
    };
    // The earlier lease of this process ran out unnoticed, and the run was leased again.
    const before = this.#running.get(run.id);
    if (before !== undefined) this.#end(before);
    this.#running.set(run.id, execution);
    // A cooperative cancellation: the handler is executed to undo its work, and its signal says so from the start. Its time is the grace.
    if (isBeingCancelled(run)) this.#cancel(execution, run.cancelBy);
    this.#shares.hold(execution.owner);
    this.#renewal.arm();
    const handler = this.#handlers.get(run.handlerId);
    const leaseLost = () => this.#abandon(execution, LEASE_LOST);
    const drains = () => this.#stopping.signal.aborted;
    const parts = { runtime: this.#runtime, handler, graceMs: this.#options.leaseMs, leaseLost, drains };
    const attempt = attemptRun(parts, run, execution);
    void attempt.then((done) => this.#end(execution, done));
    return promise;
  }

  /** Every write under the lease reads the run first. So a cancellation that reached another process is seen here. */
  #observe(execution: HandlerExecution, run: Run): boolean {
    if (execution.isOver) return false;
    if (isBeingCancelled(run)) this.#cancel(execution);
    return true;
  }

  #cancel(execution: HandlerExecution, at = this.#runtime.world.clock.now()): void {
    execution.cancelledAt ??= at;
    execution.abort.abort(CANCELLED);
  }

  #abandon(execution: HandlerExecution, reason: string): void {
    if (execution.isOver) return;
    this.#runtime.log({ severity: 'WARNING', message: reason, runId: execution.held.runId });
    this.#end(execution);
  }

  /** Frees the slot. The handler may still be executing. */
  #end(execution: HandlerExecution, done = false): void {
    if (execution.isOver) return;
    execution.isOver = true;
    execution.abort.abort(OVER);
    const { runId } = execution.held;
    this.#shares.free(execution.owner);
    // This process may execute the same run again already, under another lease.
    if (this.#running.get(runId) === execution) this.#running.delete(runId);
    execution.ended(done);
    this.#notifyIdleListeners();
    // Search only if the local queue may have a run: a search costs a query.
    if (this.#runtime.ready?.mayHave(this.handlerIds) !== false) this.wake();
  }
}

function versionsOf(handlers: Iterable<PluginHandler>): ReadonlyMap<string, string> {
  const named = [...handlers].map(({ handlerId, version }) => [handlerId, optionalName(version, '/version')]);
  return new Map(named.filter((each): each is [string, string] => each[1] !== null));
}
