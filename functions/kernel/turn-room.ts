import type { Turns } from './turns.ts';

/** The length of a part. A step may exceed it by as much again, and garbage collection or a flush to the disk adds to that. */
const PART_MS = 2;

/**
 * Shares the event loop among all long work of a process. In each turn of the loop long work runs for one part only, for any number
 * of calls and jobs: further work waits in a queue. The spaces take turns, so that a space with much work leaves the others their
 * share.
 */
export class TurnRoom {
  readonly #clock: { readonly now: () => number };
  readonly #partMs: number;
  /** Calls back in the next turn of the event loop. */
  readonly #later: (callback: () => void) => unknown;
  /** The spaces in their order, each with its waiting parts. */
  readonly #line = new Map<string, (() => void)[]>();
  /** The space of the last part: it gets the next part only if no other space waits. */
  #last: string | null = null;
  /** When long work began in this turn of the loop; `null` if none has begun. */
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

  /** The turns for work of the space. `next` throws once `signal` is aborted, because no caller then waits for the work. */
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

  /** For work without a signal: lets other work run if this turn of the loop has been held long enough. */
  async pause(space: string): Promise<void> {
    if (this.#isDue()) await this.#next(space);
  }

  #isDue(): boolean {
    const held = this.#clock.now() - this.#begin();
    // After the clock was set back the turn ends too.
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

  /** Returns when long work began in this turn of the loop. */
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
