/**
 * How many calls of one scope may be at the database at once. They would wait there for one row, each with a connection:
 * so that a busy tenant leaves connections to the others, the rest wait here. More than one, because the next call
 * locks and reads while the one before is flushed to disk.
 */
export class Lanes {
  readonly #width: number;
  readonly #busy = new Map<string, { running: number; waiting: (() => void)[] }>();

  constructor(width: number) {
    this.#width = width;
  }

  async run<R>(name: string, work: () => Promise<R>): Promise<R> {
    let lane = this.#busy.get(name);
    if (lane === undefined) {
      lane = { running: 0, waiting: [] };
      this.#busy.set(name, lane);
    }
    if (lane.running < this.#width) {
      lane.running += 1;
    } else {
      const { waiting } = lane;
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
      });
    }
    try {
      return await work();
    } finally {
      const next = lane.waiting.shift();
      // A waiting call takes over the place of the one that leaves.
      if (next !== undefined) next();
      else if (lane.running === 1) this.#busy.delete(name);
      else lane.running -= 1;
    }
  }
}
