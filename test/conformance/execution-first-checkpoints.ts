import { describe, expect, test } from 'vitest';
import { removeRun } from '../../functions/runs/maintenance/remove-run.ts';
import { requireRun } from '../../functions/runs/read-runs.ts';
import { again, child } from './execution-children-stage.ts';
import { begun, HANDLER, leased, refusedWith, Stage, typesOf } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

const CHECKPOINTS = [
  { key: 'svc.steps.0', content: { done: ['charge'] }, metadata: { of: 'first' } },
  { key: 'other', content: 2 },
];

/** Checkpoints that a start gives to its run. */
export function describeFirstCheckpoints({ store }: ExecutionConformance): void {
  describe('first checkpoints', () => {
    test('are there for the first attempt, and later ones replace them', async () => {
      const client = new Stage(store()).client();
      const { id, proof } = await begun(client, { checkpoints: CHECKPOINTS });
      expect(await client.get(id)).toMatchObject({ attempt: 1, firstCheckpoints: 2 });
      expect(await client.get((await begun(client, { checkpoints: [] })).id)).not.toHaveProperty(
        'firstCheckpoints',
      );
      const first = await client.readCheckpoint({ ...proof, key: 'svc.steps.0' });
      expect(first).toMatchObject({ runId: id, content: { done: ['charge'] }, metadata: { of: 'first' } });
      await client.putCheckpoint({ ...proof, checkpoint: { key: 'other', content: 3 } });
      expect(await client.checkpoint(id, 'other')).toMatchObject({ content: 3 });
      expect((await typesOf(client, id)).slice(0, 3)).toEqual([
        'run.created',
        'checkpoint.written',
        'checkpoint.written',
      ]);
    });

    test('come with the first lease', async () => {
      const client = new Stage(store()).client();
      const { id } = await client.start({ handlerId: HANDLER, checkpoints: CHECKPOINTS });
      const { checkpoints } = await leased(client, {
        runId: id,
        checkpointKeys: ['svc.steps.0', 'svc.steps.1'],
      });
      expect(checkpoints).toMatchObject({
        found: [{ key: 'svc.steps.0', content: { done: ['charge'] } }],
        absent: ['svc.steps.1'],
      });
    });

    test('belong to the idempotency key', async () => {
      const client = new Stage(store()).client();
      const start = (checkpoints?: typeof CHECKPOINTS) =>
        client.start({ handlerId: HANDLER, idempotencyKey: 'k', ...(checkpoints && { checkpoints }) });
      const { id } = await start(CHECKPOINTS);
      expect((await start([...CHECKPOINTS].reverse())).id).toBe(id);
      expect(await refusedWith(start())).toBe('idempotency_conflict');
      expect(await refusedWith(start(CHECKPOINTS.slice(1)))).toBe('idempotency_conflict');
    });

    test('have one for each key, and at most 32', async () => {
      const client = new Stage(store()).client();
      const start = (checkpoints: typeof CHECKPOINTS) =>
        refusedWith(client.start({ handlerId: HANDLER, checkpoints }));
      expect(await start([...CHECKPOINTS, ...CHECKPOINTS])).toBe('validation_failed');
      const many = Array.from({ length: 33 }, (_, at) => ({ key: `c${at}`, content: at }));
      expect(await start(many)).toBe('limit_exceeded');
    });

    test('are given to a child, and removed with their run', async () => {
      const stage = new Stage(store());
      const client = stage.client();
      const { proof } = await begun(client);
      const runId = await child(client, proof, 'c', { checkpoints: CHECKPOINTS });
      const held = await again(client, runId);
      expect(await client.readCheckpoint({ ...held, key: 'other' })).toMatchObject({ content: 2 });
      await client.complete({ ...held, result: { status: 'succeeded' } });
      const { runtime } = client.instance;
      const counts = await removeRun(runtime, await requireRun(runtime, runId), stage.time.now);
      expect(counts).toMatchObject({ runs: 1, checkpoints: 2 });
    });
  });
}
