import { expect } from 'vitest';
import { guardedEmbedder } from '../../functions/embeddings/guarded-embedder.ts';
import { ProviderFailure } from '../../functions/providers/failure.ts';
import { providerGuard } from '../../functions/providers/provider-guard.ts';
import { FAILURES_MAX, REST_MS } from '../../functions/providers/rules/circuit.ts';
import { EmbeddingsStage } from '../support/embeddings-stage.ts';
import { PaidModel } from '../support/paid-model.ts';
import type { JobsConformance } from './jobs-suite.ts';

const MINUTE_MS = 60_000;

/** Jobs of a provider that may be called twice a minute, with two texts a call. */
export function describeEmbeddingTurns({ store, local }: JobsConformance): void {
  async function stageOf(tokensPerDayMax: number | null = null) {
    const stage = new EmbeddingsStage(store());
    const model = new PaidModel();
    const provider = `paid-${stage.space}`;
    const limits = { callsPerMinute: 2, tokensPerDayMax, spaceSharePercent: 100 };
    const opened = { store: () => Promise.resolve(stage.store), clock: stage.time.clock };
    const guard = providerGuard({ ...opened, provider, limits });
    const own = { ...model.embedder(stage.world), provider };
    const embedder = guardedEmbedder(own, guard);
    const service = stage.embeddings({ embedder });
    await service.engine.start();
    const fail = async (space: string) => {
      const call = guard.within({ space, tokens: 1 }, async (admit) => {
        await admit();
        throw new ProviderFailure('timeout', 'failed', 'failed');
      });
      await expect(call).rejects.toThrow('failed');
    };
    return { stage, model, service, fail };
  }
  /** The space pauses the provider after these calls, of which two may be made in a minute. */
  async function failAgain(stage: EmbeddingsStage, fail: (space: string) => Promise<void>, space: string) {
    for (let count = 1; count <= FAILURES_MAX; count += 1) {
      await fail(space);
      if (count < FAILURES_MAX && count % 2 === 0) stage.time.advance(MINUTE_MS);
    }
  }
  const texts = Array.from({ length: 9 }, (_, index) => `text ${index}`);

  local('a job waits for its next turn without a worker, and pays for no text twice', async () => {
    const { stage, model, service } = await stageOf();
    const { id } = await service.start({ texts });
    for (const [minute, calls] of [2, 4].entries()) {
      await stage.quiet();
      const attempted = 4 * (minute + 1);
      expect(await service.get(id)).toMatchObject({ status: 'queued', attempted, error: null });
      expect(model.calls).toHaveLength(calls);
      await stage.pass(MINUTE_MS);
    }
    expect(await service.ended(id)).toMatchObject({ status: 'succeeded', attempted: 9 });
    expect([...model.paid]).toEqual(texts.map((text) => [text, 1]));
    await service.engine.stop();
  });

  local(
    'a job that is cancelled while it waits for its turn ends at once, and frees its payload',
    async () => {
      const { stage, model, service } = await stageOf();
      const { id } = await service.start({ texts: texts.map((text) => text + 'x'.repeat(10_000)) });
      await stage.quiet();
      expect(await service.stagedBytes()).toBeGreaterThan(90_000);
      expect(await service.cancel(id)).toMatchObject({ status: 'cancelled' });
      expect(await service.stagedBytes()).toBe(0);
      await stage.pass(MINUTE_MS);
      expect(model.calls).toHaveLength(2);
      await service.engine.stop();
    },
  );

  local('a job waits while its space pauses the provider, and continues after the pause', async () => {
    const { stage, model, service, fail } = await stageOf();
    await failAgain(stage, fail, stage.space);
    const { id } = await service.start({ texts: ['text'] });
    await stage.quiet();
    expect(await service.get(id)).toMatchObject({ status: 'queued', attempted: 0, error: null });
    expect(model.calls).toEqual([]);
    await stage.pass(REST_MS);
    expect(await service.ended(id)).toMatchObject({ status: 'succeeded', attempted: 1 });
    await service.engine.stop();
  });

  local('a job is not affected by failures of other spaces', async () => {
    const { stage, service, fail } = await stageOf();
    await failAgain(stage, fail, 'evil');
    stage.time.advance(MINUTE_MS);
    await fail('other');
    const { id } = await service.start({ texts: ['text'] });
    expect(await service.ended(id)).toMatchObject({ status: 'succeeded' });
    await service.engine.stop();
  });

  local(
    'a job whose provider has spent its day fails with the class quota, and keeps what it paid for',
    async () => {
      const { model, service } = await stageOf(6);
      const job = await service.ended((await service.start({ texts })).id);
      expect(job).toMatchObject({ status: 'failed', failureClass: 'quota', result: null });
      expect([job.attempted, model.calls.length]).toEqual([2, 1]);
      await service.engine.stop();
    },
  );
}
