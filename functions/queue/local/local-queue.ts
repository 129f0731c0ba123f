import type { World } from '../../kernel/world.ts';
import type { ReadyCall, ReadyRuns, RunMessage, RunQueue } from '../port.ts';
import { DueTimes } from './due-times.ts';
import { Lanes } from './lanes.ts';

/** The longest delay that a timer is set to; platforms take no more than 2^31 ms. */
const TIMER_MS_MAX = 86_400_000;

/** Calls of one instance that wait at a time; those beyond are answered at once, as they would be without waiting. */
const WAITING_CALLS_MAX = 1_000;

/** After a look at what is due has failed. */
const RETRY_MS = 1_000;

export interface LocalQueueOptions {
  readonly world: Pick<World, 'clock' | 'timers'>;
  /** How often it is asked whether another process has changed anything. */
  readonly recheckMs: number;
  /**
   * Whether another process may have changed anything since the last time; must not ask the database where the database is
   * idle. Where only the database knows, it answers `true`.
   */
  readonly mayHaveChanged: () => boolean;
}

/** One look at what is due. */
export interface Settled {
  /** There may be more that is due. */
  readonly more: boolean;
  /** The next moment that the store knows of; absent where the store is looked at with every recheck anyway. */
  readonly nextAt?: number | null;
}

/** Who executes runs of some handlers in this process, and takes them as they become ready. */
export interface Executor {
  readonly handlerIds: ReadonlySet<string>;
  /** A run may be there to be taken; called again for each. */
  wake(): void;
}

/**
 * The queue of one process over its store. What is durable is the state of the runs: here is only remembered what is ready and
 * what time will bring, so that nobody has to ask for it again and again. One timer is set, to the earliest moment that
 * is expected. Moments that were there before this process, or that another one put there, are in the store alone: each look
 * tells the next of them. While nothing is expected nothing happens, except that now and then it is asked, without the
 * database, whether another process has written.
 */
export class LocalQueue implements RunQueue, ReadyRuns {
  readonly #options: LocalQueueOptions;
  readonly #lanes = new Lanes();
  readonly #dues = new DueTimes();
  readonly #calls = new Set<WaitingCall>();
  readonly #executors = new Set<Executor>();
  #settleDue: (() => Promise<Settled>) | null = null;
  /** The next moment in the store, as the last look found it. */
  #storedAt = Number.POSITIVE_INFINITY;
  #disarm: (() => void) | null = null;
  #armedAt = Number.POSITIVE_INFINITY;
  #stopRecheck: (() => void) | null = null;
  #settling: Promise<void> | null = null;
  #stopped = false;
  /** Counts what makes a look that is under way worth less than it seems. */
  #doubts = 0;

  constructor(options: LocalQueueOptions) {
    this.#options = options;
  }

  /** Begins to look after what is due, with a first look at what was left from before. */
  async start(settleDue: () => Promise<Settled>): Promise<void> {
    this.#settleDue = settleDue;
    this.#recheckLater();
    await this.#settle();
  }

  /** Resolves when no look is under way any more; calls that wait are answered. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#disarm?.();
    this.#stopRecheck?.();
    for (const call of this.#calls) call.end();
    await this.#settling;
  }

  addExecutor(executor: Executor): void {
    this.#executors.add(executor);
  }

  enqueue({ runId, handlerId, notBefore }: RunMessage): void {
    this.#lanes.remove(runId);
    if (notBefore > this.#options.world.clock.now()) {
      this.#dues.expect(runId, notBefore);
      this.#arm();
      return;
    }
    this.#dues.forget(runId);
    this.#offer(handlerId, runId);
  }

  /** A run of the handler is in the store that is not told of here: a call that waits for one is to look. */
  hint(handlerId: string): void {
    const wanted = new Set([handlerId]);
    this.doubt(wanted);
    this.#wakeCall(wanted);
  }

  forget(runId: string): void {
    this.#lanes.remove(runId);
    this.#dues.forget(runId);
  }

  /** Runs that the store showed as ready; `all` where there are no more of the handler. */
  learn(handlerId: string, runIds: readonly string[], all: boolean, mark: number): void {
    for (const runId of runIds) this.#lanes.add(handlerId, runId);
    this.#lanes.setComplete(handlerId, all && mark === this.#doubts);
  }

  get mark(): number {
    return this.#doubts;
  }

  doubt(handlerIds: Iterable<string>): void {
    this.#doubts += 1;
    for (const handlerId of handlerIds) this.#lanes.setComplete(handlerId, false);
  }

  take(handlerIds: Iterable<string>): string | null {
    return this.#lanes.take(handlerIds);
  }

  mayHave(handlerIds: Iterable<string>): boolean {
    return this.#lanes.holdsAny(handlerIds) || this.mustLook(handlerIds);
  }

  /** Whether a look into the store could show a run that is not remembered here. */
  mustLook(handlerIds: Iterable<string>): boolean {
    return !this.#lanes.isComplete(handlerIds);
  }

  /** A call that may wait for a run. It counts from now on, so that nothing that comes during its first look is missed. */
  enter(handlerIds: ReadonlySet<string>, waitMs: number, signal: AbortSignal): WaitingCall {
    const mayWaitMs = this.#calls.size < WAITING_CALLS_MAX ? waitMs : 0;
    const call = new WaitingCall(handlerIds, this.#options.world, mayWaitMs, signal, {
      left: (owesLook) => {
        this.#calls.delete(call);
        if (owesLook) this.#wakeCall(handlerIds);
      },
      passOn: (handlerId, runId) => this.#passOn(call, handlerId, runId),
    });
    this.#calls.add(call);
    if (this.#stopped) call.end();
    return call;
  }

