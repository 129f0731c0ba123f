import type { Turns } from './turns.ts';

/** A step of work may take as long again, and a collection of the heap or the flush of a commit to the disk comes on top. */
const PART_MS = 2;

/**
 * The time of the event loop for long work, of which a process has one. All long work together holds a turn of the loop for one
 * part, however many calls and jobs there are: what is due waits in a line, from which each turn takes one. Spaces take turns, so
 * one with much work leaves the same share to the others.
 */
export class TurnRoom {
  readonly #clock: { readonly now: () => number };
  readonly #partMs: number;
  /** Calls back in the next turn of the event loop. */
  readonly #later: (callback: () => void) => unknown;
  /** The spaces in their order, each with its parts that wait. */
  readonly #line = new Map<string, (() => void)[]>();
  /** The space of the last part: it has the next one only where no other waits. */
  #last: string | null = null;
  /** Since when long work has held this turn of the loop; `null` where none has yet. */
  #since: number | null = null;

  constructor(
    clock: { readonly now: () => number },
    later: (callback: () => void) => unknown = setImmediate,
    partMs = PART_MS,
  ) {
    this.#clock = clock;
    this.#later = later;
    this.#partMs = partMs;
  }

  /** The turns of work of the space. They throw once `signal` is aborted: no caller waits for the work then. */
  of(space: string, signal?: AbortSignal): Turns {
    return {
      due: () => this.#isDue(),
      next: async () => {
        signal?.throwIfAborted();
        await this.#next(space);
        signal?.throwIfAborted();
      },
    };
  }

  /** For work that has no signal: lets the others work where the turn of the loop has been held long enough. */
  async pause(space: string): Promise<void> {
    if (this.#isDue()) await this.#next(space);
  }

  #isDue(): boolean {
    const held = this.#clock.now() - this.#begin();
    // A clock that was set back gives no endless turn.
    return held >= this.#partMs || held < 0;
  }

  #next(space: string): Promise<void> {
    this.#begin();
    return new Promise((resolve) => {
      const parts = this.#line.get(space);
      if (parts === undefined) this.#line.set(space, [resolve]);
      else parts.push(resolve);
    });
  }

  /** Since when long work has held the turn of the loop. */
  #begin(): number {
    if (this.#since === null) {
      this.#since = this.#clock.now();
      this.#later(() => this.#turn());
    }
    return this.#since;
  }

  #turn(): void {
    this.#since = null;
    const part = this.#take();
    if (part === undefined) return;
    this.#begin();
    part();
  }

  #take(): (() => void) | undefined {
    for (const [space, parts] of this.#line) {
      if (space === this.#last && this.#line.size > 1) continue;
      const part = parts.shift();
      this.#line.delete(space);
      if (parts.length > 0) this.#line.set(space, parts);
      this.#last = space;
      return part;
    }
    return undefined;
  }
}
