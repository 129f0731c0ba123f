import * as fc from 'fast-check';
import { expect } from 'vitest';
import type { Moment, RecordData, RecordStore, Scope, Write } from '../../functions/store/port.ts';
import type { Among, FindRequest, Metric, NearestRequest } from '../../functions/store/search.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import {
  findIn,
  group,
  otherCollection,
  otherGroup,
  searched,
  spaceScope,
  unsearched,
  vector,
} from './store-find-fixtures.ts';
import { grouped, streamOf, write } from './store-fixtures.ts';

const names = ['a', 'b', 'c', 'd', 'e', 'f'];
const terms = ['one', 'two', 'três', '四', 'five'];
const groups = [group, otherGroup];
const collections = [grouped, otherCollection];
const slots: Readonly<Record<string, Metric>> = { '3a': 'cosine', '3b': 'dotProduct', '3c': 'euclidean' };

/** Few values, so that scores are often equal. */
const numbers = fc.constantFrom(0, 1, -1, 2, 0.5, 0.1, 1e-4, 3e4);
const triple = fc.tuple(numbers, numbers, numbers);

const put = fc.record({
  name: fc.constantFrom(...names),
  collection: fc.constantFrom(...collections),
  group: fc.constantFrom(...groups),
  search: fc.constantFrom('entry', 'entry', 'entry', 'absent', 'null'),
  terms: fc.subarray(terms),
  vectors: fc.dictionary(fc.constantFrom(...Object.keys(slots)), triple, { noNullPrototype: true }),
  partition: fc.constantFrom('p', 'q'),
  colour: fc.constantFrom('red', 'blue'),
  rank: fc.constantFrom('1', '2', '3'),
});
type Put = typeof put extends fc.Arbitrary<infer T> ? T : never;

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ puts: fc.array(put, { minLength: 1, maxLength: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ removes: fc.subarray(names, { minLength: 1, maxLength: 2 }) }) },
  { weight: 1, arbitrary: fc.record({ swap: fc.array(put, { maxLength: 4 }) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const narrowing: fc.Arbitrary<Among> = fc.oneof(
  fc.constantFrom('red', 'blue').map((colour) => ({ equal: { colour } })),
  fc.constantFrom('1', '2').map((from) => ({ range: { index: 'rank', from, to: '2' } })),
  fc.constantFrom('p', 'q').map((prefix) => ({ idPrefixes: [`${prefix}\u0001`] })),
);

const place = {
  collection: fc.constantFrom(...collections.map(({ name }) => name)),
  group: fc.constantFrom(...groups),
};
const request: fc.Arbitrary<FindRequest> = fc.oneof(
  fc.record({
    by: fc.constant('counts' as const),
    ...place,
    terms: fc.constant(terms),
    max: fc.integer({ min: 1, max: 7 }),
  }),
  fc.record({
    by: fc.constant('term' as const),
    ...place,
    term: fc.constantFrom(...terms),
    limit: fc.integer({ min: 1, max: 4 }),
  }),
  fc
    .record(
      {
        ...place,
        slot: fc.constantFrom(...Object.keys(slots)),
        values: triple,
        limit: fc.integer({ min: 1, max: 7 }),
        among: narrowing,
      },
      { requiredKeys: ['collection', 'group', 'slot', 'values', 'limit'] },
    )
    .map(({ values, ...asked }) => ({
      by: 'nearest' as const,
      ...asked,
      metric: slots[asked.slot] ?? 'cosine',
      values: Float32Array.from(values),
      readsMax: 10_000,
    })),
);

export const turns = fc.array(
  fc.record({ step, requests: fc.array(request, { minLength: 3, maxLength: 6 }) }),
  {
    minLength: 1,
    maxLength: 5,
  },
);

/** Makes the same writes in the store and in memory, and compares what is found after each. */
export async function compareWithModel(
  stores: readonly RecordStore[],
  cases: typeof turns extends fc.Arbitrary<infer T> ? T : never,
): Promise<void> {
  const model = new MemoryStore(new MemoryDatabase());
  const scope = spaceScope();
  const groupOf = new Map<string, string>();
  for (const [n, { step: made, requests }] of cases.entries()) {
    const writer = stores[n % stores.length];
    for (const each of [model, ...(writer === undefined ? [] : [writer])])
      await make(each, scope, made, groupOf);
    follow(groupOf, made);
    for (const asked of requests) {
      const expected = await answerOf(model, scope, asked, true);
      for (const reader of stores) {
        const { narrowed, ...answer } = await answerOf(reader, scope, asked, true);
        const wanted = narrowed === expected.narrowed ? expected : await answerOf(model, scope, asked, false);
        expect({ asked, ...answer }).toEqual({ asked, found: wanted.found });
      }
    }
  }
}

/** The answer that the port's rules allow, and whether the store narrowed it. */
async function answerOf(store: RecordStore, scope: Scope, asked: FindRequest, narrows: boolean) {
  const sent = narrows || asked.by !== 'nearest' ? asked : withoutAmong(asked);
  return store.snapshot(scope, async (moment: Moment) => {
    const find = findIn(moment);
    if (sent.by === 'counts') return { found: await find(sent), narrowed: false };
    if (sent.by === 'term') return { found: await find(sent), narrowed: false };
    const { matches, complete, narrowed } = await find(sent);
    return { found: { matches, complete }, narrowed };
  });
}

function withoutAmong(asked: NearestRequest): NearestRequest {
  const { among, ...rest } = asked;
  return among === undefined ? asked : rest;
}

async function make(
  store: RecordStore,
  scope: Scope,
  made: Step,
  groupOf: ReadonlyMap<string, string>,
): Promise<void> {
  if ('removes' in made) {
    const removed = made.removes.map((name) => ({ remove: unsearched(name).key }));
    return write(store, scope, removed);
  }
  if ('swap' in made) {
    const records = distinct(made.swap).map((each) => recordOf(each, new Map()));
    return store.swap(scope, streamOf(records), () => undefined);
  }
  const writes = distinct(made.puts).map((each): Write => ({ put: recordOf(each, groupOf) }));
  return write(store, scope, writes);
}

/** The group of each record: a write without an entry keeps the group of the record. */
function follow(groupOf: Map<string, string>, made: Step): void {
  if ('removes' in made) return;
  if ('swap' in made) groupOf.clear();
  for (const each of distinct('swap' in made ? made.swap : made.puts)) {
    if (each.search !== 'absent' || !groupOf.has(nameOf(each))) groupOf.set(nameOf(each), each.group);
  }
}

/** The first write of each record. */
function distinct(puts: readonly Put[]): Put[] {
  return puts.filter((each, n) => puts.findIndex((other) => nameOf(other) === nameOf(each)) === n);
}

function nameOf({ name, collection }: Put): string {
  return `${collection.name}/${name}`;
}

function recordOf(each: Put, groupOf: ReadonlyMap<string, string>): RecordData {
  const { name, collection, partition, colour, rank } = each;
  const kept = each.search === 'absent' ? groupOf.get(nameOf(each)) : undefined;
  const parts = {
    collection,
    group: kept ?? each.group,
    listingId: `${partition}\u0001${name}`,
    indexes: { colour, rank },
    lexicon: `${each.terms.join()}/${partition}`,
  };
  if (each.search === 'absent') return unsearched(name, parts);
  if (each.search === 'null') return { ...unsearched(name, parts), search: null };
  const vectors = Object.entries(each.vectors).map(([slot, values]) =>
    vector(slot, slots[slot] ?? 'cosine', ...values),
  );
  return searched(name, { ...parts, terms: each.terms, vectors });
}
