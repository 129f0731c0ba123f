import { expect, test } from 'vitest';
import type { Embedder } from '../../functions/embeddings/embedder.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { TurnRoom } from '../../functions/kernel/turn-room.ts';
import { ProviderFailure } from '../../functions/providers/failure.ts';
import { runCase } from '../../functions/retrieval/evaluation/run-case.ts';
import {
  type CaseLog,
  runComparison,
  runEvaluation,
} from '../../functions/retrieval/evaluation/run-evaluation.ts';
import { localRerankers } from '../../functions/retrieval/reranker.fixture.ts';
import { LOCAL_RERANKER, type Reranker, type Rerankers } from '../../functions/retrieval/reranker.ts';
import type { CaseResult } from '../../functions/retrieval/rules/evaluation/case-result.ts';
import { readComparison, readEvaluation } from '../../functions/retrieval/rules/evaluation/request.ts';
import { listTraces } from '../../functions/traces/read-traces.ts';
import { type Note, placesOf, RetrievalStage } from './retrieval-stage.ts';
import type { RetrievalConformance } from './retrieval-suite.ts';

const notes: readonly Note[] = [
  { id: 'fox', text: 'the brown fox runs', title: 'Fox' },
  { id: 'river', text: 'a river and its bank', title: 'River' },
  { id: 'both', text: 'the fox at the river', title: 'Fox and river' },
];

const call = { signal: new AbortController().signal };

async function stageWith(
  own: ConstructorParameters<typeof RetrievalStage>[1],
  store: RetrievalConformance['store'],
) {
  const stage = new RetrievalStage(store(), own);
  await stage.create('notes');
  await stage.write('notes', notes);
  return stage;
}

async function refusalOf(promise: Promise<unknown>) {
  const error: unknown = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ServiceError)) throw error;
  return [error.code, error.extensions.errors?.[0]?.pointer ?? error.message];
}

const reranker = (own: Partial<Reranker>): Rerankers => ({
  find: () => ({
    provider: 'test',
    inputBytesMax: () => 65_536,
    rerank: ({ candidates }) =>
      Promise.resolve({
        traceId: 'trace-1',
        items: [...candidates].reverse().map(({ id }, at) => ({ id, rank: at + 1, score: 1 / (at + 1) })),
      }),
    ...own,
  }),
});
const rerank = { enabled: true, candidateLimit: 3 };

