import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type {
  RetrievalEvaluationComparisonResult,
  RetrievalEvaluationResult,
  RetrievalProfileDescriptor,
  RetrievalResultEnvelope,
} from '../../../contracts/generated/models.ts';
import { createNotes } from '../../../test/support/retrieval-service.ts';
import { type RunningService, startService } from '../../../test/support/service.ts';

/** Retrievals over HTTP. Every answer is checked against its model. */

let service: RunningService;
beforeAll(async () => {
  service = await startService();
  await createNotes(service);
  await createNotes(service, 'books');
});
afterAll(() => service.close());

async function post<Answer>(path: string, body: object) {
  const answer = await service.call({ method: 'POST', path, body });
  return { status: answer.status, json: answer.json<Answer>(), text: answer.body };
}
const search = (body: object) =>
  post<RetrievalResultEnvelope>('/search', { collections: ['notes'], query: 'fox', ...body });
const evaluate = (body: object) => post<RetrievalEvaluationResult>('/retrieval/evaluate', body);
const compare = (body: object) =>
  post<RetrievalEvaluationComparisonResult>('/retrieval/evaluate/compare', body);

const caseOf = (id: string, own: object = {}) => ({
  request: { query: id, collections: ['notes'] },
  expected: [{ id }],
  ...own,
});
const idsOf = ({ json }: { json: RetrievalResultEnvelope }) =>
  json.results.map(({ collection, record }) => `${collection}/${record.id}`);

describe('listRetrievalProfiles', () => {
  test('shows the profiles with all that they give to a request', async () => {
    const answer = await service.call({ method: 'GET', path: '/retrieval/profiles' });
    expect(answer.status).toBe(200);
    const profiles = answer.json<readonly RetrievalProfileDescriptor[]>();
    expect(profiles.map(({ id }) => id)).toEqual([
      'evidence',
      'ragBaseline',
      'rerankPolish',
      'deepQuality',
      'discovery',
      'productOptimization',
    ]);
    expect(profiles.map(({ defaults }) => defaults.limit)).toEqual([8, 8, 8, 8, 10, 12]);
    expect(profiles[2]?.defaults.rerank).toMatchObject({
      enabled: true,
      candidateLimit: 8,
      provider: null,
    });
    expect(profiles[4]?.defaults).toMatchObject({
      searchMode: 'hybrid',
      embedding: { field: 'contentEmbedding', purpose: 'query', queryPrefix: null },
      hybrid: { vectorWeight: 0.35, lexicalWeight: 0.65 },
    });
  });

  test('and a request may say what a profile says', async () => {
    const profiles = (await service.call({ method: 'GET', path: '/retrieval/profiles' })).json<
      readonly RetrievalProfileDescriptor[]
    >();
    for (const { id, defaults } of profiles) {
      const said = await search({ query: 'brown fox', ...defaults });
      const named = await search({ query: 'brown fox', profile: id.toUpperCase() });
      expect([said.status, named.status], said.text).toEqual([200, 200]);
      expect(named.json.results).toEqual(said.json.results);
    }
  });
});

