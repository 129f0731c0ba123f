import { expect, test } from 'vitest';
import type { JobContext } from '../../functions/jobs/job-plugin.ts';
import type { JobsConformance } from '../conformance/jobs-suite.ts';
import type { NotesGrant } from './group/access.ts';
import { BATCH } from './group/import-notes.ts';
import { answered, NotesStage } from './notes-stage.ts';

const COUNT = 3 * BATCH;
const LEASE_MS = 8_000;

export function describeJobLife({ store, local }: JobsConformance): void {
  test('the handler writes each note once, and the job reports it', async () => {
    const stage = new NotesStage(store());
    const notes = stage.notes();
    const { id } = await notes.imported(COUNT, { key: 'k' });
    await stage.quiet();
    const done = { requested: COUNT, attempted: COUNT, succeeded: COUNT, failed: 0, progress: 1 };
    expect(await notes.job(id)).toMatchObject({ status: 'succeeded', ...done, result: { written: COUNT } });
    expect(await notes.revisions(COUNT)).toEqual(Array(COUNT).fill(1));
    expect(await notes.imported(COUNT, { key: 'k' })).toMatchObject({ id, status: 'succeeded' });
    await stage.quiet();
    expect(await notes.revisions(COUNT)).toEqual(Array(COUNT).fill(1));
  });

  local('one instance admits, and another executes', async () => {
    const stage = new NotesStage(store());
    const api = stage.notes({ concurrencyMax: 0 });
    const worker = stage.notes({ recheckMs: 1_000 });
    await worker.engine.start();
    const { id } = await api.imported(COUNT);
    await stage.pass(1_000);
    expect(await api.job(id)).toMatchObject({ status: 'succeeded' });
    expect(await api.revisions(COUNT)).toEqual(Array(COUNT).fill(1));
    await worker.engine.stop();
  });

  local('another worker continues from the checkpoint of a worker that died', async () => {
    const stage = new NotesStage(store());
    const hang = (_: JobContext, at: number) =>
      at === BATCH ? new Promise<never>(() => undefined) : Promise.resolve();
    const first = stage.notes({ beforeBatch: hang, leaseMs: LEASE_MS });
    const { id } = await first.imported(COUNT);
    await stage.quiet();
    expect(await first.job(id)).toMatchObject({ status: 'running', attempted: BATCH });
    const stopping = first.engine.stop();
    await stage.quiet();
    await stage.pass(5_000);
    // The handler ignores its interruption too; then its run is given back.
    await stage.pass(1_000);
    await stopping;
    const began: number[] = [];
    const beforeBatch = async (_: JobContext, at: number) => void began.push(at);
    const second = stage.notes({ beforeBatch, leaseMs: LEASE_MS, recheckMs: 1_000 });
    await second.engine.start();
    for (let turn = 0; turn < 10; turn += 1) await stage.pass(2_000);
    expect(await second.job(id)).toMatchObject({ status: 'succeeded', result: { written: COUNT } });
    expect(began).toEqual([BATCH, 2 * BATCH]);
    expect(await second.revisions(COUNT)).toEqual(Array(COUNT).fill(1));
    await second.engine.stop();
  });

  test('a queued job is cancelled at once, and a running one stops between two batches', async () => {
    const stage = new NotesStage(store());
    const queued = await stage.notes({ concurrencyMax: 0 }).imported(1);
    let go = (): void => undefined;
    const beforeBatch = (_: JobContext, at: number) =>
      at === BATCH ? new Promise<void>((resolve) => (go = resolve)) : Promise.resolve();
    const notes = stage.notes({ beforeBatch });
    const cancel = async (id: string) => answered(await notes.call('DELETE', `/note-imports/${id}`));
    expect(await cancel(queued.id)).toMatchObject({ status: 'cancelled', failureClass: 'cancelled' });
    const { id } = await notes.imported(COUNT);
    await stage.quiet();
    expect(await cancel(id)).toMatchObject({ status: 'running', cancellationRequested: true });
    go();
    await stage.quiet();
    expect(await cancel(id)).toMatchObject({ status: 'cancelled', attempted: BATCH });
    expect((await notes.revisions(COUNT)).filter((revision) => revision === 1)).toHaveLength(BATCH);
  });

  test('a request that the handler finds invalid fails the job, without a second attempt', async () => {
    const stage = new NotesStage(store());
    const notes = stage.notes();
    const body = { notes: [{ id: 'long', text: 'x'.repeat(1_001) }] };
    const { id } = answered<{ id: string }>(
      await notes.call('POST', '/notebooks/inbox/import/jobs', { body }),
      202,
    );
    await stage.quiet();
    expect(await notes.job(id)).toMatchObject({ status: 'failed', failureClass: 'validation', result: null });
    expect((await notes.job(id)).error).toContain('must be at most 1000 characters');
  });

  local('the access rules are asked again when the job is executed', async () => {
    const stage = new NotesStage(store());
    const grants: NotesGrant[] = [...stage.grants];
    const { id } = await stage.notes({ concurrencyMax: 0, grants }).imported(1);
    grants.shift();
    const notes = stage.notes({
      grants: [...grants, { principal: 'x', space: stage.space, rights: ['note_read'] }],
    });
    await notes.engine.start();
    notes.engine.engine.wake();
    await stage.pass(10_000);
    const job = await notes.job(id, 'x');
    expect(job).toMatchObject({ status: 'failed', failureClass: 'permission_denied' });
    await notes.engine.stop();
  });
}