export function describeRetrievalLife({ store }: RetrievalConformance): void {
  test('finds the records of several collections by their words and vectors', async () => {
    const stage = await stageWith({}, store);
    await stage.create('books');
    await stage.write('books', [{ id: 'fox', text: 'the brown fox runs', title: 'Fox' }]);
    const answer = await stage.retrieve({
      query: 'brown fox runs',
      collections: ['notes', 'books'],
      searchMode: 'hybrid',
      limit: 3,
    });
    // Equal scores are in the order of the collections' names.
    expect(placesOf(answer).slice(0, 2)).toEqual(['books/p/fox', 'notes/p/fox']);
    expect(answer.results[0]).toMatchObject({ rank: 1, snippet: 'the brown fox runs', diagnostics: null });
    expect(answer.trace).toBeNull();
  });

  test('gives the last places among equal records to the first keys', async () => {
    const stage = new RetrievalStage(store());
    await stage.create('notes');
    const same = { text: 'brown fox', title: 'Fox' };
    const other = { text: 'brown fox brown', title: 'Fox' };
    const ids = ['g', 'c', 'a', 'f', 'b', 'e', 'd'];
    await stage.write(
      'notes',
      ids.map((id, at) => ({ id, ...(id === 'f' ? other : same), partitionKey: at === 2 ? 'q' : 'p' })),
    );
    const first = ['p/b', 'p/c', 'p/d', 'p/e', 'p/g', 'q/a'];
    for (const vectorFields of [
      [{ field: 'titleEmbedding' }],
      [{ field: 'titleEmbedding' }, { field: 'contentEmbedding', weight: 0 }],
    ])
      for (const searchMode of ['vector', 'hybrid'])
        for (let limit = 1; limit <= 7; limit += 1) {
          const asked = { query: 'Fox', vectorFields, searchMode, limit };
          const found = placesOf(await stage.retrieve(asked)).filter((place) => !place.endsWith('/f'));
          expect(found).toEqual(first.slice(0, found.length).map((place) => `notes/${place}`));
        }
  });

  test('distinguishes records of one score by their keys when each search names them in another order', async () => {
    const stage = new RetrievalStage(store());
    await stage.create('notes');
    await stage.write('notes', [
      { id: 'z', text: 'fox and many other words of no use', title: 'Fox' },
      { id: 'a', text: 'fox fox', title: 'Fox den' },
    ]);
    const asked = {
      query: 'fox',
      vectorFields: [{ field: 'titleEmbedding' }],
      searchMode: 'hybrid',
      lexical: { fields: ['/content/text'] },
      hybrid: { fusion: 'rrf', vectorWeight: 1, lexicalWeight: 1 },
    };
    const both = await stage.retrieve(asked);
    expect(both.results.map(({ score }) => score)).toEqual([1 / 61 + 1 / 62, 1 / 61 + 1 / 62]);
    expect(placesOf(both)).toEqual(['notes/p/a', 'notes/p/z']);
    expect(placesOf(await stage.retrieve({ ...asked, limit: 1 }))).toEqual(['notes/p/a']);
  });

  test('finds nothing of another space', async () => {
    await stageWith({}, store);
    const other = new RetrievalStage(store());
    expect(await refusalOf(other.retrieve({ query: 'fox' }))).toEqual([
      'collection_not_found',
      "Collection 'notes' does not exist.",
    ]);
    expect(await refusalOf(other.retrieve({ query: 'fox', embedding: {} }))).toEqual([
      'collection_not_found',
      "Collection 'notes' does not exist.",
    ]);
  });

  test('refuses vectors that the collection does not have before it asks a model for them', async () => {
    const stage = await stageWith({}, store);
    let calls = 0;
    const { embedder } = stage;
    const counted: Embedder = { ...embedder, embed: (...args) => ((calls += 1), embedder.embed(...args)) };
    const parts = { ...stage.parts, embeddings: { ...stage.parts.embeddings, embedder: counted } };
    Object.assign(stage, { parts });
    const field = (name: string) => stage.retrieve({ query: 'fox', vectorFields: [{ field: name }] });
    expect(await refusalOf(field('absent'))).toEqual(['validation_failed', '/vectorFields/0/field']);
    const twice = [{ field: 'contentEmbedding' }, { field: ' ' }];
    expect(await refusalOf(stage.retrieve({ query: 'fox', vectorFields: twice }))).toEqual([
      'validation_failed',
      '/vectorFields/1/field',
    ]);
    const filter = { path: '/metadata/year', op: 'gt', value: 'old' };
    expect(await refusalOf(stage.retrieve({ query: 'fox', embedding: {}, filter }))).toEqual([
      'validation_failed',
      '/filter/value',
    ]);
    Object.assign(parts.embeddings, { embedder: { ...counted, dimensions: 5 } });
    expect(await refusalOf(field('contentEmbedding'))).toEqual([
      'validation_failed',
      '/vectorFields/0/field',
    ]);
    expect(calls).toBe(0);
  });

  test('embeds equal texts of several fields once', async () => {
    const stage = await stageWith({}, store);
    const answer = await stage.retrieve({
      query: 'fox',
      includeTrace: true,
      vectorFields: [{ field: 'contentEmbedding' }, { field: 'titleEmbedding' }],
    });
    expect(answer.trace).toMatchObject({
      preparedVectorQueries: 1,
      embeddingDimensions: 16,
      searchMode: 'vector',
    });
    expect(answer.trace?.['candidatePools']).toEqual([
      {
        collection: 'notes',
        vectorCandidates: 3,
        vectorCandidatesByField: { contentEmbedding: 3, titleEmbedding: 3 },
        lexicalCandidates: 0,
        mergedCandidates: 3,
        searchMode: 'vector',
      },
    ]);
  });

  test('writes a trace on request, and its answer names it', async () => {
    const stage = await stageWith({}, store);
    const answer = await stage.retrieve({ query: 'fox river', includeTrace: true });
    await stage.retrieve({ query: 'fox river' });
    const { traces } = await listTraces(stage.traces.parts, stage.space, {
      operation: 'retrieval.search',
      limit: 10,
    });
    expect(traces.map(({ id }) => id)).toEqual([answer.trace?.['id']]);
    expect(traces[0]).toMatchObject({
      operation: 'retrieval.search',
      request: { query: 'fox river', collections: ['notes'], searchMode: 'lexical' },
      resultSummary: { status: 'Succeeded', returnedCount: 3 },
    });
    expect(answer.results[0]?.diagnostics).toMatchObject({
      schemaVersion: 'svc.retrieval.diagnostics.v1',
      candidateSources: ['lexical'],
      scoreNormalization: { finalScoreKind: 'lexical.score', lexicalScoreKind: 'lexical.bm25' },
      matchedTerms: ['fox', 'river'],
    });
  });

  test('takes the order of the reranker', async () => {
    const plain = await stageWith({}, store);
    const stage = new RetrievalStage(store(), { rerankers: reranker({}), space: plain.space });
    const before = placesOf(await plain.retrieve({ query: 'fox river' }));
    const answer = await stage.retrieve({ query: 'fox river', rerank, includeTrace: true });
    expect(placesOf(answer)).toEqual([...before].reverse());
    expect(answer.results.map(({ score }) => score)).toEqual([1, 1 / 2, 1 / 3]);
    expect(answer.trace).toMatchObject({
      rerankProvider: 'test',
      rerankTraceId: 'trace-1',
      rerankFallbackApplied: false,
      rerankProviderStatus: 'ok',
      rerankInputCandidateCount: 3,
    });
    expect(answer.results[0]?.diagnostics).toMatchObject({
      candidateSources: ['lexical', 'rerank'],
      scoreNormalization: { finalScoreKind: 'rerank.weighted_blend' },
    });
  });

  const broken = () =>
    Promise.reject(new ProviderFailure('network', 'connection_lost', 'The provider is away.'));
  const rejected = () =>
    Promise.resolve({
      traceId: 'trace-2',
      failure: { failureClass: 'policy', providerStatus: 'rate_limited' },
    });
  const local = (): Rerankers => localRerankers(new TurnRoom({ now: () => 0 }));
  test.each<[string, () => Rerankers, object, string, string]>([
    ['is away', () => reranker({ rerank: broken }), {}, 'network', 'connection_lost'],
    ['refuses', () => reranker({ rerank: rejected }), {}, 'policy', 'rate_limited'],
    ['takes less', () => reranker({ inputBytesMax: () => 10 }), {}, 'policy', 'input_limit'],
    ['is not known', local, { provider: 'magic' }, 'unsupported', 'provider_not_registered'],
    ['does not know the mode', local, { provider: LOCAL_RERANKER, mode: 'fun' }, 'policy', 'unknown_mode'],
  ])(
    'keeps the order where the reranker %s, or refuses',
    async (_, rerankers, own, failureClass, providerStatus) => {
      const plain = await stageWith({}, store);
      const stage = new RetrievalStage(store(), { rerankers: rerankers(), space: plain.space });
      const before = await plain.retrieve({ query: 'fox river' });
      const answer = await stage.retrieve({
        query: 'fox river',
        rerank: { ...rerank, ...own },
        includeTrace: true,
      });
      expect(answer.results.map(({ score }) => score)).toEqual(before.results.map(({ score }) => score));
      expect(placesOf(answer)).toEqual(placesOf(before));
      expect(answer.trace).toMatchObject({
        rerankFallbackApplied: true,
        rerankFailureClass: failureClass,
        rerankProviderStatus: providerStatus,
      });
      expect(answer.results[0]?.diagnostics).toMatchObject({
        reasonCodes: expect.arrayContaining(['rerank.fallback', 'rank.pre_rerank_retained']),
      });
      const strict = { ...rerank, ...own, fallbackOnFailure: false };
      expect(await refusalOf(stage.retrieve({ query: 'fox river', rerank: strict }))).toEqual([
        'validation_failed',
        '/rerank',
      ]);
    },
  );

  const asked = (id: string, own: object = {}) => ({
    name: id,
    request: { query: id, collections: ['notes'] },
    expected: [{ id }],
    ...own,
  });

  test.each(['answers', 'throws'])(
    'an evaluation ends at a reranker that %s a failure which passes, and a retrieval does not',
    async (way) => {
      const plain = await stageWith({}, store);
      const passing = new ProviderFailure('quota', 'budget_spent', 'The budget is spent.', {
        retryAfterMs: 7_000,
        isOfGuard: true,
      });
      const { failureClass, providerStatus } = passing;
      const answer = { traceId: null, failure: { failureClass, providerStatus }, passing };
      const fails = () => (way === 'throws' ? Promise.reject(passing) : Promise.resolve(answer));
      const rerankers = reranker({ rerank: fails });
      const stage = new RetrievalStage(store(), { rerankers, space: plain.space });
      const found = await stage.retrieve({ query: 'fox', rerank, includeTrace: true });
      expect(found.trace).toMatchObject({ rerankFallbackApplied: true, rerankFailureClass: 'quota' });
      for (const fallbackOnFailure of [true, false]) {
        const request = { query: 'fox', collections: ['notes'], rerank: { ...rerank, fallbackOnFailure } };
        const evaluation = readEvaluation({ cases: [asked('fox', { request })] });
        await expect(runEvaluation(stage.parts, stage.space, evaluation, call)).rejects.toBe(passing);
      }
    },
  );

  test('evaluateRetrieval continues after a case that fails', async () => {
    const stage = await stageWith({}, store);
    const cases = [
      asked('fox'),
      asked('river', { request: { query: 'river', collections: ['absent'] } }),
      asked('river', {
        request: { query: 'river', collections: ['notes'], hybrid: { vectorWeight: 0, lexicalWeight: 0 } },
      }),
      asked('river', { hardNegatives: [{ id: 'river' }] }),
      asked('both', { hardNegatives: [{ id: 'river' }] }),
    ];
    const report = await runEvaluation(stage.parts, stage.space, readEvaluation({ cases }), call);
    expect(report).toMatchObject({
      requested: 5,
      attempted: 5,
      succeeded: 2,
      failed: 3,
      stoppedOnError: false,
    });
    expect(report.cases.map(({ error }) => error)).toEqual([
      null,
      "Collection 'absent' does not exist.",
      '/hybrid: must have weights with a finite sum above 0',
      'The hard negative 0 of the case may be one of its expected matches.',
      null,
    ]);
    const strict = readEvaluation({ cases, continueOnError: false });
    expect(await runEvaluation(stage.parts, stage.space, strict, call)).toMatchObject({
      attempted: 2,
      stoppedOnError: true,
    });
  });

  test('a case is judged by its first k results, of as many as it needs', async () => {
    const stage = await stageWith({}, store);
    const evaluation = readEvaluation({
      cases: [asked('fox', { k: 3, request: { query: 'fox river', collections: ['notes'], limit: 1 } })],
    });
    const result = await runCase(stage.parts, stage.space, { evaluation, index: 0, variant: null }, call);
    expect(result).toMatchObject({ k: 3, retrievedCount: 3 });
  });

  test('an evaluation counts the records of its largest case, and the results of all', async () => {
    const stage = await stageWith({}, store);
    const grown = async (cases: number) => {
      let bytes = 0;
      const counted = { ...call, grow: (more: number) => void (bytes += more) };
      const evaluation = readEvaluation({ cases: Array.from({ length: cases }, () => asked('fox')) });
      const report = await runEvaluation(stage.parts, stage.space, evaluation, counted);
      return bytes - report.cases.reduce((sum, each) => sum + JSON.stringify(each).length, 0);
    };
    const one = await grown(1);
    expect(one).toBeGreaterThan(0);
    expect(await grown(5)).toBe(one);
  });

  test('compareRetrievalEvaluations: a comparison that is killed at any of its checkpoints ends with the same report', async () => {
    const stage = await stageWith({}, store);
    const comparison = readComparison({
      cases: [
        asked('fox'),
        asked('both', { request: { query: 'fox', collections: ['nowhere'] } }),
        asked('river'),
      ],
      variants: [
        { id: 'words' },
        { id: 'hybrid', searchMode: 'hybrid' },
        { id: 'none', collections: ['absent'] },
      ],
      includeCaseResults: true,
      includeTopResults: true,
    });
    const whole = JSON.stringify(await runComparison(stage.parts, stage.space, comparison, call));
    for (let kill = 0; kill < 18; kill += 1) {
      const kept = new Map<string, CaseResult>();
      let left = kill;
      let tried = 0;
      const step = () => {
        left -= 1;
        if (left === -1) throw new Error('killed');
      };
      const log: CaseLog = {
        read: (variant, index) => Promise.resolve(kept.get(`${variant}-${index}`) ?? null),
        begin: () => Promise.resolve(void (tried += 1)),
        keep: async (variant, result) => {
          step();
          kept.set(`${variant}-${result.index}`, JSON.parse(JSON.stringify(result)) as CaseResult);
          step();
        },
      };
      const run = () => runComparison(stage.parts, stage.space, comparison, call, log);
      await expect(run()).rejects.toThrow('killed');
      expect(JSON.stringify(await run())).toBe(whole);
      // Only a case that was killed before it was kept is tried again.
      expect(tried).toBe(kill % 2 === 0 ? 10 : 9);
    }
  });
}