describe('retrieve', () => {
  test('ranks the records of several collections together', async () => {
    const answer = await search({ query: 'brown fox', collections: ['notes', 'books'], limit: 2 });
    expect(answer.status).toBe(200);
    expect(idsOf(answer)).toEqual(['books/fox', 'notes/fox']);
    expect(answer.json).toMatchObject({ query: 'brown fox', trace: null });
    expect(answer.json.results[0]).toMatchObject({
      rank: 1,
      snippet: 'the brown fox runs',
      diagnostics: null,
      record: { partitionKey: 'p', content: { text: 'the brown fox runs' } },
    });
  });

  test.each(['vector', 'Lexical', ' HYBRID '])('in the mode %s', async (searchMode) => {
    const answer = await search({ query: 'the brown fox runs', searchMode });
    expect(idsOf(answer)[0]).toBe('notes/fox');
  });

  test('says how the answer came about, and its trace is stored', async () => {
    const { json } = await search({ includeTrace: true, searchMode: 'hybrid', rerank: { enabled: true } });
    expect(json.trace).toMatchObject({ searchMode: 'hybrid', rerankFallbackApplied: false });
    expect(json.results[0]?.diagnostics).toMatchObject({
      schemaVersion: 'svc.retrieval.diagnostics.v1',
      candidateSources: ['vector', 'lexical', 'rerank'],
    });
    const id = json.trace?.['id'] as string;
    const stored = await service.call({ method: 'GET', path: `/traces/${id}` });
    expect(stored.json()).toMatchObject({ id, operation: 'retrieval.search' });
  });

  test.each<[string, object, number, string]>([
    ['no collection of the name', { collections: ['absent'] }, 404, 'collection_not_found'],
    ['no collections', { collections: [] }, 400, 'validation_failed'],
    [
      '17 collections',
      { collections: Array.from({ length: 17 }, (_, at) => `c${at}`) },
      400,
      'limit_exceeded',
    ],
    ['a bad name', { collections: ['../notes'] }, 400, 'validation_failed'],
    ['an empty query', { query: '' }, 400, 'validation_failed'],
    ['a query of white space', { query: ' \n' }, 400, 'validation_failed'],
    ['a lone surrogate', { query: 'a\ud800' }, 400, 'malformed_request'],
    ['a query too long', { query: 'a'.repeat(16_385) }, 400, 'limit_exceeded'],
    ['a limit of 0', { limit: 0 }, 400, 'validation_failed'],
    ['a limit of 1.5', { limit: 1.5 }, 400, 'validation_failed'],
    ['a limit of 10^9', { limit: 1e9 }, 400, 'limit_exceeded'],
    ['another mode', { searchMode: 'magic' }, 400, 'validation_failed'],
    ['another profile', { profile: 'magic' }, 400, 'validation_failed'],
    ['weights 0', { hybrid: { vectorWeight: 0, lexicalWeight: 0 } }, 400, 'validation_failed'],
    ['a negative weight', { hybrid: { vectorWeight: -1 } }, 400, 'validation_failed'],
    ['rerank weights 0', { rerank: { rerankScoreWeight: 0 } }, 400, 'validation_failed'],
    ['weights of fields 0', { vectorFields: [{ field: 'a', weight: 0 }] }, 400, 'validation_failed'],
    ['a field twice', { vectorFields: [{ field: 'a' }, { field: 'a' }] }, 400, 'validation_failed'],
    [
      '9 fields',
      { vectorFields: Array.from({ length: 9 }, (_, at) => ({ field: `f${at}` })) },
      400,
      'limit_exceeded',
    ],
    ['no vector of the name', { vectorFields: [{ field: 'absent' }] }, 400, 'validation_failed'],
    ['too many candidates', { hybrid: { vectorCandidateLimit: 5_001 } }, 400, 'limit_exceeded'],
    ['a bad filter', { filter: { path: '/metadata/a', op: 'magic' } }, 400, 'validation_failed'],
    ['an unknown member', { select: ['id'] }, 400, 'validation_failed'],
  ])('refuses %s', async (_, body, status, code) => {
    const answer = await search(body);
    expect([answer.status, answer.json], answer.text).toMatchObject([status, { code }]);
  });
});

