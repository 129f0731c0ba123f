import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import type { RecordData, RecordStore, Scope } from '../../functions/store/port.ts';
import type {
  FindPage,
  FindRequest,
  FoundEntries,
  FoundNearest,
  Metric,
  NearestMatch,
  SearchEntry,
} from '../../functions/store/search.ts';
import { similarity } from '../../functions/store/similarity.ts';
import { firestoreMissing, firestoreProject } from '../support/firestore.ts';
import { countBill } from './bill-counter.ts';
import { documents, keyOf, openTestStore, recordNamed, streamOf, write } from './fixtures.ts';
import { grpcError, wrapRpcs } from './rpc-counter.ts';

const group = 'a'.repeat(32);
const slots: Readonly<Record<Metric, string>> = { cosine: '64a', dotProduct: '64b', euclidean: '64c' };
const metrics = Object.keys(slots) as Metric[];

function entryOf(changes: Partial<SearchEntry>): SearchEntry {
  return { group, terms: [], orderKey: 'p', lexicon: '', vectors: [], ...changes };
}

function searched(name: string, search: SearchEntry | null, changes: Partial<RecordData> = {}): RecordData {
  const listing = { group, id: name, hidden: false, indexes: {} };
  return recordNamed(name, { body: '{}', listing, search, ...changes });
}

/** Numbers that a test can repeat, between -1 and 1. */
function vectorsFrom(seed: number): () => Float32Array {
  let state = seed;
  const next = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 31 - 1;
  };
  return () => Float32Array.from({ length: 64 }, next);
}

function nearestRecords(count: number, valuesOf: (index: number) => Float32Array): RecordData[] {
  return Array.from({ length: count }, (_, index) => {
    const vectors = metrics.map((metric) => ({ slot: slots[metric], metric, values: valuesOf(index) }));
    return searched(`r${String(index).padStart(4, '0')}`, entryOf({ vectors }));
  });
}

function ranked(records: readonly RecordData[], metric: Metric, asked: Float32Array, limit: number) {
  return records
    .flatMap(({ key, listing, search }) =>
      (search?.vectors ?? [])
        .filter(({ slot }) => slot === slots[metric])
        .map(({ values }) => ({
          id: key.id,
          listed: listing?.id ?? '',
          score: similarity(metric, asked, values),
        })),
    )
    .toSorted((left, right) => right.score - left.score || (left.listed < right.listed ? -1 : 1))
    .slice(0, limit)
    .map(({ id, score }): NearestMatch => ({ id, score }));
}

async function writeAll(store: RecordStore, scope: Scope, records: readonly RecordData[]): Promise<void> {
  for (let from = 0; from < records.length; from += 50)
    await write(store, scope, ...records.slice(from, from + 50));
}

function find<R extends FindPage>(store: RecordStore, scope: Scope, request: FindRequest): Promise<R> {
  return store.snapshot(scope, async (moment) => {
    return (await (moment.find as (each: FindRequest) => Promise<FindPage>)(request)) as R;
  });
}

const place = { collection: documents.name, group };

