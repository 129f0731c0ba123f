import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { walkPages } from '../../functions/store/pages.ts';
import type {
  Collection,
  CountSelection,
  RecordData,
  RecordStore,
  Scope,
} from '../../functions/store/port.ts';
import { documents, grouped, keyOf, put, randomScope, streamOf, transact } from './store-fixtures.ts';
import type { StoreSuite } from './store-suite.ts';

type Asked = Omit<CountSelection, 'after'>;

const groups = ['0'.repeat(32), 'f'.repeat(32)];
const [first = '', second = ''] = groups;
/** Ends of ids that try the end of a range of ids: the last code point, and those around the surrogates. */
const prefixes = ['a\u0001', 'a', 'b\u0001', '\uD7FF', '\u{10FFFF}', 'nowhere'];
const ends = ['', '\u0001', 'x', '\u{10FFFF}', '😀'];
const ids = [...new Set(prefixes.slice(0, -1).flatMap((prefix) => ends.map((end) => prefix + end)))];
const texts = ['v', 'v\u0001', 'w', '😀'];
/** In another order as UTF-16 than as UTF-8. */
const manyPrefixes = ['1/', '\uFFFD', '😀'];
const names = ['one', 'two', 'three'];

/** All pages of a count, at the moment of the caller or one of its own. */
export function countAll(store: RecordStore, scope: Scope, asked: Asked): Promise<number> {
  return store.snapshot(scope, async (moment) => {
    let counted = 0;
    for await (const { count } of walkPages((after) => moment.count({ ...asked, ...after }))) {
      counted += count;
      if (counted >= asked.max) break;
    }
    return counted;
  });
}

/** The number of records that all pages of a count read. */
function readsOf(store: RecordStore, scope: Scope, asked: Asked): Promise<number> {
  return store.snapshot(scope, async (moment) => {
    let all = 0;
    for await (const { reads } of walkPages((after) => moment.count({ ...asked, ...after }))) all += reads;
    return all;
  });
}

/** Every id once; some records are hidden, some have few indexes. */
function recordsIn(collection: Collection): RecordData[] {
  return groups.flatMap((group) =>
    ids.map((id, n): RecordData => {
      const indexes = Object.fromEntries(
        names.flatMap((name, at) => {
          const text = texts[(n >> (at + 1)) % (at + 2)];
          return n % 7 === at || text === undefined ? [] : [[name, text]];
        }),
      );
      const listing = { group, id, hidden: n % 11 === 4, indexes: n % 11 === 4 ? {} : indexes };
      return { key: keyOf(`${group}/${n}`, collection), head: { n }, body: '{}', listing };
    }),
  );
}

const askedArbitrary = (collection: Collection): fc.Arbitrary<Asked> =>
  fc
    .record({
      group: fc.constantFrom(...groups, '1'.repeat(32)),
      equal: fc.option(
        fc.dictionary(fc.constantFrom(...names), fc.constantFrom(...texts), { noNullPrototype: true }),
        { freq: 9 },
      ),
      idPrefix: fc.option(fc.constantFrom(...prefixes)),
      max: fc.constantFrom(1, 4, 100),
    })
    .map(({ equal, idPrefix, ...asked }) => ({
      collection,
      ...asked,
      ...(equal === null ? {} : { equal }),
      ...(idPrefix === null ? {} : { idPrefix }),
    }));

function bruteForce(records: readonly RecordData[], { group, equal = {}, idPrefix = '' }: Asked): number {
  return records.filter(({ listing }) => {
    if (listing === null || listing === undefined || listing.hidden || listing.group !== group) return false;
    if (!listing.id.startsWith(idPrefix) || listing.id === idPrefix) return false;
    return Object.entries(equal).every(([name, value]) => listing.indexes[name] === value);
  }).length;
}

interface CountSize {
  readonly cases: number;
  readonly manyRecords: number;
}

