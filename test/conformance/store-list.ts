import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { listPages, recordsOf } from '../../functions/store/pages.ts';
import type {
  Collection,
  Listing,
  ListSelection,
  RecordData,
  RecordStore,
  Scope,
  Write,
} from '../../functions/store/port.ts';
import { countAll } from './store-count.ts';
import {
  compareBytes,
  grouped,
  keyOf,
  listAll,
  plain,
  put,
  randomScope,
  streamOf,
  write,
} from './store-fixtures.ts';
import type { StoreSuite } from './store-suite.ts';

type Asked = Omit<ListSelection, 'by' | 'after' | 'collection'>;

/**
 * U+E000…U+FFFF against surrogate pairs distinguishes bytes from UTF-16 units; the rest are prefixes and odd characters.
 */
const values = [
  'a',
  'aa',
  'a b',
  'b',
  'B',
  'é',
  '~',
  '\uE000',
  '\uFFFD',
  '😀',
  '😀a',
  '\u{10FFFF}',
  'x'.repeat(200),
];
const names = ['status', 'rank', '😀 "q"\\.`/', '__proto', '0'];
const groups = ['task', 'tasks', 'Note', '\uFFFD', '😀'];

export function describeList(suite: StoreSuite): void {
  describe('query by list', () => {
    const { listCases: cases, listRecords: count, longListRecords } = suite.scale;
    for (const pairedIndexes of [true, false]) {
      const title = `of ${pairedIndexes ? 'paired' : 'unpaired'} indexes`;
      const collection = { name: pairedIndexes ? 'documents' : 'runs', pairedIndexes };
      describeAgainstBruteForce(suite, title, { collection, count, cases, limits: [1, 5, 80] });
    }
    const listedByGroup = { collection: grouped, count, cases, limits: [1, 5, 80] } as const;
    describeAgainstBruteForce(suite, 'of groups that are listed one by one', listedByGroup);
    if (longListRecords > 0) {
      // Long enough that a provider's choice between its indexes, and the bounds of its walks, come into play.
      const collection = { name: 'documents', pairedIndexes: true };
      const size = {
        collection,
        count: longListRecords,
        cases: Math.ceil(cases / 4),
        limits: [60, 200, 1000],
      } as const;
      describeAgainstBruteForce(suite, 'of many records', size);
    }
    test('starts after a listing id, whether a record has it or not', async () => {
      const store = suite.store();
      const scope = randomScope();
      const collection = { name: 'runs', pairedIndexes: false };
      const ids = ['a', 'b', 'c', 'd', 'e'];
      const records = ids.map((id, n): RecordData => {
        const indexes = { status: 'open', rank: n % 2 === 0 ? 'even' : 'odd' };
        const listing = { group: 'run', id, hidden: false, indexes };
        return { key: keyOf(id, collection), head: {}, body: null, listing };
      });
      await put(store, scope, ...records);
      const idsOf = async (selection: Omit<Asked, 'limit'> & { readonly afterId: string }) => {
        const pages = listPages(store, scope, { collection, group: 'run', limit: 1, ...selection });
        const found: string[] = [];
        for await (const { listing } of recordsOf(pages)) found.push(listing?.id ?? '');
        return found;
      };
      expect(await idsOf({ afterId: 'b' })).toEqual(['c', 'd', 'e']);
      expect(await idsOf({ afterId: 'bb' })).toEqual(['c', 'd', 'e']);
      expect(await idsOf({ afterId: 'd', direction: 'descending' })).toEqual(['c', 'b', 'a']);
      const even = { equal: { rank: 'even' } };
      expect(await idsOf({ ...even, afterId: 'd', direction: 'descending' })).toEqual(['c', 'a']);
      const both = { equal: { rank: 'even', status: 'open' } };
      expect(await idsOf({ ...both, afterId: 'a' })).toEqual(['c', 'e']);
      expect(await idsOf({ ...both, afterId: 'e' })).toEqual([]);
    });
    test('shows records with body and listing, without parts', async () => {
      const store = suite.store();
      const scope = randomScope();
      const collection = { name: 'documents', pairedIndexes: true };
      const listing = { group: 'task', id: 'a', hidden: false, indexes: { status: 'open' } };
      const record = { key: keyOf('a'), head: { revision: 1 }, body: '{}', listing, due: 9 };
      await put(store, scope, { ...record, parts: [{ of: keyOf('b').id, order: '1', body: 'x' }] });
      const records = await listAll(store, scope, { collection, limit: 1 });
      expect(records.map(plain)).toEqual([plain(record)]);
    });
    test.each(Object.entries(listViewChecks))('%s', (_, check) => check(suite.store()));
    test.each(['all', 'most', 'few', 'none'] as const)('a page is full where %s match', async (share) => {
      const store = suite.store();
      const scope = randomScope();
      const every = { all: 1, most: 2, few: 25, none: 1_000 }[share];
      const collection = { name: 'runs', pairedIndexes: false };
      const records = Array.from({ length: 100 }, (_, n): RecordData => {
        const id = `${n}`.padStart(3, '0');
        // The last ones match, so that a walk from either end meets few or many at first.
        const indexes = { status: (99 - n) % every === 0 && n !== 0 ? 'open' : 'done', rank: `${n % 10}` };
        const listing = { group: 'run', id, hidden: false, indexes };
        return { key: keyOf(id, collection), head: {}, body: null, listing };
      });
      await put(store, scope, ...records);
      const open = records.filter(({ listing }) => listing?.indexes['status'] === 'open');
      const selection = {
        by: 'list',
        collection,
        group: 'run',
        equal: { status: 'open' },
        limit: 3,
      } as const;
      for (const orderBy of ['rank', undefined])
        for (const direction of ['ascending', 'descending'] as const) {
          const asked = { ...selection, direction, ...(orderBy === undefined ? {} : { orderBy }) };
          const page = await store.query(scope, asked);
          expect(page.records).toHaveLength(Math.min(3, open.length));
          expect(page.next === null).toBe(open.length <= 3);
          const rest = page.next === null ? null : await store.query(scope, { ...asked, after: page.next });
          expect(rest?.records.length ?? 0).toBe(Math.min(3, Math.max(0, open.length - 3)));
          // A provider may learn from one page how to find the next.
          for (let again = 0; again < 17; again += 1) expect(await store.query(scope, asked)).toEqual(page);
        }
    });
    test('an equality with U+0000 finds nothing', async () => {
      const store = suite.store();
      const scope = await fillViewed(store);
      for (const status of ['\0', 'open\0', '\0open']) {
        const asked = { collection: viewed, group: 'task', equal: { status }, limit: 3 };
        expect(await listAll(store, scope, asked)).toEqual([]);
        expect(await countAll(store, scope, { ...asked, max: 3 })).toBe(0);
      }
    });
    test('an empty scope has an empty list', async () => {
      const collection = { name: 'documents', pairedIndexes: true };
      const asked = { collection, equal: { status: 'open' }, orderBy: 'rank', limit: 3 };
      expect(await listAll(suite.store(), randomScope(), asked)).toEqual([]);
    });
  });
}

