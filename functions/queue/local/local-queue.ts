import { WaitingCall } from '../../kernel/waiting-call.ts';
import type { World } from '../../kernel/world.ts';
import type {
  HeldBack,
  MayTake,
  ReadyCall,
  ReadyRun,
  ReadyRuns,
  ReadyWait,
  RunMessage,
  RunOwner,
  RunQueue,
} from '../port.ts';
import { DueTimes } from './due-times.ts';
import { ReadyRunLanes } from './lanes.ts';

/** Longest delay of a timer: platforms accept at most 2^31 ms. */
const TIMER_MS_MAX = 86_400_000;

/** Longest delay after settling due runs has failed: it doubles with each failure. Half of it is random. */
const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 30_000;

export interface LocalQueueOptions {
  readonly world: Pick<World, 'clock' | 'timers' | 'random'>;
  /** Time between two checks for changes by other processes. */
  readonly recheckMs: number;
  /**
   * Whether another process may have written since the last call. Must not query an idle database; `true` if only a query
   * would know.
   */
  readonly mayHaveChanged: () => boolean;
  /** A run of the handler is ready, and no call waits for it here: another process may have one. */
  readonly unclaimed?: (handlerId: string) => void;
}

/** Result of one batch of settling. */
export interface Settled {
  /** Whether more runs may be due. */
  readonly more: boolean;
  /** The earliest due time in the store; absent if every recheck queries the store anyway. */
  readonly nextAt?: number | null;
}

/** Executes the runs of some handlers in this process. */
export interface Executor {
  readonly handlerIds: ReadonlySet<string>;
  /** Called for each run that may be ready. */
  wake(): void;
}

/**
 * The queue of one process over its store. The store holds the state of the runs; the queue remembers ready runs and due
 * times, so that callers need not poll the store. One timer waits for the earliest due time, and a recheck without a query
 * notices writes of other processes.
 */
export class LocalQueue implements RunQueue, ReadyRuns {
  readonly #options: LocalQueueOptions;
  readonly #lanes = new ReadyRunLanes();
  readonly #dues = new DueTimes();
  readonly #calls = new Set<RunCall>();
  readonly #executors = new Set<Executor>();
  #settleDue: (() => Promise<Settled>) | null = null;
  /** The earliest due time in the store, as of the last settling. */
  #storedAt = Number.POSITIVE_INFINITY;
  #disarm: (() => void) | null = null;
  #armedAt = Number.POSITIVE_INFINITY;
  #stopRecheck: (() => void) | null = null;
  #settling: Promise<void> | null = null;
  /** Cancels the retry after a failure; `null` while settling works. */
  #stopRetry: (() => void) | null = null;
  /** Failures since settling worked last. */
  #failures = 0;
  #stopped = false;
  /** Counts events after which the result of a search under way is incomplete. */
  #mark = 0;

  constructor(options: LocalQueueOptions) {
    this.#options = options;
  }

  /** Starts to settle due runs. The first batch handles those of earlier processes. */
  async start(settleDue: () => Promise<Settled>): Promise<void> {
    this.#settleDue = settleDue;
    this.#recheckLater();
    await this.#settle();
  }