describe.skipIf(firestoreMissing !== undefined)(`finds in Firestore ${firestoreMissing ?? ''}`, () => {
  const project = firestoreProject();
  const { store, client } = openTestStore({}, project);
  const bill = countBill(client);
  const newScope = (): Scope => ({ kind: 'spaces', name: randomBytes(8).toString('hex') });
  afterAll(() => store.close());

  const nearest = (
    scope: Scope,
    metric: Metric,
    values: Float32Array,
    { limit = 10, readsMax = 5_000, from = store } = {},
  ): Promise<FoundNearest> =>
    find(from, scope, { by: 'nearest', ...place, slot: slots[metric], metric, values, limit, readsMax });

  const byTerm = (scope: Scope, term: string, limit = 10): Promise<FoundEntries> =>
    find(store, scope, { by: 'term', ...place, term, limit });

  test('the nearest through the index are those of brute force, by each metric', async () => {
    const scope = newScope();
    const next = vectorsFrom(7);
    const records = nearestRecords(200, (index) => (index % 40 === 0 ? new Float32Array(64) : next()));
    await writeAll(store, scope, records);
    for (const metric of metrics) {
      for (const limit of [1, 10, 150, 300]) {
        const asked = next();
        const found = await nearest(scope, metric, asked, { limit });
        expect(found).toMatchObject({ complete: true, narrowed: false });
        expect(found.matches).toEqual(ranked(records, metric, asked, limit));
      }
    }
  });

  test('equal scores: twice as many are fetched until none of them is left out', async () => {
    const scope = newScope();
    const records = nearestRecords(120, () => new Float32Array(64).fill(0.5));
    await writeAll(store, scope, records.toReversed());
    for (const metric of metrics) {
      const asked = vectorsFrom(1)();
      const found = await nearest(scope, metric, asked, { limit: 5 });
      expect(found).toMatchObject({ complete: true, matches: ranked(records, metric, asked, 5) });
      const tooFew = await nearest(scope, metric, asked, { limit: 5, readsMax: 100 });
      expect(tooFew).toMatchObject({ complete: false });
      expect(tooFew.reads).toBeLessThanOrEqual(100);
    }
  });

  test('a search by vector reads the limit and a few, and two calls with the records found', async () => {
    const scope = newScope();
    const next = vectorsFrom(3);
    await writeAll(store, scope, nearestRecords(300, next));
    const moment = async (metric: Metric): Promise<void> => {
      await store.snapshot(scope, async (at) => {
        await at.query({ by: 'keys', keys: [{ key: keyOf('policy') }] });
        bill.take();
        const request = { by: 'nearest', ...place, slot: slots[metric], metric, values: next() } as const;
        const found = await at.find?.({ ...request, limit: 10, readsMax: 5_000 });
        const keys = (found?.matches ?? []).map(({ id }) => ({
          key: { collection: documents.name, id },
          view: 'body' as const,
        }));
        expect(keys).toHaveLength(10);
        const { records } = await at.query({ by: 'keys', keys });
        expect(records).toHaveLength(10);
      });
    };
    await moment('cosine');
    expect(bill.take()).toEqual({ calls: 2, reads: 26 + 10, writes: 0, deletes: 0 });
    // The longest vector is read beside the search, so this costs no time.
    await moment('dotProduct');
    expect(bill.take()).toEqual({ calls: 3, reads: 26 + 1 + 10, writes: 0, deletes: 0 });
  });

  test('a search by term reads its candidates, and a count is one read; writes stay one for each record', async () => {
    const scope = newScope();
    const records = Array.from({ length: 100 }, (_, index) => {
      const terms = Array.from({ length: 50 }, (_none, n) => `t${n < 25 ? n : index * 100 + n}`);
      return searched(`r${index}`, entryOf({ terms, orderKey: `r${index}`, lexicon: `lexicon ${index}` }));
    });
    bill.take();
    await write(store, scope, ...records);
    expect(bill.take()).toEqual({ calls: 2, reads: 101, writes: 100, deletes: 0 });
    await write(store, scope, ...records.slice(0, 2));
    expect(bill.take()).toEqual({ calls: 2, reads: 3, writes: 2, deletes: 0 });
    await store.snapshot(scope, async (at) => {
      await at.query({ by: 'keys', keys: [{ key: keyOf('policy') }] });
      bill.take();
      const terms = ['t1', 't9', 't526'];
      expect(await at.find?.({ by: 'counts', ...place, terms, max: 1_000 })).toEqual({
        counts: [100, 100, 1],
      });
      expect(bill.take()).toEqual({ calls: 3, reads: 3, writes: 0, deletes: 0 });
      const whole = await at.find?.({ by: 'term', ...place, term: 't1', limit: 100 });
      expect(whole).toMatchObject({ next: null, entries: { length: 100 } });
      expect(bill.take()).toEqual({ calls: 1, reads: 100, writes: 0, deletes: 0 });
      const page = await at.find?.({ by: 'term', ...place, term: 't1', limit: 30 });
      expect(page?.next).toBe(page?.entries.at(-1)?.orderKey);
      expect(bill.take()).toEqual({ calls: 1, reads: 31, writes: 0, deletes: 0 });
    });
  });

  test('where Firestore lacks the index, or ranks otherwise than proven, all vectors are read', async () => {
    const scope = newScope();
    const next = vectorsFrom(11);
    const records = nearestRecords(60, next);
    await writeAll(store, scope, records);
    const asked = next();
    const expected = ranked(records, 'cosine', asked, 10);
    const lacking = openTestStore({}, project);
    const isVector = (request: unknown): boolean => JSON.stringify(request).includes('findNearest');
    wrapRpcs(lacking.client, (_method, send, request) =>
      isVector(request) ? Promise.reject(grpcError(9, 'The query requires an index.')) : send(),
    );
    const found = await nearest(scope, 'cosine', asked, { from: lacking.store });
    expect(found).toEqual({ matches: expected, complete: true, narrowed: false, reads: 60 });
    const tooMany = await nearest(scope, 'cosine', asked, { from: lacking.store, readsMax: 59 });
    expect(tooMany).toMatchObject({ matches: [], complete: false });
    await lacking.store.close();

    const strange = openTestStore({}, project);
    wrapRpcs(strange.client, (_method, send, request) => {
      const query = (
        request as { structuredQuery?: { findNearest?: { distanceMeasure: string } } } | undefined
      )?.structuredQuery?.findNearest;
      if (query !== undefined) query.distanceMeasure = 'EUCLIDEAN';
      return send();
    });
    const other = await nearest(scope, 'cosine', asked, { from: strange.store });
    expect(other).toEqual({ matches: expected, complete: true, narrowed: false, reads: 26 + 60 });
    await strange.store.close();
  });

  test('vectors too long or too short for the sums of Firestore are compared here', async () => {
    const scope = newScope();
    const next = vectorsFrom(5);
    const records = nearestRecords(50, (index) => next().map((value) => value * (index < 5 ? 1e30 : 1e-30)));
    await writeAll(store, scope, records);
    for (const metric of metrics) {
      const asked = next();
      const found = await nearest(scope, metric, asked);
      expect(found).toMatchObject({ complete: true, matches: ranked(records, metric, asked, 10) });
    }
  });

  test('a record that fills its document has its entry in one beside it, which is removed with it', async () => {
    const scope = newScope();
    const body = JSON.stringify(randomBytes(674_000).toString('base64'));
    const terms = Array.from({ length: 4_000 }, (_, n) => `${'語'.repeat(36)}${n}`);
    const vectors = [{ slot: slots.cosine, metric: 'cosine', values: vectorsFrom(2)() } as const];
    const large = searched('large', entryOf({ terms, lexicon: 'l'.repeat(60_000), vectors }), { body });
    const small = searched('small', entryOf({ terms: terms.slice(0, 1), vectors }));
    const asked = vectors[0]?.values ?? new Float32Array(64);
    const names = async (): Promise<string[]> => {
      const scanned: string[] = [];
      for await (const page of store.scan(scope, { collections: [documents.name], pageSize: 10 }))
        scanned.push(...page.records.map(({ body: text }) => String(text?.length)));
      const lengths = String([body.length, 2].filter((each) => scanned.includes(String(each))));
      const { entries } = await byTerm(scope, terms[0] ?? '', 1);
      const next = await byTerm(scope, terms[0] ?? '');
      const { matches } = await nearest(scope, 'cosine', asked);
      return [
        lengths,
        entries.map(({ lexicon }) => lexicon.length).join(),
        next.entries.map(({ id }) => id).join(),
        matches.map(({ id }) => id).join(),
      ];
    };
    const ids = [large.key.id, small.key.id];
    const sorted = ids.toSorted().join();
    const first = ids.toSorted()[0] === large.key.id ? '60000' : '0';
    const both = [`${body.length},2`, first, sorted, ids.join()];
    const documentIds = async (): Promise<string[]> => {
      const generation = await store.snapshot(scope, (moment) => moment.generation());
      const path = `spaces/d-${scope.name}/generations/${generation}/${documents.name}`;
      return (await client.collection(path).get()).docs.map(({ id }) => id);
    };
    await write(store, scope, large, small);
    expect(await names()).toEqual(both);
    expect(await documentIds()).toContain(`${large.key.id}~1`);
    // The entry moves between the two documents as there is room.
    await write(store, scope, { ...large, body: '{}' });
    expect((await names()).slice(1)).toEqual(both.slice(1));
    expect(await documentIds()).toHaveLength(2);
    await write(store, scope, large);
    expect(await names()).toEqual(both);
    const { body: _kept, ...onlyEntry } = large;
    await write(store, scope, { ...onlyEntry, listing: { group, id: 'z', hidden: false, indexes: {} } });
    expect(await names()).toEqual([...both.slice(0, 3), ids.toReversed().join()]);
    await store.swap(scope, streamOf([small, large]), () => undefined);
    expect(await names()).toEqual(both);
    await write(store, scope, { ...large, search: null });
    expect((await names()).slice(2)).toEqual([small.key.id, small.key.id]);
    await write(store, scope, large);
    await store.transact(scope, { keys: [{ key: large.key }] }, () => ({
      writes: [{ remove: large.key }],
      result: null,
    }));
    expect((await names()).slice(2)).toEqual([small.key.id, small.key.id]);
    expect(await documentIds()).toEqual([small.key.id]);
  });

  test('a record without an entry has no field of searches, and one that loses it keeps none', async () => {
    const scope = newScope();
    const vectors = [{ slot: slots.cosine, metric: 'cosine', values: vectorsFrom(2)() } as const];
    const plain = recordNamed('plain', { body: '{}' });
    await write(store, scope, plain, searched('once', entryOf({ terms: ['one'], vectors })));
    await write(store, scope, searched('once', null), { ...plain, search: null });
    const docs = await client.collection(`spaces/d-${scope.name}/generations/0/${documents.name}`).get();
    for (const document of docs.docs) {
      const fields = Object.keys(document.data());
      expect(fields.filter((name) => /^(search|terms|lexicon|vectors|slots|v\d)/.test(name))).toEqual([]);
    }
    expect(docs.size).toBe(2);
  });
});
