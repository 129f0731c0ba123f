import { setImmediate as nextTurn } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { QueryRequest } from '../../functions/collections/page-request.ts';
import { queryRecords } from '../../functions/collections/query-records.ts';
import { filters, matches } from '../../functions/collections/rules/filter.fixture.ts';
import { type FilterNode, readFilter } from '../../functions/collections/rules/filter.ts';
import { readPartitionKeys } from '../../functions/collections/rules/judge.ts';
import { compareSortKeys, readOrder, sortKey } from '../../functions/collections/rules/order.ts';
import { indexedPaths, paths, records } from '../../functions/collections/rules/record.fixture.ts';
import type { RecordValue } from '../../functions/collections/rules/record-key.ts';
import { writeChunk } from '../../functions/collections/write-chunk.ts';
import { deleteRecord } from '../../functions/collections/write-records.ts';
import type { JsonObject } from '../../functions/kernel/canonical-json.ts';
import { parseJson } from '../../functions/kernel/json-text.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { type RecordsConformance, RecordsStage } from './records-stage.ts';

const INDEXED = 'indexed';
const PLAIN = 'plain';

/** Few values, so that several records share one and the order within an index matters. */
const fewValues = fc.constantFrom(
  'a',
  'ab',
  '😀',
  1,
  2,
  -3.5,
  null,
  true,
  'x'.repeat(701),
  `${'x'.repeat(701)}y`,
);
const stored = fc
  .tuple(records, fewValues, fewValues)
  .map(([record, a, b]) => ({ ...record, metadata: { ...(record['metadata'] as JsonObject), a, b } }));

/** A condition that an index can answer alone. */
const driven: fc.Arbitrary<FilterNode> = fc.oneof(
  fc.record({ path: fc.constant('/metadata/a'), value: fewValues }),
  fc.record({
    path: fc.constant('/metadata/a'),
    op: fc.constant('in'),
    value: fc.array(fewValues, { maxLength: 4 }),
  }),
  fc.record({
    path: fc.constant('/metadata/b'),
    op: fc.constantFrom('gt', 'gte', 'lt', 'lte'),
    value: fc.constantFrom(-4, 0, 1, 2),
  }),
  fc.record({
    path: fc.constant('/metadata/b'),
    op: fc.constant('startsWith'),
    value: fc.constantFrom('', 'a', 'xx'),
  }),
);

const requests: fc.Arbitrary<QueryRequest> = fc.record(
  {
    partitionKeys: fc.array(fc.constantFrom('p', 'q', 'p/q', '😀', 'p'.repeat(400), 'none'), {
      maxLength: 3,
    }),
    filter: fc.oneof(filters, driven),
    orderBy: fc.array(fc.record({ path: paths, direction: fc.constantFrom('asc', 'desc') }), {
      maxLength: 2,
    }),
    limit: fc.integer({ min: 1, max: 4 }),
  },
  { requiredKeys: [] },
);

/** More than any test stores. A store whose pages do not advance would repeat the same records without an end. */
const FOUND_MAX = 1_000;

/** All pages of a query, one after the other. */
export async function allOf(
  { parts, space }: RecordsStage,
  name: string,
  request: QueryRequest,
): Promise<string[]> {
  const found: string[] = [];
  let { continuationToken = null } = request;
  for (;;) {
    const page = await queryRecords(parts, space, name, { ...request, continuationToken });
    found.push(...page.records);
    expect(found.length).toBeLessThanOrEqual(FOUND_MAX);
    if (request.limit !== undefined)
      expect(page.records.length).toBeLessThanOrEqual(request.limit ?? Infinity);
    if (page.continuationToken === null) return found;
    expect(page.records.length).toBeGreaterThan(0);
    continuationToken = page.continuationToken;
  }
}

const placeOf = ({ partitionKey, id }: RecordValue) => JSON.stringify([partitionKey, id]);

/** The answer of a list of all records, by brute force. */
function expected(all: Iterable<RecordValue>, request: QueryRequest): string[] {
  const order = readOrder(request.orderBy);
  const condition = {
    partitionKeys: readPartitionKeys(request.partitionKeys),
    filter: readFilter(request.filter, indexedPaths),
  };
  return [...all]
    .filter((each) => matches(each, condition))
    .sort((a, b) => compareSortKeys(sortKey(a, order), sortKey(b, order), order))
    .map(placeOf);
}

/** Whether queries answer the same as a list of all records, with indexes and without, page by page. */
export function agreement(store: () => RecordStore) {
  const scenario = fc.tuple(
    fc.array(stored, { minLength: 1, maxLength: 14 }),
    fc.array(fc.nat(13), { maxLength: 3 }),
    fc.array(requests, { minLength: 3, maxLength: 8 }),
  );
  return fc.asyncProperty(scenario, async ([given, removed, asked]) => {
    const stage = new RecordsStage(store());
    await stage.create({ name: INDEXED, indexedMetadata: indexedPaths });
    await stage.create({ name: PLAIN });
    const items = given.map((record) => ({ text: JSON.stringify(record) }));
    const model = new Map<string, RecordValue>();
    for (const name of [INDEXED, PLAIN]) {
      await writeChunk(stage.parts, stage.space, { name }, items, { continueOnError: false });
    }
    const revisions = new Map<string, number>();
    for (const record of given) {
      const revision = (revisions.get(placeOf(record)) ?? 0) + 1;
      revisions.set(placeOf(record), revision);
      model.set(placeOf(record), { ...record, revision });
    }
    for (const index of removed) {
      const record = given[index];
      if (record === undefined) continue;
      model.delete(placeOf(record));
      for (const name of [INDEXED, PLAIN]) await deleteRecord(stage.parts, stage.space, name, record);
    }
    for (const request of asked) {
      const answer = expected(model.values(), request);
      for (const name of [INDEXED, PLAIN]) {
        const found = await allOf(stage, name, request);
        expect(found.map((json) => placeOf(parseJson(json) as RecordValue))).toEqual(answer);
      }
    }
  });
}

