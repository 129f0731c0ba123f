import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Head } from '../store/port.ts';
import {
  entryMembers,
  isOfNewerRelease,
  isOnly,
  isWithin,
  mayHaveOtherWriters,
  mustWiden,
  onlyVersion,
  rangeIn,
  sweepIn,
  widened,
  widenedPolicy,
  withRange,
  withSweep,
} from './entry-range.ts';

const key = { collection: 'policies', id: 'a' };
const versions = [0, 1, 2, 3];
const ranges = versions.flatMap((from) => versions.filter((to) => to >= from).map((to) => ({ from, to })));
const others = { incarnation: 'i', createdAt: 'c' };

describe('a range of versions', () => {
  test('is stored in the head; without one there are no entries', () => {
    expect(rangeIn(others)).toEqual({ from: 0, to: 0 });
    for (const range of ranges) {
      const head = withRange(others, range);
      expect(head).toEqual({ ...others, entriesFrom: range.from, entriesTo: range.to });
      expect(rangeIn(head)).toEqual(range);
      expect(rangeIn(JSON.parse(JSON.stringify(head)) as Head)).toEqual(range);
    }
  });

  test('is widened as far as a version needs, and no further', () => {
    for (const range of ranges)
      for (const version of versions) {
        const wider = widened(range, version);
        const inside = (each: number) => isWithin(onlyVersion(each), wider);
        expect(versions.filter(inside)).toEqual(
          versions.filter((each) => {
            const all = [range.from, range.to, version];
            return each >= Math.min(...all) && each <= Math.max(...all);
          }),
        );
      }
  });

  test('has to be widened by a writer outside of it, and where a sweep makes another version', () => {
    for (const range of ranges)
      for (const version of versions) {
        const head = withRange(others, range);
        const isOutside = version < range.from || version > range.to;
        expect(mustWiden(head, version)).toBe(isOutside);
        const after = widenedPolicy({ key, head }, version);
        expect(after).toEqual({ key, head: withRange(others, widened(range, version)) });
        for (const next of versions) {
          const swept = withSweep(head, next, 'run');
          expect(mustWiden(swept, version)).toBe(next !== version);
          const ended = widenedPolicy({ key, head: swept }, version).head;
          expect(versions.map((each) => sweepIn(ended, each))).toEqual(versions.map(() => null));
          expect(mustWiden(ended, version)).toBe(false);
        }
      }
  });

  test('of a sweep has its version, and ends with that one alone', () => {
    for (const range of ranges)
      for (const version of versions) {
        const swept = withSweep(withRange(others, range), version, 'run');
        expect(rangeIn(swept)).toEqual(widened(range, version));
        expect(versions.map((each) => sweepIn(swept, each))).toEqual(
          versions.map((each) => (each === version ? 'run' : null)),
        );
        const ended = withRange(swept, onlyVersion(version));
        expect(ended).toEqual({ ...others, entriesFrom: version, entriesTo: version });
        expect(isOnly(rangeIn(ended), version)).toBe(true);
      }
  });

  test('belongs to a newer release if an entry or the sweep has a newer version', () => {
    for (const range of ranges)
      for (const version of versions) {
        const head = withRange(others, range);
        expect(isOfNewerRelease(head, version)).toBe(range.to > version);
        expect(isOfNewerRelease(withSweep(head, 3, 'run'), version)).toBe(version < 3);
        expect(isOfNewerRelease({ ...head, entriesNext: 3 }, version)).toBe(version < 3);
      }
  });

  test('has members that no archive carries', () => {
    const head = withSweep(withRange({}, onlyVersion(1)), 2, 'run');
    expect(entryMembers).toEqual([...Object.keys(head), 'termsLeftOut']);
  });
});

const RECORDS = 2;
const event = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(fc.constant('write' as const), fc.integer({ min: 1, max: 3 }), fc.nat(RECORDS - 1)),
  },
  { weight: 2, arbitrary: fc.tuple(fc.constant('commit' as const), fc.constant(0), fc.constant(0)) },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constant('begin' as const), fc.integer({ min: 1, max: 3 }), fc.constant(0)),
  },
  { weight: 10, arbitrary: fc.tuple(fc.constant('page' as const), fc.constant(0), fc.constant(0)) },
);

/** A collection, its writers between their read of the policy and their commit, and its sweeps. */
class Collection {
  head: Head;
  readonly entries: number[];
  finished = 0;
  readonly #open: (readonly [version: number, record: number])[] = [];
  #sweep = { run: '', version: 0, next: 0 };
  #runs = 0;

  constructor(version: number) {
    this.head = version === 0 ? {} : withRange({}, onlyVersion(version));
    this.entries = Array.from({ length: RECORDS }, () => version);
  }

  /** A writer that need not widen has read the policy without a guard: it may commit much later. */
  write(version: number, record: number): void {
    if (!mustWiden(this.head, version)) {
      this.#open.push([version, record]);
      return;
    }
    this.head = widenedPolicy({ key, head: this.head }, version).head;
    this.entries[record] = version;
  }

  commit(): void {
    const open = this.#open.shift();
    if (open !== undefined) this.entries[open[1]] = open[0];
  }

  /** A sweep that rests sees all writers end that have read the policy before. */
  begin(version: number): void {
    if (isOnly(rangeIn(this.head), version)) return;
    const rests = mayHaveOtherWriters(this.head, version);
    this.#runs += 1;
    const run = `run ${this.#runs}`;
    this.head = withSweep(this.head, version, run);
    this.#sweep = { run, version, next: 0 };
    if (rests) while (this.#open.length > 0) this.commit();
  }

  page(): void {
    const { run, version, next } = this.#sweep;
    if (sweepIn(this.head, version) !== run) return;
    if (next < RECORDS) this.entries[next] = version;
    else {
      this.head = withRange(this.head, onlyVersion(version));
      this.finished += 1;
    }
    this.#sweep.next += 1;
  }

  get isCovered(): boolean {
    const range = rangeIn(this.head);
    return this.entries.every((version) => isWithin(onlyVersion(version), range));
  }
}

test('the range has the version of every entry after any writes and sweeps of several releases', () => {
  let finished = 0;
  fc.assert(
    fc.property(fc.nat(3), fc.array(event, { minLength: 20, maxLength: 60 }), (first, events) => {
      const collection = new Collection(first);
      for (const [kind, version, record] of events) {
        if (kind === 'write') collection.write(version, record);
        else if (kind === 'begin') collection.begin(version);
        else collection[kind]();
        expect(collection.isCovered).toBe(true);
      }
      finished += collection.finished;
    }),
    { numRuns: 1_000 },
  );
  expect(finished).toBeGreaterThan(100);
});