const viewed = { name: 'documents', pairedIndexes: true } as const;

async function fillViewed(store: RecordStore): Promise<Scope> {
  const scope = randomScope();
  const records = ['a', 'b', 'c', 'd'].map((id, n): RecordData => {
    const indexes = { status: 'open', rank: `${9 - n}` };
    const listing = { group: 'task', id, hidden: false, indexes };
    return { key: keyOf(id), head: { revision: n }, body: `{"n":${n}}`, listing, due: n };
  });
  await put(store, scope, ...records);
  return scope;
}

const viewedSelections: readonly Asked[] = [
  { limit: 3 },
  { group: 'task', limit: 1 },
  { equal: { status: 'open' }, limit: 2 },
  { orderBy: 'rank', limit: 3 },
  { equal: { status: 'open' }, range: { index: 'rank', from: '7' }, orderBy: 'rank', limit: 1 },
];

/** The port's guarantees on the views of a list; each is a check that a store passes or fails. */
export const listViewChecks: Readonly<Record<string, (store: RecordStore) => Promise<void>>> = {
  'a list of heads shows the same records, with head and due alone': async (store) => {
    const scope = await fillViewed(store);
    for (const asked of viewedSelections) {
      const bodies = await listAll(store, scope, { collection: viewed, ...asked });
      const heads = await listAll(store, scope, { collection: viewed, ...asked, view: 'head' });
      expect(heads).toEqual(bodies.map(({ key, head, due }) => ({ key, head, due })));
      expect(bodies.map(({ body }) => body)).not.toContain(undefined);
      expect(await listAll(store, scope, { collection: viewed, ...asked, view: 'body' })).toEqual(bodies);
    }
  },

  'the pages of a list may change their view': async (store) => {
    const scope = await fillViewed(store);
    const selection = { by: 'list', collection: viewed, group: 'task', limit: 2 } as const;
    const first = await store.query(scope, { ...selection, view: 'head' });
    const second = await store.query(scope, { ...selection, after: first.next ?? '' });
    expect(first.records.map(({ head }) => head['revision'])).toEqual([0, 1]);
    expect(second.records.map(({ body }) => body)).toEqual(['{"n":2}', '{"n":3}']);
  },

  'a head of a list, written back, keeps body and listing': async (store) => {
    const scope = await fillViewed(store);
    const asked = { collection: viewed, group: 'task', limit: 9 } as const;
    const before = await listAll(store, scope, asked);
    for (const record of await listAll(store, scope, { ...asked, view: 'head' }))
      await put(store, scope, record);
    expect(await listAll(store, scope, asked)).toEqual(before);
  },
};

