import * as fc from 'fast-check';
import { expect } from 'vitest';
import { collectionAt } from '../../functions/collections/read-policy.ts';
import type { FilterNode } from '../../functions/collections/rules/filter.ts';
import { type NaiveRecord, naiveSearch } from '../../functions/collections/search/naive-search.fixture.ts';
import { collections, requests } from '../../functions/collections/search/search.fixture.ts';
import { recordKey, spaceScope } from '../../functions/collections/store-collections.ts';
import type { JsonObject } from '../../functions/kernel/canonical-json.ts';
import { parseJson } from '../../functions/kernel/json-text.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { similarity } from '../../functions/store/similarity.ts';
import {
  allOf,
  metrics,
  NAME,
  placeOf,
  vectorPolicies,
  vectorsOf,
  writeAll,
} from './records-search-stage.ts';
import { RecordsStage } from './records-stage.ts';

const partitions = fc.option(fc.array(fc.constantFrom('p', 'q', '😀', 'none'), { maxLength: 2 }));
const isInside = (keys: readonly string[] | null, partitionKey: unknown) =>
  keys === null || keys.length === 0 || keys.includes(String(partitionKey));
const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const limits = fc.integer({ min: 1, max: 4 });

/** A filter, and the same condition as a function. */
interface Condition<Item> {
  readonly filter: FilterNode | null;
  readonly holds: (item: Item) => boolean;
}

const none: Condition<unknown> = { filter: null, holds: () => true };
const wordConditions: readonly Condition<JsonObject>[] = [
  none,
  { filter: { path: '/id', op: 'neq', value: 'ab' }, holds: ({ id }) => id !== 'ab' },
  { filter: { path: '/type', value: 'note' }, holds: ({ type }) => type === 'note' },
  {
    filter: { path: '/type', op: 'in', value: ['ab', 'absent', ''] },
    holds: ({ type = '' }) => type !== 'note',
  },
  {
    filter: { path: '/type', op: 'startsWith', value: 'a' },
    holds: ({ type }) => typeof type === 'string' && type.startsWith('a'),
  },
  { filter: { path: '/type', value: 'absent' }, holds: () => false },
  {
    filter: { path: '/content', op: 'contains', value: 'ab' },
    holds: ({ content }) => typeof content === 'string' && content.includes('ab'),
  },
  {
    filter: {
      combine: 'any',
      children: [
        { path: '/type', value: 'note' },
        { path: '/id', value: 'the' },
      ],
    },
    holds: ({ type, id }) => type === 'note' || id === 'the',
  },
];

/**
 * Whether searches for words answer the same as the second implementation, with `searches` searches in each collection.
 */
export function lexicalAgreement(store: () => RecordStore, searches: number) {
  const search = fc.tuple(requests, partitions, fc.nat(wordConditions.length * 2), limits);
  const scenario = fc.tuple(collections, fc.array(search, { minLength: searches, maxLength: searches }));
  return fc.asyncProperty(scenario, async ([given, asked]) => {
    const opened = store();
    const stage = new RecordsStage(opened);
    await stage.create({ name: NAME });
    await writeAll(
      stage,
      given.map(({ text }) => text),
    );
    const { incarnation } = await opened.snapshot(spaceScope(stage.space), (at) => collectionAt(at, NAME));
    const model = given.map((record): NaiveRecord => {
      const { partitionKey, recordId, text } = record;
      const withType = text.includes('"type":') ? text : `${text.slice(0, -1)},"type":""}`;
      return { ...record, id: recordKey(incarnation, { partitionKey, id: recordId }).id, text: withType };
    });
    const places = new Map(
      model.map(({ id, partitionKey, recordId }) => [id, placeOf({ partitionKey, id: recordId })]),
    );
    for (const [lexical, partitionKeys, at, limit] of asked) {
      // Half of the searches have no filter.
      const { filter, holds } = wordConditions[at] ?? none;
      const { matches, candidates, isLimited } = naiveSearch(
        model,
        lexical,
        ({ text }) => holds(parseJson(text) as JsonObject),
        ({ partitionKey }) => isInside(partitionKeys, partitionKey),
      );
      const answer = allOf(stage, { lexical, partitionKeys, filter, limit });
      if (isLimited && matches.length === 0) {
        await expect(answer).rejects.toMatchObject({ code: 'search_budget_exceeded' });
        continue;
      }
      const found = await answer;
      expect(found.map(({ record, score }) => [placeOf(record), Math.fround(score)])).toEqual(
        matches.map(({ id, score }) => [places.get(id), score]),
      );
      expect(
        found.map(({ diagnostics }) => [diagnostics?.['matchedFields'], diagnostics?.['matchedTerms']]),
      ).toEqual(matches.map(({ fields, terms }) => [fields, terms]));
      for (const { diagnostics } of found) {
        const counts = { searchCandidatePool: candidates.length, returnedCandidates: matches.length };
        expect(diagnostics?.['candidateCounts']).toEqual(counts);
        expect(diagnostics?.['details']).toMatchObject({ lexicalScanLimitReached: isLimited });
      }
    }
  });
}

interface Row {
  readonly n: number;
  readonly tag: string | null;
  readonly values: readonly [number, number, number] | null;
}

