import type { JsonValue } from '../../generated/models.ts';
import type { Branch } from './branches.ts';
import type { Entry } from './entries.ts';
import type { StepPort } from './ports.ts';
import { chooseWait, isTimeout, othersOf, type QueuedWait, type WaitEnd, type WaitRequest } from './waits.ts';
import type { JournalWriter } from './writer.ts';

interface Queued extends QueuedWait, Omit<WaitRequest, 'kind' | 'name' | 'dueAt' | 'open'> {
  open: Entry | null;
  isPlanned: boolean;
  readonly resolve: (end: WaitEnd) => void;
  readonly reject: (error: unknown) => void;
}

/** Turns of promises in which a branch goes from one operation to its next. */
const TURNS = 32;
/** Then the run waits although a branch is elsewhere: it may wait for another branch. */
const QUIET_MS = 1_000;

/**
 * Steps work side by side; waits are made one at a time, and only while no step works and nothing is written: a wait that
 * parks the run takes the lease away.
 */
export class Scheduler {
  readonly #port: StepPort;
  readonly #writer: JournalWriter;
  #queue: Queued[] = [];
  #held: (() => void)[] = [];
  #idle: (() => void)[] = [];
  #working = 0;
  #branches = 1;
  #isWaiting = false;
  #considered = 0;
  #cancelQuiet: () => void = () => undefined;
  #over: { readonly error: unknown } | null = null;

  constructor(port: StepPort, writer: JournalWriter) {
    this.#port = port;
    this.#writer = writer;
  }

  /** Work of a step, or a write to the journal. */
  async work<T>(run: () => Promise<T>): Promise<T> {
    while (this.#isWaiting) await new Promise<void>((resolve) => this.#held.push(resolve));
    this.#check();
    this.#working += 1;
    // A wait that was about to begin begins no more.
    this.#consider();
    try {
      return await run();
    } finally {
      this.#working -= 1;
      this.#consider();
    }
  }

  /** Waits in the queue. A branch that ends leaves it. */
  wait({ open, ...request }: WaitRequest, branch: Branch): Promise<WaitEnd> {
    return new Promise((resolve, reject) => {
      this.#check();
      branch.signal.throwIfAborted();
      const wait: Queued = { ...request, open, isPlanned: open === null, resolve, reject };
      this.#queue.push(wait);
      branch.signal.addEventListener('abort', () => {
        if (this.#remove(wait)) reject(branch.signal.reason as Error);
      });
      this.#consider();
    });
  }

  /** Counts the branches, so that a wait does not begin before each has come to its next operation. */
  branched(change: number): void {
    this.#branches += change;
    this.#consider();
  }

  /** Settles when no step works. */
  async idle(): Promise<void> {
    while (this.#working > 0 || this.#isWaiting)
      await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Every operation from now on throws the error. */
  stop(error: unknown): void {
    this.#over ??= { error };
    this.#cancelQuiet();
    this.drop(error);
    for (const go of this.#held.splice(0)) go();
  }

  /** The waits of the queue end with the error; others may follow. */
  drop(error: unknown): void {
    for (const { reject } of this.#queue.splice(0)) reject(error);
  }

  #check(): void {
    if (this.#over !== null) throw this.#over.error;
  }

  #remove(wait: Queued): boolean {
    const at = this.#queue.indexOf(wait);
    if (at >= 0) this.#queue.splice(at, 1);
    return at >= 0;
  }

  #consider(): void {
    this.#considered += 1;
    this.#cancelQuiet();
    if (this.#working > 0 || this.#isWaiting) return;
    for (const go of this.#idle.splice(0)) go();
    if (this.#queue.length > 0 && this.#over === null) void this.#whenQuiet(this.#considered);
  }

  async #whenQuiet(considered: number): Promise<void> {
    for (let turn = 0; turn < TURNS; turn += 1) {
      await Promise.resolve();
      if (this.#considered !== considered) return;
    }
    if (this.#queue.length >= this.#branches) return this.#begin();
    this.#cancelQuiet = this.#port.clock.after(QUIET_MS, () => {
      if (this.#considered === considered) void this.#begin();
    });
  }

  async #begin(): Promise<void> {
    this.#isWaiting = true;
    const [first] = this.#queue;
    try {
      await this.#waitOnce();
    } catch (error) {
      if (first !== undefined && this.#remove(first)) first.reject(error);
    } finally {
      this.#isWaiting = false;
      for (const go of this.#held.splice(0)) go();
      this.#consider();
    }
  }

  async #waitOnce(): Promise<void> {
    if (this.#queue.length > 1) await this.#plan();
    for (let again = 0; again < 2; again += 1) {
      const queue = [...this.#queue] as [Queued, ...Queued[]];
      if (queue.length === 0) return;
      const { waits, until } = chooseWait(queue, this.#port.eventsMax);
      const [{ kind, name, id = '' }] = waits;
      if (kind === 'timer') return this.#native(waits[0]);
      if (kind === 'run') {
        const outcome = await this.#port.children?.wait?.(id, name, until);
        if (outcome != null) return this.#settle(waits[0], { payload: outcome as unknown as JsonValue });
      } else {
        const names = waits.map((each) => each.name);
        const taken = await this.#port.event(names, until);
        if (taken !== null) {
          const wait = waits.find((each) => each.name === taken.name) ?? waits[0];
          return this.#settle(wait, { payload: taken.payload });
        }
      }
      const due = othersOf(queue, waits[0]) ?? waits[0];
      // Accept the second answer: the clocks may differ by much.
      if (again === 0 && !isTimeout(due, this.#port.clock.now())) continue;
      return waits.includes(due) ? this.#settle(due, null) : this.#native(due);
    }
  }

  /** Writes the moments of all waits in one write. */
  async #plan(): Promise<void> {
    const unplanned = this.#queue.filter(({ isPlanned }) => !isPlanned);
    await Promise.all(
      unplanned.map(async (wait) => {
        if (wait.open !== null) await this.#writer.put(wait.open);
        wait.isPlanned = true;
      }),
    );
  }

  async #native(wait: Queued): Promise<void> {
    const { kind, name, dueAt } = wait;
    // It is time to ask for its end.
    if (kind === 'run') return this.#settle(wait, null);
    if (kind === 'event') return this.#settle(wait, await this.#port.event([name], dueAt));
    await this.#port.timer(name, dueAt ?? this.#port.clock.now());
    return this.#settle(wait, null);
  }

  /** The first write after an outcome holds its entry: until then the server gives it again. */
  async #settle(wait: Queued, end: WaitEnd): Promise<void> {
    const isLeft = this.#remove(wait);
    try {
      const entry = wait.settled(end === null ? null : { payload: end.payload });
      if (entry !== null) await this.#writer.put(entry);
      if (isLeft) wait.resolve(end);
    } catch (error) {
      wait.reject(error);
    }
  }
}
