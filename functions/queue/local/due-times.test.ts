import { array, assert, constant, integer, oneof, property, record } from 'fast-check';
import { expect, test } from 'vitest';
import { DueTimes } from './due-times.ts';

/** A model of `DueTimes`: a list that is sorted at each call. */
class SortedModel {
  readonly #moments = new Map<string, number>();

  expect(runId: string, at: number): void {
    this.#moments.set(runId, at);
  }

  forget(runId: string): void {
    this.#moments.delete(runId);
  }

  next(): number | undefined {
    return [...this.#moments.values()].toSorted((a, b) => a - b)[0];
  }

  takeDue(now: number): boolean {
    const due = [...this.#moments].filter(([, at]) => at <= now);
    for (const [runId] of due) this.#moments.delete(runId);
    return due.length > 0;
  }

  get size(): number {
    return this.#moments.size;
  }
}

const runId = integer({ min: 0, max: 12 }).map((index) => `run-${index}`);
const moment = integer({ min: 0, max: 30 });
const step = oneof(
  { weight: 6, arbitrary: record({ does: constant('expect' as const), runId, at: moment }) },
  { weight: 2, arbitrary: record({ does: constant('forget' as const), runId }) },
  { weight: 2, arbitrary: record({ does: constant('take' as const), now: moment }) },
  { weight: 1, arbitrary: record({ does: constant('next' as const) }) },
);

test('returns the earliest expected time, as a sorted list does', () => {
  assert(
    property(array(step, { maxLength: 120 }), (steps) => {
      const dues = new DueTimes();
      const model = new SortedModel();
      for (const each of steps) {
        if (each.does === 'expect') {
          dues.expect(each.runId, each.at);
          model.expect(each.runId, each.at);
        } else if (each.does === 'forget') {
          dues.forget(each.runId);
          model.forget(each.runId);
        } else if (each.does === 'take') {
          expect(dues.takeDue(each.now)).toBe(model.takeDue(each.now));
        } else {
          expect(dues.next()).toBe(model.next());
        }
        expect(dues.size).toBe(model.size);
      }
      expect(dues.next()).toBe(model.next());
    }),
    { numRuns: 2_000 },
  );
});

test('gives many moments back in their order, also after most were forgotten', () => {
  const dues = new DueTimes();
  const moments = Array.from({ length: 5_000 }, (_, index) => (index * 7_919) % 5_003);
  for (const [index, at] of moments.entries()) dues.expect(`run-${index}`, at);
  for (const index of moments.keys()) if (index % 10 !== 0) dues.forget(`run-${index}`);
  const kept = moments.filter((_, index) => index % 10 === 0).toSorted((a, b) => a - b);
  const taken: number[] = [];
  for (let at = dues.next(); at !== undefined; at = dues.next()) {
    taken.push(at);
    expect(dues.takeDue(at - 1)).toBe(false);
    expect(dues.takeDue(at)).toBe(true);
  }
  expect(taken).toEqual(kept);
  expect(dues.size).toBe(0);
});