const numbers = fc.constantFrom(-2, -1, 0, 0, 0.5, 1, 3);
const vectors = fc.tuple(numbers, numbers, numbers);
const rows = fc.uniqueArray(
  fc.record({
    partitionKey: fc.constantFrom('p', 'q', '😀'),
    id: fc.constantFrom('a', 'b', 'c', 'd', '\uE000', '😀'),
    n: fc.nat(2),
    tag: fc.option(fc.constantFrom('x', 'xy', 'y')),
    values: fc.option(vectors),
  }),
  { minLength: 1, maxLength: 14, selector: ({ partitionKey, id }) => `${partitionKey}/${id}` },
);

/** `n` and `metadata.tag` have an index, `plain` is `n` without one. */
const rowConditions: readonly Condition<Row>[] = [
  none,
  { filter: { path: '/n', value: 1 }, holds: ({ n }) => n === 1 },
  { filter: { path: '/n', op: 'in', value: [0, 2, 'two'] }, holds: ({ n }) => n !== 1 },
  { filter: { path: '/n', op: 'in', value: [] }, holds: () => false },
  { filter: { path: '/n', op: 'gt', value: 0 }, holds: ({ n }) => n > 0 },
  { filter: { path: '/n', op: 'lte', value: 1 }, holds: ({ n }) => n <= 1 },
  {
    filter: { path: '/metadata/tag', op: 'startsWith', value: 'x' },
    holds: ({ tag }) => tag?.startsWith('x') === true,
  },
  { filter: { path: '/metadata/tag', value: 'absent' }, holds: () => false },
  { filter: { path: '/metadata/tag', value: null }, holds: ({ tag }) => tag === null },
  { filter: { path: '/plain', value: 1 }, holds: ({ n }) => n === 1 },
  { filter: { path: '/metadata/tag', op: 'neq', value: 'x' }, holds: ({ tag }) => tag !== 'x' },
  {
    filter: { path: '/text', op: 'contains', value: 'x1' },
    holds: ({ n, tag }) => `${tag}${n}`.includes('x1'),
  },
  {
    filter: {
      combine: 'all',
      children: [
        { path: '/n', op: 'gte', value: 1 },
        { path: '/metadata/tag', value: 'x' },
        { path: '/n', op: 'lt', value: 2 },
      ],
    },
    holds: ({ n, tag }) => n === 1 && tag === 'x',
  },
  {
    filter: {
      combine: 'all',
      children: [
        { path: '/n', value: 1 },
        { path: '/n', op: 'gt', value: 1 },
      ],
    },
    holds: () => false,
  },
  {
    filter: {
      combine: 'any',
      children: [
        { path: '/n', value: 0 },
        { path: '/metadata/tag', value: 'y' },
      ],
    },
    holds: ({ n, tag }) => n === 0 || tag === 'y',
  },
  {
    filter: { path: '/vectors/cosine/values/0', op: 'gt', value: 0 },
    holds: ({ values }) => values !== null && values[0] > 0,
  },
];

/** Whether searches for vectors answer what scoring every record does. `searches` are made in each collection. */
export function vectorAgreement(store: () => RecordStore, searches: number) {
  const search = fc.record({
    metric: fc.constantFrom(...metrics),
    value: vectors,
    top: fc.integer({ min: 1, max: 5 }),
    minScore: fc.option(fc.constantFrom(-1, 0, 0.25, 1)),
    partitionKeys: partitions,
    condition: fc.constantFrom(...rowConditions),
    limit: limits,
  });
  const scenario = fc.tuple(rows, fc.array(search, { minLength: searches, maxLength: searches }));
  return fc.asyncProperty(scenario, async ([given, asked]) => {
    const stage = new RecordsStage(store());
    await stage.create({ name: NAME, vectorPolicies, indexedMetadata: ['/n', '/metadata/tag'] });
    const texts = given.map(({ values, tag, ...record }) => {
      const { n } = record;
      const all = values === null ? {} : { vectors: vectorsOf(values) };
      return JSON.stringify({ ...record, plain: n, text: `${tag}${n}`, metadata: { tag }, ...all });
    });
    await writeAll(stage, texts);
    for (const { metric, value, top, minScore, partitionKeys, condition, limit } of asked) {
      const { filter, holds } = condition;
      const expected = given
        .flatMap((row) => {
          const { values, partitionKey } = row;
          if (values === null || !isInside(partitionKeys, partitionKey) || !holds(row)) return [];
          const score = similarity(metric, Float32Array.from(values), Float32Array.from(value));
          return score >= (minScore ?? -Infinity) ? [{ row, score }] : [];
        })
        .sort(
          (a, b) =>
            b.score - a.score ||
            byBytes(a.row.partitionKey, b.row.partitionKey) ||
            byBytes(a.row.id, b.row.id),
        )
        .slice(0, top);
      const vector = { field: metric, value, top, minScore };
      const found = await allOf(stage, { vector, partitionKeys, filter, limit });
      expect(found.map(({ record, score }) => [placeOf(record), Math.fround(score)])).toEqual(
        expected.map(({ row: { partitionKey, id }, score }) => [placeOf({ partitionKey, id }), score]),
      );
      for (const { diagnostics } of found) {
        const counts = { searchCandidatePool: expected.length, returnedCandidates: expected.length };
        expect(diagnostics?.['candidateCounts']).toEqual(counts);
      }
    }
  });
}