  /** Answers waiting calls and resolves when settling has stopped. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#disarm?.();
    this.#stopRecheck?.();
    this.#stopRetry?.();
    for (const call of this.#calls) call.expire();
    await this.#settling;
  }

  addExecutor(executor: Executor): void {
    this.#executors.add(executor);
  }

  enqueue({ runId, handlerId, owner = null, reason, notBefore, repeatKey }: RunMessage): void {
    const isReady = reason === 'run_ready' || reason === 'external_event';
    const isPast = notBefore <= this.#options.world.clock.now();
    // A late message about an ended lease is outdated: the run may be queued again.
    if (isReady || !isPast) this.#lanes.remove(runId);
    // An expired lease or timer is settled first: until then some calls may not have the run.
    if (!isReady || !isPast) {
      this.#dues.expect(runId, notBefore);
      this.#arm();
      return;
    }
    // The sender of a repeated message read the run earlier: since then a worker may hold it, and its lease will end.
    if (repeatKey === undefined) this.#dues.forget(runId);
    this.#lanes.add(handlerId, runId, owner);
    // An executor may have no free slot.
    if (!this.#wakeSearcher(handlerId)) this.#options.unclaimed?.(handlerId);
  }

  /** Records that the store may have `runs` runs of the handler that this queue does not know. */
  hint(handlerId: string, runs = 1): void {
    this.markIncomplete([handlerId]);
    for (let woken = 0; woken < runs && this.#wakeSearcher(handlerId); woken += 1);
  }

  /** Searches the store at once: messages of other processes may be lost. */
  recheck(): void {
    if (!this.#stopped) this.#recheck();
  }

  forget(runId: string): void {
    this.#lanes.remove(runId);
    this.#dues.forget(runId);
  }

  learn(handlerId: string, runs: readonly ReadyRun[], all: boolean, mark: number, heldBack?: HeldBack): void {
    this.#lanes.learn(handlerId, runs, all && mark === this.#mark, heldBack);
  }

  get mark(): number {
    return this.#mark;
  }

  markIncomplete(handlerIds: Iterable<string>): void {
    this.#mark += 1;
    for (const handlerId of handlerIds) this.#lanes.setComplete(handlerId, false);
  }

  markAllIncomplete(): void {
    this.#mark += 1;
    this.#lanes.doubtAll();
  }

  take(handlerIds: Iterable<string>, mayTake?: MayTake): string | null {
    return this.#lanes.take(handlerIds, mayTake);
  }

  putBack(handlerId: string, { runId, owner }: ReadyRun): void {
    this.#lanes.add(handlerId, runId, owner);
  }

  holdsOther(handlerIds: Iterable<string>, owner: RunOwner): boolean {
    return this.#lanes.holdsOther(handlerIds, owner);
  }

  mayHave(handlerIds: Iterable<string>): boolean {
    return this.#lanes.holdsAny(handlerIds) || this.mustSearch(handlerIds);
  }

  mustSearch(handlerIds: Iterable<string>, mayTake?: MayTake): boolean {
    return !this.#lanes.isComplete(handlerIds, mayTake);
  }

  /** Enters a call before its first search, so that it misses no run that arrives during the search. */
  enter(handlerIds: ReadonlySet<string>, wait: ReadyWait | null, signal: AbortSignal): ReadyCall {
    const { waitMs = 0, place = null } = wait ?? {};
    const waiting = new WaitingCall(this.#options.world.timers, waitMs, signal, place);
    const left = (ended: RunCall) => {
      this.#calls.delete(ended);
      // The call was woken but did not search: another one has to.
      if (ended.owesLook) this.#wakeCall(handlerIds);
    };
    const call = new RunCall(handlerIds, waiting, left, (...given) => this.#passOn(...given));
    this.#calls.add(call);
    if (this.#stopped) call.expire();
    return call;
  }

  /** Wakes the executor of the handler, or the call that has waited longest. Returns whether a call was woken. */
  #wakeSearcher(handlerId: string): boolean {
    for (const executor of this.#executors) {
      if (!executor.handlerIds.has(handlerId)) continue;
      executor.wake();
      return false;
    }
    return this.#wakeCall(new Set([handlerId]));
  }

  /** Wakes the call that has waited longest. Returns whether a call waited. */
  #wakeCall(handlerIds: ReadonlySet<string>): boolean {
    for (const call of this.#calls) {
      if (shares(call.handlerIds, handlerIds) && call.wake()) return true;
    }
    return false;
  }

  /** Passes a run to later calls only, so that it stops if no call may lease it. Then the store alone knows the run. */
  #passOn(from: RunCall, handlerId: string, runId: string): void {
    const wanted = new Set([handlerId]);
    let after = false;
    for (const call of this.#calls) {
      if (after && shares(call.handlerIds, wanted) && call.wake()) {
        this.#lanes.add(handlerId, runId);
        return;
      }
      after ||= call === from;
    }
    this.markIncomplete(wanted);
  }

  #arm(): void {
    if (this.#settleDue === null || this.#stopped) return;
    const at = Math.min(this.#dues.next() ?? Number.POSITIVE_INFINITY, this.#storedAt);
    if (at >= this.#armedAt && this.#disarm !== null) return;
    this.#setTimer(at);
  }

  #setTimer(at: number): void {
    this.#disarm?.();
    this.#disarm = null;
    this.#armedAt = at;
    if (at === Number.POSITIVE_INFINITY) return;
    const { clock, timers } = this.#options.world;
    const delayMs = Math.min(TIMER_MS_MAX, Math.max(1, at - clock.now()));
    this.#disarm = timers.after(delayMs, () => {
      this.#disarm = null;
      this.#armedAt = Number.POSITIVE_INFINITY;
      // A timer may fire slightly before the clock reaches its time. Then set it again.
      if (this.#takeDue()) void this.#settle();
      else this.#arm();
    });
  }

  #takeDue(): boolean {
    const now = this.#options.world.clock.now();
    return this.#dues.takeDue(now) || this.#storedAt <= now;
  }

  /** Runs one settling at a time. Runs that become due meanwhile are settled by the next one. */
  async #settle(): Promise<void> {
    if (this.#settling !== null) {
      await this.#settling;
      if (this.#stopped) return;
    }
    // The retry settles everything: until then further calls would only burden a store that fails.
    if (this.#stopRetry !== null) return;
    this.#settling ??= this.#settleAll().finally(() => {
      this.#settling = null;
      this.#arm();
    });
    await this.#settling;
  }

