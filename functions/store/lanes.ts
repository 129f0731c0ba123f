import type { Timers } from '../kernel/world.ts';
import { StoreError } from './port.ts';

export interface ScopeLanesOptions {
  /** How many calls of one name may run at once. */
  readonly width: number;
  readonly timers: Timers;
  /** How long a call waits for its turn. */
  readonly waitMaxMs: number;
}

interface Lane {
  running: number;
  waiting: (() => void)[];
}

/**
 * The most calls of one scope at the database at once. More of them would wait there for one row, each with a
 * connection: the rest wait here, so that a busy tenant leaves connections to the others. More than one, because the
 * next call locks and reads while the previous one is flushed to disk.
 */
export class ScopeLanes {
  readonly #options: ScopeLanesOptions;
  readonly #busy = new Map<string, Lane>();

  constructor(options: ScopeLanesOptions) {
    this.#options = options;
  }

  async run<R>(name: string, work: () => Promise<R>): Promise<R> {
    let lane = this.#busy.get(name);
    if (lane === undefined) {
      lane = { running: 0, waiting: [] };
      this.#busy.set(name, lane);
    }
    if (lane.running < this.#options.width) lane.running += 1;
    else await this.#turn(lane);
    try {
      return await work();
    } finally {
      const next = lane.waiting.shift();
      // The next waiting call takes the place of the one that leaves.
      if (next !== undefined) next();
      else if (lane.running === 1) this.#busy.delete(name);
      else lane.running -= 1;
    }
  }

  /** A call that gives up leaves the line, so that the next waiting call gets its turn. */
  #turn(lane: Lane): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const cancel = this.#options.timers.after(this.#options.waitMaxMs, () => {
        lane.waiting = lane.waiting.filter((each) => each !== enter);
        reject(new StoreError('contention', 'too many changes of one scope are under way in this instance'));
      });
      const enter = (): void => {
        cancel();
        resolve();
      };
      lane.waiting.push(enter);
    });
  }
}