  #offer(handlerId: string, runId: string): void {
    this.#lanes.add(handlerId, runId);
    for (const executor of this.#executors) {
      if (!executor.handlerIds.has(handlerId)) continue;
      executor.wake();
      return;
    }
    this.#wakeCall(new Set([handlerId]));
  }

  /** One call, the one that has waited longest. */
  #wakeCall(handlerIds: ReadonlySet<string>): void {
    for (const call of this.#calls) {
      if (shares(call.handlerIds, handlerIds) && call.wakeIfIdle()) return;
    }
  }

  /** Only onwards, so that a run that none of the calls may have comes to an end. Then the store alone remembers it. */
  #passOn(from: WaitingCall, handlerId: string, runId: string): void {
    const wanted = new Set([handlerId]);
    let after = false;
    for (const call of this.#calls) {
      if (after && shares(call.handlerIds, wanted) && call.wakeIfIdle()) {
        this.#lanes.add(handlerId, runId);
        return;
      }
      after ||= call === from;
    }
    this.doubt(wanted);
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
      // A timer may fire a little before the clock says so; then it is set again.
      if (this.#takeDue()) void this.#settle();
      else this.#arm();
    });
  }

  #takeDue(): boolean {
    const now = this.#options.world.clock.now();
    return this.#dues.takeDue(now) || this.#storedAt <= now;
  }

  /** One look at a time; what becomes due meanwhile is looked for after it. */
  async #settle(): Promise<void> {
    if (this.#settling !== null) {
      await this.#settling;
      if (this.#stopped) return;
    }
    this.#settling ??= this.#look().finally(() => {
      this.#settling = null;
      this.#arm();
    });
    await this.#settling;
  }

  async #look(): Promise<void> {
    try {
      let found: Settled | undefined;
      do {
        this.#storedAt = Number.POSITIVE_INFINITY;
        found = await this.#settleDue?.();
      } while (!this.#stopped && found?.more === true);
      this.#storedAt = found?.nextAt ?? Number.POSITIVE_INFINITY;
    } catch {
      // Whoever looks has told of it; what is due is still due.
      this.#options.world.timers.after(RETRY_MS, () => {
        if (!this.#stopped) void this.#settle();
      });
    }
  }

  #recheckLater(): void {
    this.#stopRecheck = this.#options.world.timers.after(this.#options.recheckMs, () => {
      if (this.#stopped) return;
      if (this.#options.mayHaveChanged()) this.#recheck();
      else if (this.#takeDue()) {
        // The clock was set forward since the timer was, or the machine slept: it would come too late for all that follows.
        this.#setTimer(Number.POSITIVE_INFINITY);
        void this.#settle();
      }
      this.#recheckLater();
    });
  }

  #recheck(): void {
    this.#doubts += 1;
    this.#lanes.doubtAll();
    void this.#settle();
    for (const executor of this.#executors) executor.wake();
    for (const call of this.#calls) call.wakeIfIdle();
  }
}

interface CallListener {
  left(owesLook: boolean): void;
  passOn(handlerId: string, runId: string): void;
}

/** One call that waits for a run of some handlers. */
class WaitingCall implements ReadyCall {
  readonly handlerIds: ReadonlySet<string>;
  readonly #signal: AbortSignal;
  readonly #cancelDeadline: () => void;
  readonly #told: CallListener;
  readonly #resume = (): void => {
    const resume = this.#idle;
    this.#idle = null;
    resume?.();
  };
  #idle: (() => void) | null = null;
  #over = false;
  #owesLook = false;

  constructor(
    handlerIds: ReadonlySet<string>,
    { timers }: Pick<World, 'timers'>,
    waitMs: number,
    signal: AbortSignal,
    told: CallListener,
  ) {
    this.handlerIds = handlerIds;
    this.#signal = signal;
    this.#told = told;
    this.#over = waitMs <= 0;
    this.#cancelDeadline = waitMs <= 0 ? () => undefined : timers.after(waitMs, () => this.end());
    signal.addEventListener('abort', this.#resume);
  }

  /** Makes a call that waits look again; `false` where it is busy looking anyway. */
  wakeIfIdle(): boolean {
    const idle = this.#idle !== null;
    this.#owesLook = true;
    this.#resume();
    return idle;
  }

  /** Settles when another look is worth it; with `false` when the time is over or nobody waits for the answer. */
  async next(): Promise<boolean> {
    if (!this.#owesLook && !this.#ended()) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    if (this.#ended()) return false;
    this.#owesLook = false;
    return true;
  }

  passOn(handlerId: string, runId: string): void {
    this.#told.passOn(handlerId, runId);
  }

  wake(): void {
    this.wakeIfIdle();
  }

  /** Its time is over. */
  end(): void {
    this.#over = true;
    this.#resume();
  }

  leave(): void {
    this.#cancelDeadline();
    this.#signal.removeEventListener('abort', this.#resume);
    // What it was woken for is somebody else's now.
    this.#told.left(this.#owesLook);
  }

  #ended(): boolean {
    return this.#over || this.#signal.aborted;
  }
}

function shares(left: ReadonlySet<string>, right: ReadonlySet<string>): boolean {
  for (const id of right) if (left.has(id)) return true;
  return false;
}
