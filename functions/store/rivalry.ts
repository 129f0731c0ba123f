import type { Clock } from '../kernel/world.ts';

/** How long a key counts as contended after a race for it was lost. */
const contendedMs = 5_000;
const keysMax = 1_000;

/**
 * The keys over which this instance lost a race lately. A transaction over one of them locks before it reads, so that it
 * waits in line; a first try without locks would only be lost again.
 */
export class Rivalry {
  readonly #clock: Clock;
  readonly #until = new Map<string, number>();
  readonly #underWay = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isContended(names: Iterable<string>): boolean {
    if (this.#until.size === 0) return false;
    const now = this.#clock.now();
    for (const name of names) {
      const until = this.#until.get(name);
      if (until === undefined) continue;
      if (until > now) return true;
      this.#until.delete(name);
    }
    return false;
  }

  /** Runs the calls of one gate; `isLate`: another call is under way, and this one should queue behind it. */
  async behind<R>(gate: string | undefined, work: (isLate: boolean) => Promise<R>): Promise<R> {
    if (gate === undefined) return work(false);
    const before = this.#underWay.get(gate) ?? 0;
    this.#underWay.set(gate, before + 1);
    try {
      return await work(before > 0);
    } finally {
      const after = (this.#underWay.get(gate) ?? 1) - 1;
      if (after === 0) this.#underWay.delete(gate);
      else this.#underWay.set(gate, after);
    }
  }

  lost(name: string): void {
    // The oldest goes first: a name that is lost again moves to the end.
    this.#until.delete(name);
    const [oldest] = this.#until.keys();
    if (this.#until.size >= keysMax && oldest !== undefined) this.#until.delete(oldest);
    this.#until.set(name, this.#clock.now() + contendedMs);
  }
}
