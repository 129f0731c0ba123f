import { describe, expect, test, vi } from 'vitest';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { TurnRoom } from '../kernel/turn-room.ts';
import { StoreError } from '../store/port.ts';
import { builtInEmbedder } from './built-in.ts';
import { embedTexts } from './embed-texts.ts';
import type { Embedder } from './embedder.ts';
import { readEmbeddingRequest } from './rules/request.ts';
import { createEmbeddingParts, type EmbeddingParts } from './text-vectors.ts';

const signal = new AbortController().signal;
const texts = ['a', 'b', 'c', 'd', 'e', 'b', 'f', 'g'];
const different = 7;
const question = readEmbeddingRequest({ texts, purpose: 'passage' });

/** A paid model that records its calls. */
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

/** A process that dies at a store call: afterwards neither the store nor a model answers it. */
class Process {
  isDead = false;
  live(): Promise<void> {
    return this.isDead ? Promise.reject(new Error('the process died')) : Promise.resolve();
  }
}

function storeOver(
  database: MemoryDatabase,
  diesAt = Infinity,
  when: 'before' | 'after' = 'before',
  process = new Process(),
) {
  let trips = 0;
  const die = () => {
    trips += 1;
    if (trips > diesAt) process.isDead = true;
    return process.live();
  };
  const store = new MemoryStore(database, { [when]: die });
  return () => Promise.resolve(store);
}

