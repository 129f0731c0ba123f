import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RecordSearchResult } from '../../../contracts/generated/models.ts';
import { type Answered, RecordSpace } from '../../../test/security/record-space.ts';
import { type RunningService, startService } from '../../../test/support/service.ts';

/** searchRecords over HTTP. Every answer is checked against its model. */

let service: RunningService;
let space: RecordSpace;
const records = [
  { id: 'a', text: 'the climate of lakes', year: 2020, values: [1, 0, 0] },
  { id: 'b', text: 'lakes, lakes and mountains', year: 2021, values: [0, 1, 0] },
  { id: 'c', text: 'mountains', year: 2022, values: [1, 1, 0] },
];
beforeAll(async () => {
  service = await startService();
  space = new RecordSpace(service.call);
  const vectorPolicies = [{ name: 'v', path: '/vectors/v/values', dimensions: 3 }];
  await space.create({ name: 'notes', vectorPolicies, indexedMetadata: ['/metadata/year'] });
  for (const { id, text, year, values } of records) {
    const record = `{"content":{"text":${JSON.stringify(text)},"n":1.50},"id":"${id}","partitionKey":"${year % 2}","metadata":{"year":${year}},"vectors":{"v":{"values":${JSON.stringify(values)}}}}`;
    const { status, text: answer } = await space.send('POST', '/collections/notes/records', record);
    expect(status, answer).toBe(201);
  }
});
afterAll(() => service.close());

const send = (body: object): Promise<Answered> => space.send('POST', '/collections/notes/search', body);

async function search(body: object): Promise<RecordSearchResult & { readonly text: string }> {
  const { status, text } = await send(body);
  expect(status, text).toBe(200);
  return { ...(JSON.parse(text) as RecordSearchResult), text };
}

const idsOf = ({ items }: RecordSearchResult) => items.map(({ record }) => record.id);

describe('searchRecords', () => {
  test('ranks by words, and says why', async () => {
    const found = await search({ lexical: { query: 'the lakes' } });
    expect(idsOf(found)).toEqual(['b', 'a']);
    expect(found.continuationToken).toBeNull();
    const [first] = found.items;
    expect(first?.diagnostics).toMatchObject({
      schemaVersion: 'svc.retrieval.diagnostics.v1',
      resultIdentity: { collection: 'notes', partitionKey: '1', id: 'b', etag: 'rev:1', revision: 1 },
      scoreNormalization: { finalScoreKind: 'lexical.score', lexicalScoreKind: 'lexical.bm25' },
      candidateSources: ['lexical'],
      candidateCounts: { searchCandidatePool: 2, returnedCandidates: 2 },
      matchedFields: ['/content/text'],
      matchedTerms: ['lakes'],
    });
    // The record comes back in the order and spelling of its members.
    expect(found.text).toContain('"content":{"text":"lakes, lakes and mountains","n":1.50},"id":"b"');
  });

  test('ranks by a vector, best first, and equal scores by partition key and id', async () => {
    const found = await search({ vector: { field: 'v', value: [1, 0, 0] } });
    expect(found.items.map(({ record, score }) => [record.id, score])).toEqual([
      ['a', 1],
      ['c', 0.70710677],
      ['b', 0],
    ]);
    expect(found.items[0]?.diagnostics?.scoreNormalization).toMatchObject({
      finalScoreKind: 'vector.raw_similarity',
      vectorScoreKind: 'vector.similarity.cosine',
    });
    const value = [0, 0, 1];
    expect(idsOf(await search({ vector: { field: 'v', value } }))).toEqual(['a', 'c', 'b']);
    expect(idsOf(await search({ vector: { field: 'v', value, top: 2 } }))).toEqual(['a', 'c']);
    expect(idsOf(await search({ vector: { field: 'v', value: [1, 0, 0], minScore: 0.5 } }))).toEqual([
      'a',
      'c',
    ]);
  });

  test.each([
    ['words', { lexical: { query: 'lakes mountains' } }],
    ['a vector', { vector: { field: 'v', value: [0, 1, 1] } }],
  ])('meets filter and partitions by %s', async (_, ranked) => {
    const filter = { path: '/metadata/year', op: 'gte', value: 2021 };
    expect(idsOf(await search({ ...ranked, filter })).toSorted()).toEqual(['b', 'c']);
    expect(idsOf(await search({ ...ranked, filter, partitionKeys: ['0'] }))).toEqual(['c']);
    expect(idsOf(await search({ ...ranked, partitionKeys: ['none'] }))).toEqual([]);
  });

  test.each([
    ['words', { lexical: { query: 'lakes mountains', top: 3 } }],
    ['a vector', { vector: { field: 'v', value: [0, 1, 1] } }],
    ['nothing', {}],
  ])('answers page by page what it answers at once, by %s', async (_, ranked) => {
    const whole = await search(ranked);
    expect(whole.items).toHaveLength(3);
    const paged: RecordSearchResult['items'][number][] = [];
    for (let continuationToken: string | null = null, pages = 1; ; pages += 1) {
      const page: RecordSearchResult = await search({ ...ranked, limit: 1, continuationToken });
      paged.push(...page.items);
      ({ continuationToken } = page);
      if (continuationToken !== null) continue;
      expect(pages).toBe(3);
      break;
    }
    expect(paged).toEqual(whole.items);
  });

  test('finds what was just written, and no longer what was deleted', async () => {
    await space.create({ name: 'fresh' });
    const lexical = { query: 'unheard' };
    const ask = async () => {
      const { text } = await space.send('POST', '/collections/fresh/search', { lexical });
      return idsOf(JSON.parse(text) as RecordSearchResult);
    };
    const content = { text: 'unheard of' };
    await space.send('POST', '/collections/fresh/records', { id: 'x', partitionKey: 'p', content });
    expect(await ask()).toEqual(['x']);
    const batch = [{ id: 'y', partitionKey: 'p', content }];
    await space.settled(await space.admit('POST', '/collections/fresh/records/batch', { records: batch }));
    expect(await ask()).toEqual(['x', 'y']);
    await space.send('DELETE', '/collections/fresh/records/p/x');
    await space.send('POST', '/collections/fresh/records', { id: 'y', partitionKey: 'p' });
    expect(await ask()).toEqual([]);
  });
});
