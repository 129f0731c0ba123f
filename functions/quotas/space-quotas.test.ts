import { describe, expect, test } from 'vitest';
import { largeBytes, ObjectsStage } from '../../test/conformance/objects-stage.ts';
import { MemoryBlobs, type MemoryPlace } from '../../test/simulation/memory-blobs.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { builtInEmbedder } from '../embeddings/built-in.ts';
import { embedTexts } from '../embeddings/embed-texts.ts';
import { readEmbeddingRequest } from '../embeddings/rules/request.ts';
import { createEmbeddingParts } from '../embeddings/text-vectors.ts';
import { createTraceParts } from '../traces/parts.ts';
import { spaceScope, traceKey } from '../traces/store-collections.ts';
import { writeTrace } from '../traces/write-trace.ts';
import { boundedMemory } from './bounded-store.fixture.ts';

const space = 's';
const owner = { kind: 'spaces', name: space } as const;

describe('bytes outside of the database', () => {
  const SIZE = largeBytes(0).length;

  function objects() {
    const world = new ManualWorld();
    const bounded = boundedMemory(world);
    const place: MemoryPlace = new Map();
    const stage = new ObjectsStage(bounded.store, new MemoryBlobs(place), { space, world });
    return { ...bounded, place, stage, usedNow: () => bounded.used(owner) };
  }

  test('count until upkeep has removed them, whether they were replaced or deleted', async () => {
    const { stage, place, usedNow } = objects();
    await stage.put('a', largeBytes(1));
    const one = await usedNow();
    await stage.put('a', largeBytes(2));
    await stage.put('a', Buffer.from('small'));
    await stage.put('b', largeBytes(3));
    await stage.remove('b');
    expect(place.size).toBe(3);
    expect(await usedNow()).toBeGreaterThan(3 * SIZE);
    await stage.remove('a');
    await stage.sweepLater();
    expect([place.size, await usedNow()]).toEqual([0, 0]);
    await stage.put('a', largeBytes(1));
    expect(await usedNow()).toBe(one);
  });

  test('are bounded where one object is replaced again and again, and a deletion passes', async () => {
    const { stage, place, bound, usedNow } = objects();
    bound.bytes = 5 * SIZE;
    const replaced = async () => {
      for (let fill = 0; fill < 100; fill += 1) await stage.put('a', largeBytes(fill));
    };
    await expect(replaced()).rejects.toMatchObject({ code: 'quota_exceeded' });
    expect(place.size).toBeLessThanOrEqual(5);
    expect(place.size).toBeGreaterThan(2);
    await stage.remove('a');
    await stage.sweepLater();
    expect(await usedNow()).toBe(0);
    await stage.put('a', largeBytes(1));
  });
});

describe('a space that may store nothing more', () => {
  test('loses its traces, while its calls succeed', async () => {
    const { store, bound, used } = boundedMemory();
    const world = new ManualWorld();
    const limits = { readsPerCallMax: 100, answerBytesMax: 100_000, retentionMs: null };
    const traces = createTraceParts({ store: () => Promise.resolve(store), world, limits });
    const draft = {
      operation: 'retrieval.search',
      adapter: null,
      request: { text: 'x'.repeat(2_000) },
      resultSummary: {},
      startedAt: world.now,
      durationMs: 1,
    };
    expect(await writeTrace(traces, space, { ...draft, id: 'trace-1' })).toBe(true);
    bound.bytes = await used(owner);
    expect(await writeTrace(traces, space, { ...draft, id: 'trace-2' })).toBe(false);
    expect(await writeTrace(traces, space, { ...draft, id: 'trace-1' })).toBe(true);
    const keys = ['trace-1', 'trace-2'].map((id) => ({ key: traceKey(id) }));
    expect((await store.query(spaceScope(space), { by: 'keys', keys })).records).toHaveLength(1);
    expect(await used(owner)).toBe(bound.bytes);
  });

  test('keeps no vectors that are paid for, is answered them, and pays for them again', async () => {
    const { store, bound, used } = boundedMemory();
    const model = builtInEmbedder('deterministic-hash', 8);
    if (model === null) throw new Error('the model is part of the service');
    let paid = 0;
    const reports: unknown[] = [];
    const parts = createEmbeddingParts({
      store: () => Promise.resolve(store),
      embedder: {
        ...model,
        isPaid: true,
        embed(batch, call) {
          paid += batch.length;
          return model.embed(batch, call);
        },
      },
      paid: { report: (error) => reports.push(error) },
    });
    const ask = (texts: readonly string[]) =>
      embedTexts(parts, readEmbeddingRequest({ texts, purpose: 'query' }), {
        space,
        signal: new AbortController().signal,
      });
    await ask(['a']);
    bound.bytes = await used(owner);
    const first = await ask(['a', 'b']);
    expect(await ask(['a', 'b'])).toEqual(first);
    expect(first.items).toHaveLength(2);
    expect([paid, reports]).toEqual([3, []]);
    expect(await used(owner)).toBe(bound.bytes);
  });
});