interface Size {
  readonly collection: Collection;
  readonly count: number;
  readonly cases: number;
  /** Page sizes: the smallest, the largest of the small half, the largest. */
  readonly limits: readonly [number, number, number];
}

function describeAgainstBruteForce(suite: StoreSuite, title: string, size: Size): void {
  describe(title, () => {
    const { collection } = size;
    const scope = randomScope();
    let stored: readonly RecordData[] = [];
    beforeAll(async () => {
      stored = await fill(suite, scope, size);
    });

    test('agrees with brute force, following every page to the end', async () => {
      await fc.assert(
        fc.asyncProperty(askedArbitrary(size), async (asked) => {
          const listed = await listAll(suite.store(), scope, { collection, ...asked });
          expect(listed.map((record) => record.key.id)).toEqual(
            bruteForce(stored, asked).map((record) => record.key.id),
          );
        }),
        { numRuns: size.cases },
      );
    });
  });
}

/** Writes records, then changes a part of them in every way, so that stale entries would show. */
async function fill(suite: StoreSuite, scope: Scope, { collection, count }: Size): Promise<RecordData[]> {
  const store = suite.store();
  const sample = fc.sample(listingArbitrary, { numRuns: count * 2 });
  const listings = sample.map((listing, index) => ({ ...listing, id: `${listing.id}${index % count}` }));
  const records = new Map<number, RecordData>();
  const writes: Write[] = [];
  for (let index = 0; index < count; index += 1) {
    const key = { collection: collection.name, id: keyOf(`${index}`).id };
    records.set(index, {
      key,
      head: { index },
      body: `{"index":${index}}`,
      listing: listings[index] ?? null,
    });
  }
  if (count > 500) {
    await store.swap(scope, streamOf(records.values()), () => undefined);
  } else {
    await put(store, scope, ...records.values());
  }
  for (const [index, record] of records) {
    const listing = listings[count + index] ?? null;
    const changed = { ...record, head: { index, revision: 2 } };
    if (index % 6 === 0) records.set(index, { ...changed, listing });
    else if (index % 6 === 1) records.set(index, { ...changed, listing: hide(record.listing ?? null) });
    else if (index % 6 === 2) records.set(index, { key: record.key, head: changed.head });
    else if (index % 30 === 3) records.set(index, { ...changed, listing: null });
    else if (index % 30 === 4) records.delete(index);
    else continue;
    const after = records.get(index);
    writes.push(after === undefined ? { remove: record.key } : { put: after });
    if (index % 6 === 2) records.set(index, { ...record, head: changed.head });
  }
  await write(store, scope, writes);
  return [...records.values()];
}