  async #settleAll(): Promise<void> {
    try {
      let found: Settled | undefined;
      do {
        this.#storedAt = Number.POSITIVE_INFINITY;
        found = await this.#settleDue?.();
      } while (!this.#stopped && found?.more === true);
      this.#storedAt = found?.nextAt ?? Number.POSITIVE_INFINITY;
      if (this.#failures > 0) this.#searchAgain();
      this.#failures = 0;
    } catch {
      // The caller's function has logged the failure, and the runs are still due.
      this.#retryLater();
    }
  }

  #retryLater(): void {
    if (this.#stopped) return;
    const { timers, random } = this.#options.world;
    const longestMs = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(this.#failures, 10));
    const [draw = 0] = random.bytes(1);
    this.#failures += 1;
    this.#stopRetry = timers.after(Math.ceil(longestMs * (0.5 + draw / 510)), () => {
      this.#stopRetry = null;
      void this.#settle();
    });
  }

  #recheckLater(): void {
    this.#stopRecheck = this.#options.world.timers.after(this.#options.recheckMs, () => {
      if (this.#stopped) return;
      if (this.#options.mayHaveChanged()) this.#recheck();
      else if (this.#takeDue()) {
        // The clock jumped or the machine slept, so the timer would fire too late: set it again.
        this.#setTimer(Number.POSITIVE_INFINITY);
        void this.#settle();
      }
      this.#recheckLater();
    });
  }

  #recheck(): void {
    if (this.#stopRetry !== null) return;
    void this.#settle();
    this.#searchAgain();
  }

  /** Ready runs may exist that no message has named. */
  #searchAgain(): void {
    this.markAllIncomplete();
    for (const executor of this.#executors) executor.wake();
    for (const call of this.#calls) call.wake();
  }
}

type PassOn = (call: RunCall, handlerId: string, runId: string) => void;

/** One call that waits for a run of some handlers. */
class RunCall implements ReadyCall {
  readonly handlerIds: ReadonlySet<string>;
  readonly #waiting: WaitingCall;
  readonly #left: (call: RunCall) => void;
  readonly #passOn: PassOn;

  constructor(
    handlerIds: ReadonlySet<string>,
    waiting: WaitingCall,
    left: (call: RunCall) => void,
    passOn: PassOn,
  ) {
    this.handlerIds = handlerIds;
    this.#waiting = waiting;
    this.#left = left;
    this.#passOn = passOn;
  }

  get owesLook(): boolean {
    return this.#waiting.owesLook;
  }

  /** Makes the call search again. Returns true if the call was waiting. */
  wake(): boolean {
    return this.#waiting.lookAgain();
  }

  next(): Promise<boolean> {
    return this.#waiting.next();
  }

  passOn(handlerId: string, runId: string): void {
    this.#passOn(this, handlerId, runId);
  }

  expire(): void {
    this.#waiting.expire();
  }

  leave(): void {
    this.#waiting.close();
    this.#left(this);
  }
}

function shares(left: ReadonlySet<string>, right: ReadonlySet<string>): boolean {
  for (const id of right) if (left.has(id)) return true;
  return false;
}
