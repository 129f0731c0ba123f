import { describe, expect, test } from 'vitest';
import { DIMENSIONS, RetrievalStage } from '../../test/conformance/retrieval-stage.ts';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { builtInEmbedder } from '../embeddings/built-in.ts';
import { refusalWords, ServiceError } from '../kernel/errors.ts';
import { type FailureClass, ProviderFailure } from '../providers/failure.ts';
import type { Rerankers } from '../retrieval/reranker.ts';
import { type EvaluatedCase, evaluateContexts } from './evaluate-context.ts';
import { expandGraph } from './expand-graph.ts';
import { readExpansion } from './rules/expansion-request.ts';

/** A model that answers only one question. */
async function stageWithFailingModel(failure: Error, rerankers?: Rerankers): Promise<RetrievalStage> {
  const store = new MemoryStore(new MemoryDatabase());
  const model = builtInEmbedder('local-token-hash', DIMENSIONS)!;
  const embedder = {
    ...model,
    embed: (texts: readonly string[], call: Parameters<typeof model.embed>[1]) =>
      texts.includes('badger') ? Promise.reject(failure) : model.embed(texts, call),
  };
  const stage = new RetrievalStage(store, { embedder, ...(rerankers && { rerankers }) });
  await stage.create('notes');
  return stage;
}

const cases = ['badger', 'fox'].map((query) => ({
  request: { retrieval: { query, collections: ['notes'], searchMode: 'vector' } },
}));

async function wordsOf(
  stage: RetrievalStage,
  call: { continueOnError: boolean; signal?: AbortSignal },
  given: readonly EvaluatedCase[] = cases,
) {
  const words: (string | null)[] = [];
  for await (const { outcome } of evaluateContexts(stage.parts, stage.space, given, call))
    words.push('refused' in outcome ? refusalWords(outcome.refused) : null);
  return words;
}

const lasting = new ProviderFailure('auth', 'http_401', 'The provider refuses the key.');

test('a case whose model fails fails alone, and ends the evaluation only without continueOnError', async () => {
  const stage = await stageWithFailingModel(lasting);
  expect(await wordsOf(stage, { continueOnError: true })).toEqual([lasting.message, null]);
  expect(await wordsOf(stage, { continueOnError: false })).toEqual([lasting.message]);
});

const guarded = (failureClass: FailureClass, status: string) =>
  new ProviderFailure(failureClass, status, 'No call was made.', { retryAfterMs: 7_000, isOfGuard: true });
const passing: readonly (readonly [what: string, error: Error])[] = [
  ['a provider that is away', new ProviderFailure('network', 'connection_failed', 'It is away.')],
  ['a provider that limits its callers', new ProviderFailure('rate_limit', 'http_429', 'Too many.')],
  ['a provider that breaks', new ProviderFailure('provider_unavailable', 'http_503', 'It broke.')],
  ['an open circuit', guarded('provider_unavailable', 'circuit_open')],
  ['a spent budget', guarded('quota', 'budget_spent')],
];

test.each<readonly [string, Error]>([
  ...passing,
  ...(['store_contention', 'rate_limited', 'search_index_building', 'unavailable'] as const).map(
    (code) => [code, new ServiceError(code, 'Try again.')] as const,
  ),
])('%s is no result of a case, and ends the evaluation', async (_, error) => {
  const stage = await stageWithFailingModel(error);
  for (const continueOnError of [true, false])
    await expect(wordsOf(stage, { continueOnError })).rejects.toBe(error);
});

describe.each([true, false])('with fallbackOnFailure %s', (fallbackOnFailure) => {
  const evaluate = async (error: ProviderFailure) => {
    const reranker = { provider: 'paid', inputBytesMax: () => 65_536, rerank: () => Promise.reject(error) };
    const stage = await stageWithFailingModel(lasting, { find: () => reranker });
    await stage.write('notes', [{ id: 'fox', text: 'the brown fox', title: 'Fox' }]);
    const retrieval = {
      query: 'fox',
      collections: ['notes'],
      rerank: { enabled: true, provider: 'paid', fallbackOnFailure },
    };
    return wordsOf(stage, { continueOnError: true }, [{ request: { retrieval } }]);
  };

  test.each(passing)('%s behind a reranker ends the evaluation', async (_, error) => {
    await expect(evaluate(error as ProviderFailure)).rejects.toBe(error);
  });

  test('a permanent failure of a reranker is the result of its case', async () => {
    const words = fallbackOnFailure ? null : (expect.stringContaining('auth, http_401') as string);
    expect(await evaluate(lasting)).toEqual([words]);
  });
});

test('a caller that disconnects while the model works ends the evaluation', async () => {
  const stage = await stageWithFailingModel(lasting);
  const gone = new AbortController();
  const { embedder } = stage.parts.embeddings;
  const leaving = {
    ...embedder,
    embed: () => {
      gone.abort();
      return Promise.reject(new ProviderFailure('cancelled', 'cancelled', 'The call was cancelled.'));
    },
  };
  const parts = { ...stage.parts, embeddings: { ...stage.parts.embeddings, embedder: leaving } };
  const call = { continueOnError: true, signal: gone.signal };
  const evaluation = evaluateContexts(parts, stage.space, cases, call);
  await expect(evaluation.next()).rejects.toThrow('aborted');
});

test.each(['unavailable', 'rate_limited'] as const)(
  'a graph that cannot be read now, %s, refuses the call: its status would say something of the graph',
  async (code) => {
    const stage = await stageWithFailingModel(lasting);
    const busy = new ServiceError(code, 'Try again.');
    const records = { ...stage.parts.records, store: () => Promise.reject(busy) };
    const options = readExpansion({ collection: 'graph', seedNodeIds: ['a'] }, '/graphExpansion')!;
    await expect(expandGraph(records, stage.space, options, [], {})).rejects.toBe(busy);
    const strict = { ...options, fallbackOnFailure: false };
    await expect(expandGraph(records, stage.space, strict, [], {})).rejects.toBe(busy);
  },
);