describe('texts', () => {
  test('get the vectors of the model, in the order of the request', async () => {
    const { embedder } = paidModel();
    const answer = await embedTexts(
      createEmbeddingParts({ store: storeOver(new MemoryDatabase()), embedder }),
      question,
      {
        space: 's',
        signal,
      },
    );
    expect(answer).toMatchObject({ provider: 'deterministic-hash', dimensions: 8, purpose: 'passage' });
    const vectors = await embedder.embed(texts, { purpose: 'passage', signal });
    expect(answer.items.map(({ values }) => Float32Array.from(values))).toEqual(vectors);
    expect(answer.items.map(({ index }) => index)).toEqual(texts.map((_, index) => index));
    expect(answer.items[0]).toMatchObject({ textLength: 1, preparedTextLength: 1, prefixApplied: false });
  });

  test('that occur twice in a request are paid for once, and progress is reported after each call', async () => {
    const { embedder, calls } = paidModel();
    const done: number[] = [];
    const moved = (count: number) => Promise.resolve(void done.push(count));
    await embedTexts(createEmbeddingParts({ store: storeOver(new MemoryDatabase()), embedder }), question, {
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
      embedTexts(
        createEmbeddingParts({ store, embedder: { ...embedder, ...own } }),
        readEmbeddingRequest({ text: 'a', purpose }),
        {
          space,
          signal,
        },
      );
    await ask();
    await ask();
    expect(calls).toHaveLength(1);
    await ask({}, 'passage');
    await ask({}, 'query', 'another');
    await ask({ modelId: 'another' });
    await ask({ dimensions: 9 });
    expect(calls).toHaveLength(5);
  });

  test('of many numbers are kept and read in groups of 256 KiB, with a turn after each', async () => {
    const model = paidModel(48).embedder;
    const vector = new Float32Array(4_096).fill(0.5);
    const embedder = {
      ...model,
      dimensions: 4_096,
      embed: async (batch: readonly string[]) => batch.map(() => vector),
    };
    const store = new MemoryStore(new MemoryDatabase());
    const committed = vi.spyOn(store, 'transact');
    const read = vi.spyOn(store, 'query');
    let now = 0;
    let turns = 0;
    const later = (next: () => void) => {
      turns += 1;
      setImmediate(next);
    };
    const room = new TurnRoom({ now: () => (now += 10) }, later);
    const parts = createEmbeddingParts({ store: () => Promise.resolve(store), embedder, turns: room });
    const many = readEmbeddingRequest({ texts: Array.from({ length: 48 }, (_, n) => `text ${n}`) });
    const [first, again] = [await embedTexts(parts, many, { space: 's', signal }), turns];
    expect(committed.mock.calls.map(([, { keys }]) => keys.length)).toEqual([16, 16, 16]);
    expect(read.mock.calls.map(([, asked]) => asked)).toMatchObject(
      Array.from({ length: 3 }, () => ({ by: 'keys', keys: { length: 16 } })),
    );
    // Its hash, its record and its numbers in the answer: each vector takes a turn for them.
    expect(again).toBeGreaterThanOrEqual(3 * 48);
    expect(await embedTexts(parts, many, { space: 's', signal })).toEqual(first);
    expect(turns - again).toBeGreaterThanOrEqual(3 * 48);
  });

  test('of a model that is free are not kept', async () => {
    const { embedder, calls } = paidModel();
    const store = () => Promise.reject(new Error('no store is needed'));
    const free = createEmbeddingParts({ store, embedder: { ...embedder, isPaid: false } });
    await embedTexts(free, question, { space: 's', signal });
    expect(calls).toHaveLength(4);
  });

  test('are not requested after the call is cancelled', async () => {
    const { embedder, calls } = paidModel();
    const controller = new AbortController();
    const moved = () => Promise.resolve(controller.abort());
    const work = { space: 's', signal: controller.signal, moved };
    const call = embedTexts(
      createEmbeddingParts({ store: storeOver(new MemoryDatabase()), embedder }),
      question,
      work,
    );
    await expect(call).rejects.toThrow('abort');
    expect(calls).toHaveLength(1);
  });
});

describe('a store that fails to keep paid vectors', () => {
  /** Fails so many writes. */
  function failing(writes: number) {
    const database = new MemoryDatabase();
    let left = writes;
    const store = new MemoryStore(database, {});
    const transact: typeof store.transact = (...given) => {
      left -= 1;
      return left >= 0 ? Promise.reject(new StoreError('full', 'no room')) : store.transact(...given);
    };
    const over = new Proxy(store, {
      get: (target, name) => {
        if (name === 'transact') return transact;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    return { database, store: () => Promise.resolve(over) };
  }

  test('is tried once more', async () => {
    const { embedder, calls } = paidModel(9);
    const { store } = failing(1);
    const reports: unknown[] = [];
    const paid = { report: (error: unknown) => void reports.push(error) };
    const parts = createEmbeddingParts({ store, embedder, paid });
    await embedTexts(parts, question, { space: 's', signal });
    await embedTexts(parts, question, { space: 's', signal });
    expect([calls.length, reports]).toEqual([1, []]);
  });

  test('leaves the answer unchanged, and is reported for each call of the model', async () => {
    const { embedder, calls } = paidModel();
    const { store } = failing(Infinity);
    const reports: unknown[] = [];
    const paid = { report: (error: unknown) => void reports.push(error) };
    const parts = createEmbeddingParts({ store, embedder, paid });
    const { items } = await embedTexts(parts, question, { space: 's', signal });
    expect(items.map(({ values }) => values.length)).toEqual(Array(8).fill(8));
    expect([calls.length, reports]).toEqual([4, Array(4).fill(expect.any(StoreError))]);
  });
});

describe('calls at once for the same texts', () => {
  const ask = (parts: EmbeddingParts, own: object = {}) =>
    embedTexts(parts, question, { space: 's', signal, ...own });

  /** A paid model whose calls wait until a test lets them end. */
  function heldModel() {
    const { embedder, calls } = paidModel(9);
    const held: { readonly end: (error?: Error) => void }[] = [];
    const embed: Embedder['embed'] = async (batch, call) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      held.push({ end: (error) => (error === undefined ? resolve() : reject(error)) });
      const vectors = await embedder.embed(batch, call);
      await promise;
      return vectors;
    };
    return { embedder: { ...embedder, embed }, calls, held };
  }

  test('pay once', async () => {
    const { embedder, calls, held } = heldModel();
    const parts = createEmbeddingParts({ store: storeOver(new MemoryDatabase()), embedder });
    const both = [ask(parts), ask(parts)];
    await expect.poll(() => held.length).toBe(1);
    held[0]?.end();
    const [one, two] = await Promise.all(both);
    expect(two).toEqual(one);
    expect(calls).toHaveLength(1);
  });

  test('pay apart in two spaces, and with two stores', async () => {
    const { embedder, held } = heldModel();
    const parts = createEmbeddingParts({ store: storeOver(new MemoryDatabase()), embedder });
    const all = [
      ask(parts),
      ask(parts, { space: 'another' }),
      ask(createEmbeddingParts({ store: storeOver(new MemoryDatabase()), embedder })),
    ];
    await expect.poll(() => held.length).toBe(3);
    for (const { end } of held) end();
    await Promise.all(all);
  });

  test('are not ended by the failure of the paying call', async () => {
    const { embedder, calls, held } = heldModel();
    const parts = createEmbeddingParts({ store: storeOver(new MemoryDatabase()), embedder });
    const first = ask(parts);
    await expect.poll(() => held.length).toBe(1);
    const second = ask(parts);
    held[0]?.end(new Error('too large'));
    await expect(first).rejects.toThrow('too large');
    await expect.poll(() => held.length).toBe(2);
    held[1]?.end();
    expect((await second).items).toHaveLength(8);
    expect(calls).toHaveLength(2);
  });

  test('end at once where they are cancelled while another pays', async () => {
    const { embedder, calls, held } = heldModel();
    const parts = createEmbeddingParts({ store: storeOver(new MemoryDatabase()), embedder });
    const first = ask(parts);
    await expect.poll(() => held.length).toBe(1);
    const controller = new AbortController();
    const second = ask(parts, { signal: controller.signal });
    controller.abort();
    await expect(second).rejects.toThrow();
    held[0]?.end();
    await first;
    expect(calls).toHaveLength(1);
  });
});

/** The texts that two processes pay for if the first dies at a store call. */
async function paidTwice(diesAt: number, when: 'before' | 'after') {
  const database = new MemoryDatabase();
  const { embedder, calls } = paidModel();
  const process = new Process();
  const mortal: Embedder = {
    ...embedder,
    embed: (...call) => process.live().then(() => embedder.embed(...call)),
  };
  const store = storeOver(database, diesAt, when, process);
  await embedTexts(createEmbeddingParts({ store, embedder: mortal }), question, { space: 's', signal }).catch(
    () => undefined,
  );
  const first = process.isDead ? 'died' : 'ended';
  const inFlight = first === 'died' ? (calls.at(-1) ?? []) : [];
  await embedTexts(createEmbeddingParts({ store: storeOver(database), embedder }), question, {
    space: 's',
    signal,
  });
  const all = calls.flat();
  const twice = all.filter((text, at) => all.indexOf(text) !== at);
  return { first, inFlight, twice, count: new Set(all).size };
}

describe('a job that continues after a crash', () => {
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
