import { expect, test } from 'vitest';
import type { EmbedCall, Embedder } from './embedder.ts';
import { embeddingModel } from './embedding-model.ts';

const prefixes = { query: 'q: ', passage: 'p: ', symmetric: null };

/** The vector of a text of length n is [n, 0.1]. */
function embedder(calls: string[][]): Embedder {
  const batch = { textsMax: 2, tokensMax: 100 };
  const own = { provider: 'mine', modelId: 'm', dimensions: 2, prefixes, isPaid: true, batch };
  return {
    ...own,
    async embed(texts, { admit }: EmbedCall) {
      await admit?.();
      calls.push([...texts]);
      return texts.map((text) => new Float32Array([text.length, 0.1]));
    },
  };
}

test('texts become vectors in batches, each counted with its own tokens', async () => {
  const calls: string[][] = [];
  const counted: unknown[] = [];
  const admit = async (tokens?: number) => void counted.push(tokens);
  const bounds = { timeoutMs: 1_000, answerBytesMax: 1_000, signal: AbortSignal.timeout(5_000), admit };
  const question = { texts: ['one', 'q: two', 'three'], purpose: 'query' } as const;
  const { value, usage } = await embeddingModel(embedder(calls)).embed(question, bounds);
  expect(calls).toEqual([['q: one', 'q: two'], ['q: three']]);
  expect(counted).toEqual([4, 3]);
  expect(value).toEqual({
    dimensions: 2,
    vectors: [
      [6, 0.1],
      [6, 0.1],
      [8, 0.1],
    ],
  });
  expect(usage).toEqual({ inputTokens: 7, outputTokens: 0, isReported: false });
});
