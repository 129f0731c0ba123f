import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ObjectMemory } from '../object-memory.ts';

/** Uploads that arrive in any order and pace, end for each other, and begin again until they are there. */

const KIB = 1024;
const STEP = 512 * KIB;
const SMALL = 64 * KIB;

interface Plan {
  readonly space: string;
  readonly steps: number;
  readonly declares: boolean;
}

interface Attempt {
  readonly plan: Plan;
  readonly lease: ReturnType<ObjectMemory['lease']>;
  arrived: number;
}

class Uploads {
  now = 0;
  refused = 0;
  readonly bytes: ObjectMemory;
  readonly waiting: Plan[];
  /** The oldest first. */
  readonly under: Attempt[] = [];
  readonly #held = new Map<string, number>();

  constructor(plans: readonly Plan[], bytesMax: number, objectBytesMax: number) {
    this.waiting = [...plans];
    this.bytes = new ObjectMemory(bytesMax, objectBytesMax, { now: () => this.now });
  }

  get isDone(): boolean {
    return this.waiting.length + this.under.length === 0;
  }

  begin(): void {
    const plan = this.waiting.shift();
    if (plan === undefined) return;
    const lease = this.bytes.lease(plan.space);
    const attempt = { plan, lease, arrived: 0 };
    this.under.push(attempt);
    try {
      lease.begin(plan.declares ? plan.steps * STEP : 0, () => this.#failed(attempt));
    } catch {
      this.#failed(attempt);
    }
  }

  /** The next bytes of one upload. */
  arrive(at: number, arePrompt: boolean): void {
    const attempt = this.under[at % this.under.length];
    if (attempt === undefined) return;
    const [oldest] = this.under;
    try {
      attempt.lease.progress(STEP);
      attempt.lease.take(STEP);
    } catch {
      if (arePrompt) expect(attempt, 'the oldest upload is refused').not.toBe(oldest);
      this.#failed(attempt);
      return;
    }
    attempt.arrived += STEP;
    this.#count(attempt.plan.space, STEP);
    if (arePrompt && oldest !== undefined) expect(this.under, 'the oldest upload is ended').toContain(oldest);
    if (attempt.arrived < attempt.plan.steps * STEP) return;
    attempt.lease.settle(attempt.arrived);
    this.#leave(attempt);
  }

  heldIn(space: string): number {
    return this.#held.get(space) ?? 0;
  }

  #failed(attempt: Attempt): void {
    this.refused += 1;
    this.#leave(attempt);
    this.waiting.push(attempt.plan);
  }

  #leave(attempt: Attempt): void {
    attempt.lease.release();
    this.#count(attempt.plan.space, -attempt.arrived);
    this.under.splice(this.under.indexOf(attempt), 1);
  }

  #count(space: string, bytes: number): void {
    this.#held.set(space, this.heldIn(space) + bytes);
  }
}

const spaces = ['a', 'b', 'c'];
const plans = fc.array(
  fc.record({
    space: fc.constantFrom(...spaces),
    steps: fc.integer({ min: 1, max: 8 }),
    declares: fc.boolean(),
  }),
  { minLength: 2, maxLength: 24 },
);

// Between two pieces of an upload passes less than its pace allows, more, or much more.
const eventsOf = (...pauses: number[]) =>
  fc.infiniteStream(
    fc.record({
      at: fc.nat(),
      begins: fc.nat({ max: 3 }).map((draw) => draw === 0),
      ms: fc.constantFrom(...pauses),
    }),
  );

test.each([
  { pace: 'prompt', events: eventsOf(0, 5) },
  { pace: 'slow', events: eventsOf(0, 100, 2_000, 30_000) },
])(
  '$pace uploads that try again all arrive within the bounds, and the oldest prompt one is never refused',
  ({ pace, events }) => {
    const seen = { refused: 0, peak: 0 };
    fc.assert(
      fc.property(plans, fc.integer({ min: 8, max: 20 }), events, (given, steps, stream) => {
        const bytesMax = steps * STEP;
        const spaceMax = Math.max(Math.ceil(bytesMax / 2), 8 * STEP);
        const uploads = new Uploads(given, bytesMax, 8 * STEP);
        let left = 20_000;
        for (const { at, begins, ms } of stream) {
          if (uploads.isDone) break;
          left -= 1;
          expect(left, 'uploads end each other for ever').toBeGreaterThan(0);
          uploads.now += ms;
          if (begins || uploads.under.length === 0) uploads.begin();
          else uploads.arrive(at, pace === 'prompt');
          expect(uploads.bytes.total).toBeLessThanOrEqual(bytesMax + SMALL);
          for (const space of spaces) expect(uploads.heldIn(space)).toBeLessThanOrEqual(spaceMax);
          seen.peak = Math.max(seen.peak, uploads.bytes.total / bytesMax);
        }
        expect(uploads.bytes.total).toBe(0);
        seen.refused += uploads.refused;
      }),
      { numRuns: 300 },
    );
    // Without refusals and nearly full bounds the property would have tested nothing.
    expect(seen.refused).toBeGreaterThan(100);
    expect(seen.peak).toBeGreaterThan(0.9);
  },
);
