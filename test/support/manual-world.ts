import { TurnRoom } from '../../functions/kernel/turn-room.ts';
import type { World } from '../../functions/kernel/world.ts';

interface ManualTimer {
  readonly dueAt: number;
  readonly callback: () => void;
}

/** A world in which time passes only when a test advances it, and random bytes are a counter. */
export class ManualWorld implements World {
  now = Date.UTC(2026, 0, 1);
  #timers: ManualTimer[] = [];
  #drawn = 0;
  #armed: (() => void)[] = [];

  readonly clock = { now: () => this.now };
  readonly random = {
    bytes: (size: number) => {
      this.#drawn += 1;
      return new Uint8Array(size).fill(this.#drawn % 256);
    },
  };
  readonly timers = {
    after: (delayMs: number, callback: () => void) => {
      const timer = { dueAt: this.now + delayMs, callback };
      this.#timers.push(timer);
      for (const tell of this.#armed.splice(0)) tell();
      return () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      };
    },
  };
  readonly turns = new TurnRoom(this.clock);
  readonly http = () => Promise.reject(new Error('this world has no network'));

  get pendingTimers(): number {
    return this.#timers.length;
  }

  /** When the next timer is due; `null` without one. */
  get nextAt(): number | null {
    return this.#timers.length === 0 ? null : Math.min(...this.#timers.map(({ dueAt }) => dueAt));
  }

  /** Settles when code sets a timer; at once when one is set. */
  timerSet(): Promise<void> {
    if (this.#timers.length > 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#armed.push(resolve);
    });
  }

  /** Lets time pass, calling back what becomes due in its order. */
  advance(ms: number): void {
    const end = this.now + ms;
    for (;;) {
      const [next] = this.#timers.filter(({ dueAt }) => dueAt <= end).sort((a, b) => a.dueAt - b.dueAt);
      if (!next) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.now = Math.max(this.now, next.dueAt);
      next.callback();
    }
    this.now = end;
  }
}
