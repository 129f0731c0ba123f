import { describe, expect, test } from 'vitest';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { builtInEmbedder } from './built-in.ts';
import { embedTexts } from './embed-texts.ts';
import type { Embedder } from './embedder.ts';
import { readEmbeddingRequest } from './rules/request.ts';

const signal = new AbortController().signal;
const texts = ['a', 'b', 'c', 'd', 'e', 'b', 'f', 'g'];
const different = 7;
const question = readEmbeddingRequest({ texts, purpose: 'passage' });

/** A paid model that keeps what it was asked. */
function paidModel(textsMax = 2) {
  const calls: string[][] = [];
  const model = builtInEmbedder('deterministic-hash', 8);
  if (model === null) throw new Error('the model is part of the service');
  const embedder: Embedder = {
    ...model,
    isPaid: true,
    batch: { textsMax, tokensMax: 1_000 },
    embed(batch, call) {
      calls.push([...batch]);
      return model.embed(batch, call);
    },
  };
  return { embedder, calls };
}

function storeOver(database: MemoryDatabase, diesAt = Infinity, when: 'before' | 'after' = 'before') {
  let trips = 0;
  const die = () => {
    trips += 1;
    return trips > diesAt ? Promise.reject(new Error('the process died')) : Promise.resolve();
  };
  const store = new MemoryStore(database, { [when]: die });
  return () => Promise.resolve(store);
}

describe('texts', () => {
  test('get the vectors of the model, in the order of the request', async () => {
    const { embedder } = paidModel();
    const answer = await embedTexts({ store: storeOver(new MemoryDatabase()), embedder }, question, {
      space: 's',
      signal,
    });
    expect(answer).toMatchObject({ provider: 'deterministic-hash', dimensions: 8, purpose: 'passage' });
    const vectors = await embedder.embed(texts, { purpose: 'passage', signal });
    expect(answer.items.map(({ values }) => Float32Array.from(values))).toEqual(vectors);
    expect(answer.items.map(({ index }) => index)).toEqual(texts.map((_, index) => index));
    expect(answer.items[0]).toMatchObject({ textLength: 1, preparedTextLength: 1, prefixApplied: false });
  });

  test('that stand twice in a request are paid for once, and progress is told after each call', async () => {
    const { embedder, calls } = paidModel();
    const done: number[] = [];
    const moved = (count: number) => Promise.resolve(void done.push(count));
    await embedTexts({ store: storeOver(new MemoryDatabase()), embedder }, question, {
      space: 's',
      signal,
      moved,
    });
    expect(calls).toEqual([['a', 'b'], ['c', 'd'], ['e', 'f'], ['g']]);
    expect(done).toEqual([2, 4, 6, different]);
  });

  test('of another space, purpose, model or size are paid for again', async () => {
    const store = storeOver(new MemoryDatabase());
    const { embedder, calls } = paidModel();
    const ask = (own: Partial<Embedder> = {}, purpose = 'query', space = 's') =>
      embedTexts({ store, embedder: { ...embedder, ...own } }, readEmbeddingRequest({ text: 'a', purpose }), {
        space,
        signal,
      });
    await ask();
    await ask();
    expect(calls).toHaveLength(1);
    await ask({}, 'passage');
    await ask({}, 'query', 'another');
    await ask({ modelId: 'another' });
    await ask({ dimensions: 9 });
    expect(calls).toHaveLength(5);
  });

  test('of a model that is free are not kept', async () => {
    const { embedder, calls } = paidModel();
    const store = () => Promise.reject(new Error('no store is needed'));
    const free = { store, embedder: { ...embedder, isPaid: false } };
    await embedTexts(free, question, { space: 's', signal });
    expect(calls).toHaveLength(4);
  });

  test('are not asked for once the call is cancelled', async () => {
    const { embedder, calls } = paidModel();
    const controller = new AbortController();
    const moved = () => Promise.resolve(controller.abort());
    const work = { space: 's', signal: controller.signal, moved };
    const call = embedTexts({ store: storeOver(new MemoryDatabase()), embedder }, question, work);
    await expect(call).rejects.toThrow('abort');
    expect(calls).toHaveLength(1);
  });
});

/** What two processes pay for, of which the first dies at a store call. */
async function paidTwice(diesAt: number, when: 'before' | 'after') {
  const database = new MemoryDatabase();
  const { embedder, calls } = paidModel();
  const first = await embedTexts({ store: storeOver(database, diesAt, when), embedder }, question, {
    space: 's',
    signal,
  }).then(
    () => 'ended',
    () => 'died',
  );
  const inFlight = first === 'died' ? (calls.at(-1) ?? []) : [];
  await embedTexts({ store: storeOver(database), embedder }, question, { space: 's', signal });
  const all = calls.flat();
  const twice = all.filter((text, at) => all.indexOf(text) !== at);
  return { first, inFlight, twice, count: new Set(all).size };
}

describe('a job that goes on after a crash', () => {
  test.each(['before', 'after'] as const)(
    'pays for no text twice save the last call, dying %s each store call',
    async (when) => {
      let deaths = 0;
      for (let diesAt = 0; ; diesAt += 1) {
        const { first, inFlight, twice, count } = await paidTwice(diesAt, when);
        expect(count).toBe(different);
        expect(twice.filter((text) => !inFlight.includes(text))).toEqual([]);
        if (first === 'ended') break;
        deaths += 1;
      }
      expect(deaths).toBeGreaterThan(4);
    },
  );
});
