import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Listing, ListSelection } from '../port.ts';
import { driversOf, dueBound, dueEntry, dueTime, matches, orderEntries, token } from './entries.ts';

const collection = { name: 'documents', pairedIndexes: true };
const words = fc.constantFrom('a', 'a\u0001', 'aa', '\uE000', '😀');
const names = fc.constantFrom('status', 'rank');

const listings: fc.Arbitrary<Listing> = fc.record({
  group: fc.constantFrom('task', 'note'),
  id: words,
  hidden: fc.boolean(),
  indexes: fc.record({ status: words, rank: words }, { requiredKeys: ['status'] }),
});

/** Mostly few conditions, so that many drivers are exact. */
const selections: fc.Arbitrary<ListSelection> = fc
  .record({
    group: fc.option(fc.constantFrom('task', 'note'), { nil: undefined }),
    equal: fc.option(fc.dictionary(names, words, { noNullPrototype: true, maxKeys: 2 }), {
      nil: undefined,
    }),
    range: fc.option(fc.record({ index: names, from: words, to: words }), { nil: undefined, freq: 1 }),
    orderBy: fc.option(names, { nil: undefined, freq: 2 }),
    includeHidden: fc.boolean(),
  })
  .map(({ group, equal, range, orderBy, includeHidden }) => ({
    by: 'list',
    collection,
    limit: 10,
    includeHidden,
    ...(group === undefined ? {} : { group }),
    ...(equal === undefined ? {} : { equal }),
    ...(range === undefined ? {} : { range }),
    ...(orderBy === undefined ? {} : { orderBy }),
  }));

describe('order entries', () => {
  test('of k indexes number 2 (2 + k), with pairs 4 + k + k²', () => {
    for (let k = 0; k <= 16; k += 1) {
      const indexes = Object.fromEntries(Array.from({ length: k }, (_, index) => [`index ${index}`, 'x']));
      const listing = { group: 'task', id: 'a', hidden: false, indexes };
      expect(Object.keys(orderEntries(listing, false))).toHaveLength(4 + 2 * k);
      expect(Object.keys(orderEntries(listing, true))).toHaveLength(4 + k + k * k);
    }
    const hidden = { group: 'task', id: 'a', hidden: true, indexes: { a: 'b' } };
    expect(Object.keys(orderEntries(hidden, true))).toHaveLength(2);
  });

  /** Models Firestore in a few lines: a driver reads the range of one field in byte order. */
  test('every driver finds all that match, and an exact one nothing else', () => {
    fc.assert(
      fc.property(
        fc.array(listings, { minLength: 4, maxLength: 12 }),
        selections,
        fc.boolean(),
        (all, selection, paired) => {
          for (const driver of driversOf(selection, paired)) {
            const found = all.filter((listing) => {
              const key = orderEntries(listing, paired)[driver.token];
              if (key === undefined) return false;
              const bytes = Buffer.from(key);
              if (driver.from !== undefined && Buffer.compare(bytes, Buffer.from(driver.from)) < 0)
                return false;
              return driver.below === undefined || Buffer.compare(bytes, Buffer.from(driver.below)) < 0;
            });
            const wanted = all.filter((listing) => matches(listing, selection));
            expect(found).toEqual(expect.arrayContaining(wanted));
            if (driver.exact) expect(found).toEqual(wanted);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('keep within what Firestore indexes, at whole characters', () => {
    const wide = '😀'.repeat(225);
    const listing = { group: 'ä'.repeat(200), id: 'ß'.repeat(200), hidden: false, indexes: { wide } };
    for (const key of Object.values(orderEntries(listing, true))) {
      expect(Buffer.byteLength(key)).toBeLessThanOrEqual(1_500);
      expect(key.isWellFormed()).toBe(true);
      expect(key).not.toContain('\uFFFD');
    }
  });

  test('tokens are pinned: stored entries carry them', () => {
    expect(token({ group: 'task' })).toBe('k44d28d6b23db');
    expect(token({ group: 'task', orderBy: 'rank', equal: ['status', 'open'] })).toBe('k992633fa6cb8');
  });
});

describe('due entries', () => {
  const key = { collection: 'events', id: 'f'.repeat(32) };
  const times = fc.oneof(
    fc.integer({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }),
    fc.integer({ min: -3, max: 3 }),
  );

  test('sort by time, then listing id, and lie below the bound from their time on', () => {
    fc.assert(
      fc.property(times, times, words, words, (one, other, id, otherId) => {
        const [left, right] = [dueEntry(one, id, key), dueEntry(other, otherId, key)].map((text) =>
          Buffer.from(text),
        );
        const order = Math.sign(Buffer.compare(left!, right!));
        const byId = Math.sign(Buffer.compare(Buffer.from(id), Buffer.from(otherId)));
        expect(order).toBe(Math.sign(one - other) || byId);
        expect(Buffer.compare(left!, Buffer.from(dueBound(other))) < 0).toBe(one <= other);
        expect(dueTime(dueEntry(one, id, key))).toBe(one);
      }),
    );
  });

  test('a time that is none is refused', () => {
    for (const due of [0.5, Number.NaN, Number.MAX_SAFE_INTEGER + 1]) {
      expect(() => dueEntry(due, 'a', key)).toThrow(TypeError);
    }
  });
});
