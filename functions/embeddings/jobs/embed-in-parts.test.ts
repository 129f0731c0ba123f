import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { builtInEmbedder } from '../built-in.ts';
import { type EmbeddingItem, embedTexts } from '../embed-texts.ts';
import type { Embedder } from '../embedder.ts';
import { type EmbeddingQuestion, readEmbeddingRequest } from '../rules/request.ts';
import { createEmbeddingParts } from '../text-vectors.ts';
import { embedInParts } from './embed-in-parts.ts';
import { packItems, unpackItems } from './packed-items.ts';
import { splitQuestion } from './split-question.ts';

const signal = new AbortController().signal;
const noStore = () => Promise.reject(new Error('no store is needed'));

function model(own: Partial<Embedder> = {}): Embedder {
  const builtIn = builtInEmbedder('deterministic-hash', 8);
  if (builtIn === null) throw new Error('the model is part of the service');
  return { ...builtIn, ...own };
}

const texts = fc.array(
  fc.string({ minLength: 1, maxLength: 40 }).map((text) => `x${text}`),
  {
    minLength: 1,
    maxLength: 30,
  },
);

describe('a question in parts', () => {
  test('has all texts in their order, in calls within the limits of the model', () => {
    const limits = { textsMax: fc.integer({ min: 1, max: 9 }), tokensMax: fc.integer({ min: 20, max: 60 }) };
    fc.assert(
      fc.property(texts, fc.record(limits), (all, batch) => {
        const question = readEmbeddingRequest({ texts: all });
        const parts = splitQuestion(question, model({ batch }));
        expect(parts.flatMap((part) => part.texts)).toEqual(all);
        for (const part of parts) {
          expect(part).toMatchObject({ purpose: question.purpose, prefixes: question.prefixes });
          expect(part.texts.length).toBeLessThanOrEqual(batch.textsMax);
        }
      }),
    );
  });

  test('counts the prefix of the model, and ends where its vectors fill a checkpoint', () => {
    const question = readEmbeddingRequest({ texts: ['aaa', 'aaa'] });
    const batch = { textsMax: 9, tokensMax: 3 };
    const prefixes = { query: null, passage: null, symmetric: 'aa aaa' };
    expect(splitQuestion(question, model({ batch }))).toHaveLength(1);
    expect(splitQuestion(question, model({ batch, prefixes }))).toHaveLength(2);
    const wide = { textsMax: 128, tokensMax: 1_000 };
    const many = readEmbeddingRequest({ texts: Array<string>(128).fill('a') });
    const sizes = splitQuestion(many, model({ batch: wide, dimensions: 3_072 })).map(
      (part) => part.texts.length,
    );
    expect(sizes).toEqual([50, 50, 28]);
    expect(splitQuestion(many, model({ batch: wide, dimensions: 400_000 }))).toHaveLength(128);
  });
});

test('items are the same after they were packed', async () => {
  const prefixes = { query: null, passage: null, symmetric: 'xy ' };
  const embedder = model({ prefixes });
  await fc.assert(
    fc.asyncProperty(texts, fc.integer({ min: 0, max: 9 }), async (all, first) => {
      const question = readEmbeddingRequest({ texts: all });
      const { items } = await embedTexts(createEmbeddingParts({ store: noStore, embedder }), question, {
        space: 's',
        signal,
      });
      const shifted = items.map((item) => ({ ...item, index: item.index + first }));
      const packed = JSON.parse(JSON.stringify(packItems(shifted, 8))) as ReturnType<typeof packItems>;
      expect(unpackItems(packed, first)).toEqual(shifted);
    }),
    { numRuns: 50 },
  );
});

describe('work in parts', () => {
  const question = readEmbeddingRequest({ text: 'a', texts: ['b', 'a', 'c', 'd'], purpose: 'query' });
  const embedder = model({ batch: { textsMax: 2, tokensMax: 100 } });
  const parts = createEmbeddingParts({ store: noStore, embedder });

  async function work(asked: EmbeddingQuestion, kept: readonly EmbeddingItem[] = []) {
    const keeps: number[][] = [];
    const keep = (items: readonly EmbeddingItem[]) =>
      Promise.resolve(void keeps.push(items.map(({ index }) => index)));
    const answer = await embedInParts(parts, asked, { space: 's', signal, kept, keep });
    return { answer, keeps };
  }

  test('answers what one call answers, and keeps each part', async () => {
    const whole = await embedTexts(parts, question, { space: 's', signal });
    const { answer, keeps } = await work(question);
    expect(answer).toEqual(whole);
    expect(keeps).toEqual([[0, 1], [2, 3], [4]]);
  });

  test('continues after the stored parts', async () => {
    const { answer: whole } = await work(question);
    for (let count = 0; count <= whole.items.length; count += 1) {
      const { answer, keeps } = await work(question, whole.items.slice(0, count));
      expect(answer).toEqual(whole);
      expect(keeps.flat()).toEqual([0, 1, 2, 3, 4].slice(count));
    }
  });

  test('ends with the first part that cannot be kept', async () => {
    let calls = 0;
    const counting = {
      ...embedder,
      embed: (...call: Parameters<Embedder['embed']>) => {
        calls += 1;
        return embedder.embed(...call);
      },
    };
    const keep = () => Promise.reject(new Error('another worker has the job'));
    const own = createEmbeddingParts({ store: noStore, embedder: counting });
    const done = embedInParts(own, question, { space: 's', signal, kept: [], keep });
    await expect(done).rejects.toThrow('another worker');
    expect(calls).toBe(1);
  });
});