describe('evaluateRetrieval', () => {
  test('measures how well questions are answered', async () => {
    const cases = [
      caseOf('fox', { name: 'a', k: 2, expected: [{ id: 'fox', relevance: 3 }, { id: 'both' }] }),
      caseOf('river', { hardNegatives: [{ id: 'both', reason: 'names the fox' }] }),
      caseOf('fox', { request: { query: 'fox', collections: ['absent'] } }),
    ];
    const { status, json } = await evaluate({ cases, defaultK: 3 });
    expect(status).toBe(200);
    expect(json).toMatchObject({ requested: 3, attempted: 3, succeeded: 2, failed: 1, hitRate: 1 });
    expect(json.cases).toMatchObject([
      { index: 0, name: 'a', k: 2, precisionAtK: 1, recallAtK: 1, firstRelevantRank: 1 },
      { k: 3, hardNegativeHit: true, hardNegativeRateAtK: 1 / 3 },
      { status: 'failed', error: "Collection 'absent' does not exist.", k: 3, hit: false },
    ]);
    // The longer text comes second by its words, and it matters most.
    expect(json.cases[0]?.topResults.map(({ id }) => id)).toEqual(['both', 'fox']);
    const best = 3 + 1 / Math.log2(3);
    expect(json.cases[0]?.ndcgAtK).toBeCloseTo((1 + 3 / Math.log2(3)) / best, 12);
    const again = await evaluate({ cases, defaultK: 3 });
    const plain = (text: string) => text.replaceAll(/"durationMs":\d+/g, '');
    expect(plain(again.text)).toBe(plain(JSON.stringify(json)));
  });

  test('a hard negative that is expected too fails its case', async () => {
    const { json } = await evaluate({ cases: [caseOf('fox', { hardNegatives: [{ sourceIds: ['fox'] }] })] });
    expect(json.cases[0]).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('hard negative 0'),
    });
  });

  test.each<[string, object, string]>([
    ['no cases', { cases: [] }, 'validation_failed'],
    ['201 cases', { cases: Array(201).fill(caseOf('fox')) }, 'limit_exceeded'],
    [
      '17 collections',
      { cases: [caseOf('fox', { request: { query: 'a', collections: Array(17).fill('c') } })] },
      'limit_exceeded',
    ],
    ['nothing that is expected', { cases: [caseOf('fox', { expected: [] })] }, 'validation_failed'],
    [
      'a match that names nothing',
      { cases: [caseOf('fox', { expected: [{ partitionKey: 'p' }] })] },
      'validation_failed',
    ],
    [
      'a relevance of 0',
      { cases: [caseOf('fox', { expected: [{ id: 'a', relevance: 0 }] })] },
      'validation_failed',
    ],
    ['k 0', { cases: [caseOf('fox', { k: 0 })] }, 'validation_failed'],
    ['k 101', { cases: [caseOf('fox', { k: 101 })] }, 'limit_exceeded'],
    ['a default k 101', { cases: [caseOf('fox')], defaultK: 101 }, 'limit_exceeded'],
  ])('refuses %s', async (_, body, code) => {
    const answer = await evaluate(body);
    expect([answer.status, answer.json], answer.text).toMatchObject([400, { code }]);
  });
});

describe('compareRetrievalEvaluations', () => {
  const cases = [caseOf('fox'), caseOf('river')];

  test('measures each variant, and compares it with the first', async () => {
    const variants = [
      { id: 'words', label: 'By words' },
      { id: 'hybrid', searchMode: 'hybrid' },
      { id: 'nowhere', collections: ['absent'] },
    ];
    const { status, json } = await compare({ cases, variants, defaultK: 1 });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      requested: 2,
      variantsRequested: 3,
      variantsAttempted: 3,
      variantsSucceeded: 2,
      variantsFailed: 1,
      baselineVariantId: 'words',
    });
    const [words, hybrid, nowhere] = json.variants;
    expect(words).toMatchObject({ label: 'By words', deltaFromBaseline: null, cases: [] });
    expect(hybrid?.deltaFromBaseline).toMatchObject({ hitRate: expect.any(Number) });
    expect(nowhere).toMatchObject({ status: 'failed', error: "Collection 'absent' does not exist." });
    for (const measure of Object.values(nowhere?.metrics ?? {})) expect([0, false]).toContain(measure);
    const all = await compare({ cases, variants, defaultK: 1, includeCaseResults: true });
    expect(all.json.variants.map((each) => each.cases.length)).toEqual([2, 2, 2]);
  });

  test.each<[string, object, string]>([
    ['no variants', { cases, variants: [] }, 'validation_failed'],
    [
      '13 variants',
      { cases, variants: Array.from({ length: 13 }, (_, at) => ({ id: `${at}` })) },
      'limit_exceeded',
    ],
    ['equal ids', { cases, variants: [{ id: 'a' }, { id: 'a' }] }, 'validation_failed'],
    ['a blank id', { cases, variants: [{ id: ' ' }] }, 'validation_failed'],
  ])('refuses %s', async (_, body, code) => {
    const answer = await compare(body);
    expect([answer.status, answer.json], answer.text).toMatchObject([400, { code }]);
  });
});
