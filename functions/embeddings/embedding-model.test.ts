import { expect, test } from 'vitest';
import type { Json } from '../kernel/canonical-json.ts';
import type { EmbedCall, Embedder } from './embedder.ts';
import { embeddingModel } from './embedding-model.ts';

const prefixes = { query: 'q: ', passage: 'p: ', symmetric: null };

/** The vector of a text of length n is [n, 0.1]. */
function embedder(calls: string[][], tokens: readonly (number | null)[] = []): Embedder {
  const batch = { textsMax: 2, tokensMax: 100 };
  const own = { provider: 'mine', modelId: 'm', dimensions: 2, prefixes, isPaid: true, batch };
  return {
    ...own,
    async embed(texts, { admit, took }: EmbedCall) {
      await admit?.();
      calls.push([...texts]);
      took?.(tokens[calls.length - 1] ?? null);
      return texts.map((text) => new Float32Array([text.length, 0.1]));
    },
  };
}

test('texts become vectors in batches, each counted with its own tokens', async () => {
  const calls: string[][] = [];
  const counted: unknown[] = [];
  const admit = async (tokens?: number) => void counted.push(tokens);
  const bounds = { timeoutMs: 1_000, answerBytesMax: 1_000, signal: new AbortController().signal, admit };
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

const ofRun = { timeoutMs: 1_000, answerBytesMax: 1_000, signal: new AbortController().signal };
const texts = ['one', 'two', 'three', 'four', 'five'];

test.each<[string, readonly (number | null)[], object, readonly (object | number)[]]>([
  ['all', [50, 7, 1], { inputTokens: 58, isReported: true }, [50, 7, 1]],
  ['not all', [50, null, 1], { inputTokens: 56, isReported: false }, [50, 5, 1]],
])('the usage is the sum of what the answers report: %s', async (_, tokens, usage, expected) => {
  const usages: number[] = [];
  const took = ({ inputTokens }: { readonly inputTokens: number }) => usages.push(inputTokens);
  const answer = await embeddingModel(embedder([], tokens)).embed(
    { texts, purpose: 'passage' },
    { ...ofRun, took },
  );
  expect(answer.usage).toEqual({ outputTokens: 0, ...usage });
  expect(usages).toEqual(expected);
});

test('a run that goes on after a crash pays for no batch that was kept', async () => {
  const calls: string[][] = [];
  const kept = new Map<string, Json>();
  const memory = {
    read: (key: string) => Promise.resolve(kept.get(key) ?? null),
    write: (key: string, value: Json) => {
      if (calls.length === 2) return Promise.reject(new Error('died'));
      kept.set(key, value);
      return Promise.resolve();
    },
  };
  const embed = () =>
    embeddingModel(embedder(calls, [50, 7, 8, 1])).embed({ texts, purpose: 'passage' }, { ...ofRun, memory });
  await expect(embed()).rejects.toThrow('died');
  const { value, usage } = await embed();
  expect(usage).toEqual({ inputTokens: 50 + 8 + 1, outputTokens: 0, isReported: true });
  expect(value.vectors).toEqual(texts.map((text) => ['p: '.length + text.length, 0.1]));
  // The batch whose answer was lost is paid for again, and no other.
  expect(calls.map(([first]) => first)).toEqual(['p: one', 'p: three', 'p: three', 'p: five']);
});

test('vectors that the output has no room for are refused before a call', async () => {
  const calls: string[][] = [];
  const bounds = { ...ofRun, outputBytesMax: 5 * 2 * 12 - 1 };
  const embedded = embeddingModel(embedder(calls)).embed({ texts, purpose: 'passage' }, bounds);
  await expect(embedded).rejects.toMatchObject({ failureClass: 'policy', providerStatus: 'input_limit' });
  expect(calls).toEqual([]);
});
