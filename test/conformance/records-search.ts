import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { searchRecords } from '../../functions/collections/search-records.ts';
import type { SearchRequest } from '../../functions/collections/search-request.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { describeSearchBounds } from './records-search-bounds.ts';
import { lexicalAgreement, vectorAgreement } from './records-search-cases.ts';
import { describeSearchMoments } from './records-search-moments.ts';
import { describeSearchOrder } from './records-search-order.ts';
import { describeSearchScenario } from './records-search-scenario.ts';
import { allOf, NAME, vectorPolicies, vectorsOf, writeAll } from './records-search-stage.ts';
import { type RecordsConformance, RecordsStage, recordCollections } from './records-stage.ts';
import { openStore, type TestedStore } from './stores/tested-store.ts';

/** Searches of one collection of random cases. */
const SEARCHES = 8;

function describeSearches({ store, runs }: RecordsConformance): void {
  describe('a search', () => {
    test('for words answers the same as the second implementation', async () => {
      await fc.assert(lexicalAgreement(store, SEARCHES), { numRuns: runs });
    });

    test('for vectors answers the same as scoring every record', async () => {
      await fc.assert(vectorAgreement(store, SEARCHES), { numRuns: runs });
    });

    test('finds a required phrase in every leaf except vectors, and not across two leaves', async () => {
      const stage = new RecordsStage(store());
      await stage.create({ name: NAME, vectorPolicies });
      const record = {
        id: 'key one',
        partitionKey: 'shelf nine',
        content: 'word',
        extra: { deep: ['left end', 'right start', 7, true] },
        vectors: vectorsOf([1, 2, 3]),
      };
      await writeAll(stage, [JSON.stringify(record)]);
      const finds = async (...phrases: readonly string[]) => {
        const requiredPhraseGroups = phrases.map((phrase) => [phrase]);
        const lexical = { query: 'word', fields: ['/content'], requiredPhraseGroups };
        return (await allOf(stage, { lexical })).length;
      };
      const held = ['key one', 'shelf nine', 'word', 'left end', 'Right, start', '7', 'true'];
      for (const phrase of held) expect([phrase, await finds(phrase)]).toEqual([phrase, 1]);
      expect(await finds(...held)).toBe(1);
      for (const phrase of ['end right', 'left end right start', 'start 7', 'euclidean', 'rev'])
        expect([phrase, await finds(phrase)]).toEqual([phrase, 0]);
      expect(await finds('left end', 'end right')).toBe(0);
    });

    test('for neither answers the page of the query with score 1', async () => {
      const stage = new RecordsStage(store());
      await stage.create({ name: NAME });
      for (const id of ['b', 'a', 'c']) await stage.put(NAME, { id, partitionKey: 'p' });
      const orderBy = [{ path: '/id', direction: 'desc' }];
      const found = await allOf(stage, { vector: null, lexical: null, orderBy, limit: 2 });
      expect(found.map(({ record, score, diagnostics }) => [record['id'], score, diagnostics])).toEqual([
        ['c', 1, null],
        ['b', 1, null],
        ['a', 1, null],
      ]);
    });

    test('is refused for words and vectors together, and with an order of its own', async () => {
      const stage = new RecordsStage(store());
      await stage.create({ name: NAME });
      const search = (request: SearchRequest) => searchRecords(stage.parts, stage.space, NAME, request);
      const lexical = { query: 'word' };
      const both = search({ lexical, vector: { field: 'v', value: [1] } });
      await expect(both).rejects.toMatchObject({ code: 'validation_failed' });
      const ordered = search({ lexical, orderBy: [{ path: '/id' }] });
      await expect(ordered).rejects.toMatchObject({ code: 'validation_failed' });
    });

    test('for ten thousand different words is refused', async () => {
      const stage = new RecordsStage(store());
      await stage.create({ name: NAME });
      const query = Array.from({ length: 10_000 }, (_, n) => `word${n}`).join(' ');
      const search = searchRecords(stage.parts, stage.space, NAME, { lexical: { query } });
      await expect(search).rejects.toMatchObject({ code: 'limit_exceeded' });
    });

    test('that would read too much is refused, and the refusal names the remedy', async () => {
      const stage = new RecordsStage(store(), { readsPerCallMax: 10, pageRecordsMax: 5 });
      await stage.create({ name: NAME });
      const items = Array.from({ length: 14 }, (_, n) =>
        JSON.stringify({ id: `${n}`, partitionKey: 'p', content: 'word' }),
      );
      await writeAll(stage, items);
      const search = searchRecords(stage.parts, stage.space, NAME, { lexical: { query: 'word' } });
      await expect(search).rejects.toMatchObject({
        code: 'search_budget_exceeded',
        message: expect.stringMatching(/more than 10 records.*matchMode all/),
      });
    });

    test('counts the bytes that it holds', async () => {
      const stage = new RecordsStage(store());
      await stage.create({ name: NAME });
      await writeAll(stage, [JSON.stringify({ id: 'a', partitionKey: 'p', content: 'word '.repeat(1_000) })]);
      const held: number[] = [];
      const call = { grow: (bytes: number) => void held.push(bytes) };
      await searchRecords(stage.parts, stage.space, NAME, { lexical: { query: 'word' } }, call);
      expect(held.reduce((sum, bytes) => sum + bytes, 0)).toBeGreaterThan(5_000);
    });
  });
}

/** Searches of records against any provider. Each test owns a space. */
export function describeRecordSearches(tested: TestedStore, effort: Omit<RecordsConformance, 'store'>): void {
  describe(`searches of records on ${tested.title}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await openStore(tested, recordCollections);
    });
    afterAll(async () => {
      await store.close();
    });
    const conformance: RecordsConformance = { store: () => store, ...effort };
    describeSearches(conformance);
    describeSearchBounds(conformance);
    describeSearchOrder(conformance);
    describeSearchScenario(conformance);
    describeSearchMoments(conformance);
  });
}