/** Queries against a list in memory, with and without indexes. */
export function describeRecordQueries({ store, runs }: RecordsConformance): void {
  describe('a query', () => {
    test('answers the same as a list of all records, with indexes and without, page by page', async () => {
      await fc.assert(agreement(store), { numRuns: runs });
    });

    test('continues where its page ended, in another process too, and is cut by bytes with a token', async () => {
      const stage = new RecordsStage(store(), { answerBytesMax: 700, pageRecordsMax: 7 });
      const other = new RecordsStage(store(), { answerBytesMax: 700, pageRecordsMax: 7 }, stage.space);
      await stage.create({ name: 'notes' });
      const items = Array.from({ length: 25 }, (_, index) => ({
        text: JSON.stringify({ id: String(index).padStart(2, '0'), partitionKey: 'p', n: index % 5 }),
      }));
      await writeChunk(stage.parts, stage.space, { name: 'notes' }, items, { continueOnError: false });
      const query = (from: RecordsStage, request: QueryRequest) =>
        queryRecords(from.parts, from.space, 'notes', request);
      const first = await query(stage, {});
      expect(first.records.length).toBeLessThan(7);
      expect(Buffer.byteLength(first.records.join(','))).toBeLessThanOrEqual(700);
      const { continuationToken } = first;
      expect(continuationToken).toBe(Buffer.from(String(first.records.length)).toString('base64'));
      expect(await query(other, { continuationToken })).toEqual(await query(stage, { continuationToken }));
      expect(await allOf(other, 'notes', {})).toHaveLength(25);
      expect((await allOf(stage, 'notes', { orderBy: [{ path: '/n', direction: 'desc' }] })).length).toBe(25);
      expect(
        (await query(stage, { limit: 2, continuationToken: Buffer.from('25').toString('base64') })).records,
      ).toEqual([]);
    });

    test('that would read too much is refused with the path to index', async () => {
      const stage = new RecordsStage(store(), { readsPerCallMax: 10, pageRecordsMax: 5 });
      await stage.create({ name: 'notes', indexedMetadata: ['/metadata/indexed'] });
      const items = Array.from({ length: 14 }, (_, n) => ({
        text: JSON.stringify({ id: `${n}`, partitionKey: 'p', metadata: { n, indexed: n } }),
      }));
      await writeChunk(stage.parts, stage.space, { name: 'notes' }, items, { continueOnError: false });
      const query = (request: QueryRequest) => queryRecords(stage.parts, stage.space, 'notes', request);
      await expect(query({ filter: { path: '/metadata/n', value: 13 } })).rejects.toMatchObject({
        code: 'query_budget_exceeded',
        message: expect.stringContaining('/metadata/n '),
      });
      const found = await query({ filter: { path: '/metadata/indexed', op: 'gte', value: 10 } });
      expect(found.records).toHaveLength(4);
      await expect(query({ orderBy: [{ path: '/metadata/n' }], limit: 1 })).rejects.toMatchObject({
        code: 'query_budget_exceeded',
      });
    });

    test('without a limit reads no more than its budget, and answers in pages', async () => {
      const stage = new RecordsStage(store(), { readsPerCallMax: 10, pageRecordsMax: 1_000 });
      await stage.create({ name: 'notes' });
      const items = Array.from({ length: 14 }, (_, n) => ({
        text: JSON.stringify({ id: `${n}`, partitionKey: 'p' }),
      }));
      await writeChunk(stage.parts, stage.space, { name: 'notes' }, items, { continueOnError: false });
      const first = await queryRecords(stage.parts, stage.space, 'notes', {});
      expect(first.records).toHaveLength(9);
      const { continuationToken } = first;
      const last = await queryRecords(stage.parts, stage.space, 'notes', { continuationToken });
      expect([last.records.length, last.continuationToken]).toEqual([5, null]);
    });

    test('sees all of a chunk or nothing of it', async () => {
      const stage = new RecordsStage(store());
      await stage.create({ name: 'notes' });
      const items = (n: number) =>
        ['1', '2', '3'].map((id) => ({ text: JSON.stringify({ id, partitionKey: id, n }) }));
      const write = (n: number) =>
        writeChunk(stage.parts, stage.space, { name: 'notes' }, items(n), { continueOnError: false });
      await write(0);
      const progress = { isOver: false };
      const writer = (async () => {
        for (let n = 1; n <= 8; n += 1) await write(n);
        progress.isOver = true;
      })();
      let reads = 0;
      // Three lists in one call: of one moment they agree.
      const request = { partitionKeys: ['1', '2', '3'] };
      while (!progress.isOver || reads === 0) {
        const { records: found } = await queryRecords(stage.parts, stage.space, 'notes', request);
        const numbers = found.map((json) => (parseJson(json) as { readonly n: number }).n);
        expect(new Set(numbers).size).toBe(1);
        expect(numbers).toHaveLength(3);
        reads += 1;
        // A writer needs turns of the event loop, which the reads of one process may not give it.
        await nextTurn();
      }
      await writer;
    });
  });
}
