import { expect, test } from 'vitest';
import { DIMENSIONS, RetrievalStage } from '../../test/conformance/retrieval-stage.ts';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { builtInEmbedder } from '../embeddings/built-in.ts';
import { refusalWords, ServiceError } from '../kernel/errors.ts';
import { ProviderFailure } from '../providers/failure.ts';
import { evaluateContexts } from './evaluate-context.ts';
import { expandGraph } from './expand-graph.ts';
import { readExpansion } from './rules/expansion-request.ts';

/** A model that answers no question but one. */
async function stageWithFailingModel(): Promise<RetrievalStage> {
  const store = new MemoryStore(new MemoryDatabase());
  const model = builtInEmbedder('local-token-hash', DIMENSIONS)!;
  const embedder = {
    ...model,
    embed: (texts: readonly string[], call: Parameters<typeof model.embed>[1]) =>
      texts.includes('fox')
        ? model.embed(texts, call)
        : Promise.reject(new ProviderFailure('network', 'connection_failed', 'The provider is away.')),
  };
  const stage = new RetrievalStage(store, { embedder });
  await stage.create('notes');
  return stage;
}

const cases = ['badger', 'fox'].map((query) => ({
  request: { retrieval: { query, collections: ['notes'], searchMode: 'vector' } },
}));

async function wordsOf(stage: RetrievalStage, call: { continueOnError: boolean; signal?: AbortSignal }) {
  const words: (string | null)[] = [];
  for await (const { outcome } of evaluateContexts(stage.parts, stage.space, cases, call))
    words.push('refused' in outcome ? refusalWords(outcome.refused) : null);
  return words;
}

test('a case whose model fails fails alone, and ends the evaluation only without continueOnError', async () => {
  const stage = await stageWithFailingModel();
  expect(await wordsOf(stage, { continueOnError: true })).toEqual(['The provider is away.', null]);
  expect(await wordsOf(stage, { continueOnError: false })).toEqual(['The provider is away.']);
});

test('a caller that goes away while the model works ends the evaluation', async () => {
  const stage = await stageWithFailingModel();
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
    const stage = await stageWithFailingModel();
    const busy = new ServiceError(code, 'Try again.');
    const records = { ...stage.parts.records, store: () => Promise.reject(busy) };
    const options = readExpansion({ collection: 'graph', seedNodeIds: ['a'] }, '/graphExpansion')!;
    await expect(expandGraph(records, stage.space, options, [], {})).rejects.toBe(busy);
    const strict = { ...options, fallbackOnFailure: false };
    await expect(expandGraph(records, stage.space, strict, [], {})).rejects.toBe(busy);
  },
);
