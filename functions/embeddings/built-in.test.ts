import { hash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { builtInEmbedder } from './built-in.ts';
import { defaultHashes, vectors } from './vectors.fixture.ts';

const providers = ['local-token-hash', 'deterministic-hash'] as const;
const call = { purpose: 'symmetric', signal: new AbortController().signal } as const;

async function embed(provider: string, text: string, dimensions?: number): Promise<Float32Array> {
  const [vector] = (await builtInEmbedder(provider, dimensions)?.embed([text], call)) ?? [];
  if (vector === undefined) throw new Error('no vector');
  return vector;
}

const bytesOf = (vector: Float32Array) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);

describe.each(providers)('%s', (provider) => {
  test.each(vectors[provider].map(({ text, hex }) => [text, hex]))(
    'gives %j its vector',
    async (text, hex) => {
      expect(bytesOf(await embed(provider, text, 8)).toString('hex')).toBe(hex);
    },
  );

  test('has the vector of its default size', async () => {
    const vector = await embed(provider, vectors[provider][0].text);
    expect(hash('sha256', bytesOf(vector))).toBe(defaultHashes[provider]);
  });

  test('gives every text a vector of length 1 or none, and equal texts equal vectors', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme' }),
        fc.integer({ min: 1, max: 400 }),
        async (text, size) => {
          const vector = await embed(provider, text, size);
          expect(vector).toHaveLength(size);
          const squares = vector.reduce((sum, value) => sum + value * value, 0);
          if (squares !== 0) expect(squares).toBeCloseTo(1, 5);
          expect(await embed(provider, text, size)).toEqual(vector);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('is free and needs no prefixes', () => {
    const model = builtInEmbedder(provider);
    expect(model).toMatchObject({ isPaid: false, prefixes: { query: null, passage: null, symmetric: null } });
  });
});

test('texts that share words are near each other with token hashes only', async () => {
  const texts = ['the cat sat on the mat', 'a cat on a mat', 'quarterly revenue of the group'];
  const nearness = async (provider: string) => {
    const [one, near, far] = await Promise.all(texts.map((text) => embed(provider, text)));
    const dot = (other: Float32Array | undefined) =>
      one?.reduce((sum, value, at) => sum + value * (other?.[at] ?? 0), 0) ?? 0;
    return [dot(near), dot(far)] as const;
  };
  const [near, far] = await nearness('local-token-hash');
  expect(near).toBeGreaterThan(0.2);
  expect(far).toBeLessThan(0.1);
});

test('another provider has no embedder of the service', () => {
  expect(builtInEmbedder('elsewhere')).toBeNull();
});
