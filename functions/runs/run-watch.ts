import type { World } from '../kernel/world.ts';
import type { Run } from './run.ts';

/** Time between two reads of a watched run: another instance may end it. */
const RECHECK_MS_MIN = 250;
const RECHECK_MS_MAX = 4_000;

/** Calls of one instance that wait at a time. Further calls are answered without waiting. */
const CALLS_MAX = 1_000;

/** Lets calls wait for the end of a run. */
export class RunWatch {
  readonly #timers: World['timers'];
  readonly #waiting = new Map<string, Set<Wake>>();
  #calls = 0;

  constructor({ timers }: Pick<World, 'timers'>) {
    this.#timers = timers;
  }

  /** Wakes the calls that wait for a run that this instance has ended. */
  ended(run: Run): void {
    for (const wake of this.#waiting.get(run.id) ?? []) wake(run);
  }

  /**
   * Reads until the answer is `done`, the time is over or the caller has left, and returns the last answer. `read`
   * receives the run if this instance has ended it, which saves a query.
   */
  async until<T>(
    runId: string,
    waitMs: number,
    signal: AbortSignal,
    read: (ended: Run | null) => Promise<{ readonly value: T; readonly done: boolean }>,
  ): Promise<T> {
    if (this.#calls >= CALLS_MAX) return (await read(null)).value;
    this.#calls += 1;
    let recheckMs = RECHECK_MS_MIN;
    let over = false;
    let ended: Run | null = null;
    const stopClock = this.#timers.after(waitMs, () => {
      over = true;
      for (const wake of this.#waiting.get(runId) ?? []) wake(null);
    });
    try {
      for (;;) {
        const woken = this.#next(runId, recheckMs, signal);
        try {
          const { value, done } = await read(ended);
          if (done || over || signal.aborted) return value;
          ended = await woken.promise;
        } finally {
          // Also removes the listener if the read failed.
          woken.cancel();
        }
        recheckMs = Math.min(2 * recheckMs, RECHECK_MS_MAX);
      }
    } finally {
      this.#calls -= 1;
      stopClock();
    }
  }

  /** Starts to listen before the read that follows, so that an end in between is not missed. */
  #next(runId: string, recheckMs: number, signal: AbortSignal) {
    const waiting = this.#waiting.get(runId) ?? new Set();
    this.#waiting.set(runId, waiting);
    const { promise, resolve } = Promise.withResolvers<Run | null>();
    const wake: Wake = (ended) => {
      stopClock();
      signal.removeEventListener('abort', cancel);
      waiting.delete(wake);
      if (waiting.size === 0 && this.#waiting.get(runId) === waiting) this.#waiting.delete(runId);
      resolve(ended);
    };
    const cancel = () => wake(null);
    const stopClock = this.#timers.after(recheckMs, cancel);
    waiting.add(wake);
    signal.addEventListener('abort', cancel);
    return { promise, cancel };
  }
}

type Wake = (ended: Run | null) => void;
