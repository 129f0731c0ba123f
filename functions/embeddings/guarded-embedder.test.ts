import { expect, test } from 'vitest';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { ProviderFailure } from '../providers/failure.ts';
import { providerGuard } from '../providers/provider-guard.ts';
import { readQuotas } from '../providers/read-quotas.ts';
import type { Embedder } from './embedder.ts';
import { guardedEmbedder } from './guarded-embedder.ts';

/** The tokens of the day after calls of one text of 30 bytes, whose answers report these tokens. */
async function tokensOfDay(reports: readonly (number | null)[], fails = false): Promise<number | undefined> {
  const opened = new MemoryStore(new MemoryDatabase());
  const store = () => Promise.resolve(opened);
  const clock = { now: () => Date.UTC(2026, 0, 1) };
  const limits = { callsPerMinute: null, tokensPerDayMax: 1_000, spaceSharePercent: 50 };
  const guard = providerGuard({ store, clock, provider: 'mine', limits });
  const prefixes = { query: null, passage: null, symmetric: null };
  const batch = { textsMax: 1, tokensMax: 100 };
  let calls = 0;
  const model: Embedder = {
    provider: 'mine',
    modelId: 'm',
    dimensions: 1,
    prefixes,
    isPaid: true,
    batch,
    async embed(_, { admit, took }) {
      await admit?.();
      took?.(reports[calls] ?? null);
      calls += 1;
      if (fails) throw new ProviderFailure('schema', 'vector_count', 'No vector.');
      return [new Float32Array(1)];
    },
  };
  const call = { purpose: 'query', signal: new AbortController().signal, space: 'a' } as const;
  for (const _ of reports)
    await guardedEmbedder(model, guard)
      .embed(['x'.repeat(30)], call)
      .catch(() => undefined);
  const [spent] = await readQuotas(store, [{ id: 'mine', limits }], { space: 'a', now: clock.now() });
  return spent?.tokensOfDay?.used;
}

test('the tokens that the provider reports count for the day, also where its answer is refused', async () => {
  expect(await tokensOfDay([3, 250])).toBe(253);
  expect(await tokensOfDay([3], true)).toBe(3);
});

test('without a report a token counts as three bytes', async () => {
  expect(await tokensOfDay([null, 3])).toBe(13);
});
