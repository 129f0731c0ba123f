import { drawFaults, type Faults, NO_FAULTS } from './faults.ts';
import type { Random } from './random.ts';

/** The probabilities of faults around the execution runtime, from 0 to 1. */
export interface ExecutionFaults extends Faults {
  /** A message to a worker is lost, comes twice, or the queue does not take it. */
  messageLost: number;
  messageTwice: number;
  queueRefuses: number;
  /** A worker dies between two of its calls. */
  workerDies: number;
  /** A worker is held up until after its lease. */
  workerStalls: number;
  /** The clock of an instance steps back, leaps ahead, stops or goes on. */
  clock: number;
}

export const NO_EXECUTION_FAULTS: Readonly<ExecutionFaults> = {
  ...NO_FAULTS,
  messageLost: 0,
  messageTwice: 0,
  queueRefuses: 0,
  workerDies: 0,
  workerStalls: 0,
  clock: 0,
};

export function drawExecutionFaults(random: Random): ExecutionFaults {
  const rate = (most: number) => (random.chance(0.4) ? 0 : random.next() * most);
  return {
    ...drawFaults(random),
    messageLost: rate(0.5),
    messageTwice: rate(0.8),
    queueRefuses: rate(0.3),
    workerDies: rate(0.15),
    workerStalls: rate(0.15),
    clock: rate(0.02),
  };
}

const MINUTE = 60_000;

/** The clock of one instance: ahead or behind, and not always going. */
export class SkewedClock {
  readonly #source: () => number;
  #offsetMs: number;
  #stoppedAt: number | null = null;
  /** The furthest that it ever said. */
  latest = 0;

  constructor(source: () => number, offsetMs: number) {
    this.#source = source;
    this.#offsetMs = offsetMs;
  }

  now(): number {
    const now = this.#stoppedAt ?? this.#source() + this.#offsetMs;
    this.latest = Math.max(this.latest, now);
    return now;
  }

  disturb(random: Random): string {
    const what = random.below(4);
    if (what === 0) {
      this.#offsetMs -= random.below(60) * MINUTE;
      return 'steps back';
    }
    if (what === 1) {
      this.#offsetMs += random.below(10) * MINUTE;
      return 'leaps';
    }
    if (what === 2 && this.#stoppedAt === null) {
      this.#stoppedAt = this.now();
      return 'stops';
    }
    this.#stoppedAt = null;
    return 'goes on';
  }

  /** Sets the clock to this time, from which it continues. */
  set(now: number): void {
    this.#stoppedAt = null;
    this.#offsetMs = now - this.#source();
  }
}
