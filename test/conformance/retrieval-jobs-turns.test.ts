import { beforeAll, expect, test } from 'vitest';
import { builtInEmbedder } from '../../functions/embeddings/built-in.ts';
import type { Embedder } from '../../functions/embeddings/embedder.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { RetrievalJobsStage } from '../support/retrieval-jobs-stage.ts';
import { DIMENSIONS, RetrievalStage } from './retrieval-stage.ts';

const TURN_MS = 60_000;
/** A case may take more turns of the event loop than a pass of the stage awaits: no lease ends in between. */
const LEASE_MS = 100 * TURN_MS;
const TURNS_MAX = 100;
/** Every further execution starts with a turn of its own, so it finishes two cases. */
const CASES = 2 * TURNS_MAX;

// A turn count does not see that a handler loads its code.
beforeAll(() => import('../../functions/groups/retrieval/jobs/run-retrieval-job.ts'));

/** Answers `answered` calls, then refuses one, and so on. */
function busyEmbedder(answered: number): Embedder {
  const inner = builtInEmbedder('local-token-hash', DIMENSIONS);
  if (inner === null) throw new Error('the model is part of the service');
  let calls = 0;
  return {
    ...inner,
    embed: (texts, call) => {
      calls += 1;
      if (calls % (answered + 1) === 0) throw new ServiceError('unavailable', 'too much to do');
      return inner.embed(texts, call);
    },
  };
}

/**
 * The status of the job after the given number of turns, with a model that refuses one call after the given number of
 * calls.
 */
async function statusAfter(turns: number, answered: number): Promise<{ status: string; turn: number }> {
  const stage = new RetrievalJobsStage(new MemoryStore(new MemoryDatabase()));
  await stage.furnish();
  const own = { embedder: busyEmbedder(answered), space: stage.space };
  const { parts } = new RetrievalStage(stage.store, own);
  // The job waits by the clock of its run.
  const records = { ...parts.records, world: stage.world };
  const service = stage.jobs({ leaseMs: LEASE_MS, parts: { ...parts, records } });
  const cases = Array.from({ length: CASES }, (_, n) => ({
    request: { query: `fox ${n}`, collections: ['notes'], searchMode: 'vector' },
    expected: [{ id: 'fox' }],
  }));
  const { id } = await service.start({ cases });
  await service.engine.start();
  for (let turn = 1; turn <= turns; turn += 1) {
    await stage.pass(TURN_MS);
    // A stage does not see the turns that a case gives to others.
    for (let pauses = 0; pauses < turn; pauses += 1) await stage.quiet();
    const { status } = await service.get(id);
    if (status !== 'queued' && status !== 'running') return { status, turn };
  }
  await service.engine.stop();
  return { status: 'running', turn: turns };
}

test('a job with a case in each turn ends well, however many turns that takes', async () => {
  const { status, turn } = await statusAfter(2 * CASES, 1);
  expect(status).toBe('succeeded');
  expect(turn).toBeGreaterThan(TURNS_MAX);
});

test('a job without a further case in any turn fails', async () => {
  expect(await statusAfter(2 * CASES, 0)).toMatchObject({ status: 'failed' });
});
