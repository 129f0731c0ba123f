import { Random } from './random.ts';

/** Simulated time moves in steps of this, so that a moment is often exactly that of an expiry. */
export const TICK_MS = 50;

const TICKS_PER_STEP_MAX = 2;
/** How often a step lets time jump to the next timer, as if everything else had become slow. */
const JUMP_PROBABILITY = 0.02;
/** A call that gives others their turn goes on after a turn or two of the event loop, without a step. */
const IDLE_TURNS_MAX = 10;
const START = Date.UTC(2026, 0, 2, 3, 4, 5);

/** Something that can die: what it awaits then never goes on, as after `kill -9`. */
export class Process {
  readonly name: string;
  alive = true;
  readonly #onDeath = new Set<() => void>();

  constructor(name: string) {
    this.name = name;
  }

  kill(): void {
    if (!this.alive) return;
    this.alive = false;
    for (const callback of this.#onDeath) callback();
    this.#onDeath.clear();
  }

  /** Calls back when the process dies; the returned function takes that back. */
  onDeath(callback: () => void): () => void {
    this.#onDeath.add(callback);
    return () => this.#onDeath.delete(callback);
  }
}

interface Parked {
  readonly process: Process;
  readonly label: string;
  readonly go: () => void;
}

interface Timer extends Parked {
  readonly at: number;
}

export type Ending = 'done' | 'failed' | 'stuck' | 'steps used up';

/**
 * Runs everything that waits for the outside world one step at a time. Each such await parks its continuation here, and
 * the seed alone says who goes on next and how much time has passed.
 */
export class Scheduler {
  readonly random: Random;
  now = START;
  steps = 0;
  /** The first failure, with which the run ends. */
  failure: Error | undefined;
  /** Called before each step with the one about to go on: the moment to kill it. */
  beforeStep: (process: Process, label: string) => void = () => undefined;
  readonly log: string[] | undefined;
  #ready: Parked[] = [];
  #timers: Timer[] = [];
  #outside = 0;
  #hash = 0x811c9dc5;

  constructor(seed: number, options: { readonly trace?: boolean } = {}) {
    this.random = new Random(seed);
    this.log = options.trace === true ? [] : undefined;
  }

  /** Waits until the seed picks this continuation. */
  park(process: Process, label: string): Promise<void> {
    return new Promise((go) => {
      if (process.alive) this.#ready.push({ process, label, go });
    });
  }

  /** Waits until `delayMs` have passed, and then until the process is picked. */
  sleep(process: Process, delayMs: number, label = 'sleep'): Promise<void> {
    return new Promise((go) => {
      this.after(process, delayMs, go, label);
    });
  }

  /** Calls back once after `delayMs` unless the process has died; the returned function cancels it. */
  after(process: Process, delayMs: number, go: () => void, label = 'timer'): () => void {
    const timer: Timer = { process, label, go, at: this.now + delayMs };
    if (!process.alive) return () => undefined;
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
      this.#ready = this.#ready.filter((other) => other !== timer);
    };
  }

  /**
   * Runs `work` of which a part is done by threads that no seed drives, such as compression: no step is taken before it
   * has ended, or waits within `inside`. So how fast those threads are changes nothing.
   */
  async outside<T>(work: () => Promise<T>): Promise<T> {
    this.#outside++;
    try {
      return await work();
    } finally {
      this.#outside--;
    }
  }

  /** A part of such work that waits for the seed. */
  async inside<T>(work: () => Promise<T>): Promise<T> {
    this.#outside--;
    try {
      return await work();
    } finally {
      this.#outside++;
    }
  }

  /** Adds an event to the trace hash, which two runs of one seed must share. */
  note(text: string): void {
    for (let n = 0; n < text.length; n++) this.#hash = Math.imul(this.#hash ^ text.charCodeAt(n), 0x01000193);
    this.log?.push(`${this.steps} ${new Date(this.now).toISOString().slice(11)} ${text}`);
  }

  get traceHash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, '0');
  }

  fail(error: Error): void {
    if (this.failure !== undefined) return;
    this.failure = error;
    this.note(`FAILED ${error.message}`);
  }

  async run(until: () => boolean, stepsMax: number): Promise<Ending> {
    let idle = 0;
    for (;;) {
      // A macrotask lets everything that the step before set going run up to its next await on the outside.
      do {
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
      } while (this.#outside > 0);
      if (this.failure !== undefined) return 'failed';
      if (until()) return 'done';
      if (this.steps >= stepsMax) return 'steps used up';
      idle = this.#step() ? 0 : idle + 1;
      if (idle > IDLE_TURNS_MAX) return 'stuck';
    }
  }

  #step(): boolean {
    this.#ready = this.#ready.filter(({ process }) => process.alive);
    this.#timers = this.#timers.filter(({ process }) => process.alive);
    if (this.#timers.length > 0 && (this.#ready.length === 0 || this.random.chance(JUMP_PROBABILITY))) {
      this.now = Math.max(this.now, Math.min(...this.#timers.map(({ at }) => at)));
    }
    const due = this.#timers.filter(({ at }) => at <= this.now);
    if (due.length > 0) {
      this.#timers = this.#timers.filter(({ at }) => at > this.now);
      this.#ready.push(...due);
    }
    const chosen = this.random.below(this.#ready.length);
    const next = this.#ready[chosen];
    if (next === undefined) return false;
    this.#ready.splice(chosen, 1);
    this.steps++;
    this.now += this.random.below(TICKS_PER_STEP_MAX + 1) * TICK_MS;
    this.note(`${next.process.name} ${next.label}`);
    this.beforeStep(next.process, next.label);
    if (next.process.alive) next.go();
    return true;
  }
}
