import type { World } from '../kernel/world.ts';
import type { Run } from './run.ts';

/** How often a run that is waited for is read anew: what another instance ends is seen only so. */
const RECHECK_MS_MIN = 250;
const RECHECK_MS_MAX = 4_000;

/** Calls of one instance that wait at a time; those beyond are answered at once, as they would be without waiting. */
const CALLS_MAX = 1_000;

/** Calls that wait for the end of a run, and what wakes them. */
export class RunWatch {
  readonly #timers: World['timers'];
  readonly #waiting = new Map<string, Set<Wake>>();
  #calls = 0;

  constructor({ timers }: Pick<World, 'timers'>) {
    this.#timers = timers;
  }

  /** Says that this instance has ended the run, which is durable by now. */
  ended(run: Run): void {
    for (const wake of this.#waiting.get(run.id) ?? []) wake(run);
  }

  /**
   * Reads until the answer is `done`, the time is over or nobody waits any more; answers what was read last. `read` is handed the
   * run where this instance has ended it, and need not ask for it then.
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
          // Nobody listens any more, also where the read failed.
          woken.cancel();
        }
        recheckMs = Math.min(2 * recheckMs, RECHECK_MS_MAX);
      }
    } finally {
      this.#calls -= 1;
      stopClock();
    }
  }

  /** Begun before the read that it follows, so that an end in between is not missed. */
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