function hide(listing: Listing | null): Listing | null {
  return listing === null ? null : { ...listing, hidden: true, indexes: {} };
}

/** One value is common, so that an equality on it finds much. */
const valueArbitrary = fc.oneof(fc.constant('a'), fc.constantFrom(...values));
const nameArbitrary = fc.constantFrom(...names);

const listingArbitrary: fc.Arbitrary<Listing> = fc.record({
  group: fc.constantFrom(...groups),
  id: fc.constantFrom('a', 'b', '\uE000', '😀', 'a/b', 'x'.repeat(100)),
  hidden: fc.constant(false),
  indexes: fc.dictionary(nameArbitrary, valueArbitrary, { maxKeys: 5, noNullPrototype: true }),
});

const rangeArbitrary = fc
  .record({ index: nameArbitrary, from: fc.option(valueArbitrary), to: fc.option(valueArbitrary) })
  .filter(({ from, to }) => from !== null || to !== null)
  .map(({ index, from, to }) => ({
    index,
    ...(from === null ? {} : { from }),
    ...(to === null ? {} : { to }),
  }));

const groupArbitrary = fc.constantFrom(...groups, 'nowhere');

const askedArbitrary = ({ collection, limits: [least, middle, most] }: Size): fc.Arbitrary<Asked> =>
  fc
    .record({
      group: collection.listedByGroup ? groupArbitrary : fc.option(groupArbitrary),
      equal: fc.option(fc.dictionary(nameArbitrary, valueArbitrary, { maxKeys: 3, noNullPrototype: true })),
      range: fc.option(rangeArbitrary),
      orderBy: fc.option(nameArbitrary),
      direction: fc.option(fc.constantFrom('ascending' as const, 'descending' as const)),
      includeHidden: fc.option(fc.boolean()),
      limit: fc.oneof(fc.integer({ min: least, max: middle }), fc.integer({ min: middle, max: most })),
    })
    .map(({ group, equal, range, orderBy, direction, includeHidden, limit }) => ({
      ...(group === null ? {} : { group }),
      ...(equal === null ? {} : { equal }),
      ...(range === null ? {} : { range }),
      ...(orderBy === null ? {} : { orderBy }),
      ...(direction === null ? {} : { direction }),
      ...(includeHidden === null ? {} : { includeHidden }),
      limit,
    }));

function bruteForce(records: readonly RecordData[], asked: Asked): RecordData[] {
  const sign = asked.direction === 'descending' ? -1 : 1;
  return records
    .filter((record) => matches(record.listing ?? null, asked))
    .sort((left, right) => sign * compare(left.listing!, right.listing!, asked.orderBy));
}

function matches(listing: Listing | null, asked: Asked): boolean {
  if (listing === null || (listing.hidden && asked.includeHidden !== true)) return false;
  if (asked.group !== undefined && listing.group !== asked.group) return false;
  for (const [name, value] of Object.entries(asked.equal ?? {})) {
    if (listing.indexes[name] !== value) return false;
  }
  if (asked.orderBy !== undefined && listing.indexes[asked.orderBy] === undefined) return false;
  if (asked.range === undefined) return true;
  const value = listing.indexes[asked.range.index];
  if (value === undefined) return false;
  const { from, to } = asked.range;
  return (
    (from === undefined || compareBytes(value, from) >= 0) &&
    (to === undefined || compareBytes(value, to) <= 0)
  );
}

function compare(left: Listing, right: Listing, orderBy: string | undefined): number {
  const byValue =
    orderBy === undefined ? 0 : compareBytes(left.indexes[orderBy] ?? '', right.indexes[orderBy] ?? '');
  return byValue || compareBytes(left.group, right.group) || compareBytes(left.id, right.id);
}