/** The port's guarantees on counts; each is a check that a store passes or fails. */
export const countChecks: Readonly<Record<string, (store: RecordStore, size: CountSize) => Promise<void>>> = {
  'agrees with brute force': async (store, { cases }) => {
    for (const collection of [grouped, documents]) {
      const scope = randomScope();
      const records = recordsIn(collection);
      await put(store, scope, ...records);
      const property = fc.asyncProperty(askedArbitrary(collection), async (asked) => {
        const expected = bruteForce(records, asked);
        const counted = await countAll(store, scope, asked);
        if (expected < asked.max) expect(counted).toBe(expected);
        else expect(counted).toBeGreaterThanOrEqual(asked.max);
        expect(counted).toBeLessThanOrEqual(expected);
      });
      await fc.assert(property, { numRuns: cases, seed: 11 });
    }
  },

  'counts many records page by page': async (store, { manyRecords }) => {
    const scope = randomScope();
    const records = Array.from({ length: manyRecords }, (_, n): RecordData => {
      const indexes = { one: n % 7 === 0 ? 'w' : 'v', ...(n % 5 === 0 ? {} : { two: 'v' }) };
      const listing = { group: first, id: `${manyPrefixes[n % 3]}${n}`, hidden: false, indexes };
      const key = keyOf(`${n}`, grouped);
      return { key, head: {}, body: '{}', listing, due: null, parts: [] };
    });
    await store.swap(scope, streamOf(records), () => undefined);
    const asked = { collection: grouped, group: first, max: 100_000 };
    for (const equal of [{}, { one: 'v' }, { one: 'v', two: 'v' }, { two: 'v', one: 'w' }])
      for (const more of [{ equal }, ...manyPrefixes.map((idPrefix) => ({ equal, idPrefix }))])
        expect(await countAll(store, scope, { ...asked, ...more })).toBe(
          bruteForce(records, { ...asked, ...more }),
        );
    // Long counts take their place among other long reads, and end with the budget of their call.
    const compared = { ...asked, equal: { one: 'v', two: 'v' } };
    expect(10 * (await readsOf(store, scope, compared))).toBeGreaterThanOrEqual(
      bruteForce(records, compared),
    );
  },

  'counts records where they are now, as of one moment': async (store) => {
    const scope = randomScope();
    const asked = { collection: grouped, group: first, equal: { one: 'v' }, max: 10 };
    const record = (name: string, group: string, one: string, hidden = false): RecordData => ({
      key: keyOf(name, grouped),
      head: {},
      body: '{}',
      listing: { group, id: name, hidden, indexes: hidden ? {} : { one } },
    });
    expect(await countAll(store, scope, asked)).toBe(0);
    for (const name of ['a', 'b', 'c', 'd']) await put(store, scope, record(name, first, 'v'));
    expect(await countAll(store, scope, asked)).toBe(4);
    let isWritten = false;
    const seen = await store.snapshot(scope, async (moment) => {
      const before = await moment.count(asked);
      if (!isWritten) {
        isWritten = true;
        await put(
          store,
          scope,
          record('a', second, 'v'),
          record('b', first, 'w'),
          record('c', first, '', true),
        );
      }
      return [before.count, (await moment.count(asked)).count];
    });
    // A provider may begin again at a later moment, but never mix two.
    expect([
      [4, 4],
      [1, 1],
    ]).toContainEqual(seen);
    expect(await countAll(store, scope, asked)).toBe(1);
    const { key } = record('d', first, 'v');
    await transact(store, scope, [key], () => ({ writes: [{ remove: key }], result: null }));
    expect(await countAll(store, scope, asked)).toBe(0);
    await expect(
      countAll(store, scope, { ...asked, collection: { ...grouped, name: 'drafts' } }),
    ).resolves.toBe(0);
  },
};

export function describeCount(suite: StoreSuite): void {
  describe('count', () => {
    const { listCases: cases, longListRecords } = suite.scale;
    // More records than one page of any provider reads.
    const size = { cases, manyRecords: longListRecords === 0 ? 700 : 2 * longListRecords };
    test.each(Object.entries(countChecks))('%s', (_, check) => check(suite.store(), size));
  });
}
