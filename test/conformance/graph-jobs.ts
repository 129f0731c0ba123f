import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GraphJob, SvcGraphTraversalResult } from '../../contracts/generated/models.ts';
import { stagedBytesKey, UPKEEP_SCOPE } from '../../functions/collections/upkeep-collections.ts';
import { declaredCollections } from '../../functions/compose/collections.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { changedMoments } from '../support/changed-moments.ts';
import { type RecordsInstance, RecordsStage } from '../support/records-stage.ts';
import { openStore, type TestedStore } from './stores/tested-store.ts';

const node = (id: string, more: object = {}) => ({ id, type: 'x', ...more });
const edge = (id: string, sourceId: string, targetId: string) => ({ id, sourceId, targetId, predicate: 'p' });

/** A ring of nodes, each with the id of its graph. */
export function ringOf(label: string, count: number) {
  const ids = Array.from({ length: count }, (_, at) => `n${String(at).padStart(3, '0')}`);
  return {
    scope: { graphId: 'ring' },
    nodes: ids.map((id) => node(id, { label })),
    edges: ids.map((id, at) => edge(`e-${id}`, id, ids[(at + 1) % count] ?? '')),
  };
}

/** Graphs as callers of the operations meet them, on one store. */
export function describeGraphJobs(tested: TestedStore): void {
  describe(`graph jobs on ${tested.title}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await openStore(tested, declaredCollections);
      // A turn count does not see that a handler loads its code.
      await import('../../functions/groups/graph/jobs/run-graph-job.ts');
    });
    afterAll(() => store.close());
    const begin = () => new RecordsStage(store);

    const start = (
      api: RecordsInstance,
      body: object,
      more: { readonly as?: string; readonly key?: string } = {},
    ) => api.answer<GraphJob>('POST', '/collections/g/graph/import', { body, ...more }, 202);
    const read = (api: RecordsInstance, id: string) => api.answer<GraphJob>('GET', `/graph/jobs/${id}`);
    async function ended(stage: RecordsStage, api: RecordsInstance, id: string): Promise<GraphJob> {
      for (let turn = 0; turn < 200; turn += 1) {
        await stage.quiet();
        const job = await read(api, id);
        if (!['queued', 'running'].includes(job.status)) return job;
      }
      throw new Error('the job does not end');
    }
    const staged = async (stage: RecordsStage) => {
      const keys = [{ key: stagedBytesKey(stage.space) }];
      const { records } = await stage.store.query(UPKEEP_SCOPE, { by: 'keys', keys });
      return Number(records[0]?.head['bytes'] ?? 0);
    };

    test('an import that is too large for its run is staged, and its staged payload is removed', async () => {
      const stage = begin();
      const waiting = stage.records({ concurrencyMax: 0 });
      const envelope = ringOf('x'.repeat(1_000), 80);
      const { id } = await start(waiting, { envelope });
      expect(await staged(stage)).toBeGreaterThan(64 * 1024);
      const api = stage.records({ resultBytesMax: 100 });
      await api.engine.start();
      const job = await ended(stage, api, id);
      expect(job).toMatchObject({
        status: 'succeeded',
        requested: 161,
        succeeded: 161,
        nodeCount: 80,
        importResult: { policyStatus: 'created', records: { succeeded: 161 } },
      });
      const ids = job.importResult?.records.items.map((item) =>
        Buffer.from(item.id?.split(':')[2] ?? '', 'base64url').toString(),
      );
      const [nodes = [], edges = []] = [ids?.slice(1, 81), ids?.slice(81)];
      expect(ids?.slice(1)).toEqual([...nodes.toSorted(), ...edges.toSorted()]);
      expect(await staged(stage)).toBe(0);
      await api.engine.stop();
    });

    test('a job that is cancelled while it waits leaves nothing staged', async () => {
      const stage = begin();
      const api = stage.records({ concurrencyMax: 0 });
      const { id } = await start(api, { envelope: ringOf('x'.repeat(1_000), 80) });
      const cancelled = await api.answer<GraphJob>('DELETE', `/graph/jobs/${id}`);
      expect(cancelled).toMatchObject({ status: 'cancelled', importResult: null, nodeCount: 80 });
      expect(await staged(stage)).toBe(0);
    });

    test('a caller without the right starts no job, and no caller sees a job of another space', async () => {
      const stage = begin();
      const api = stage.records({ concurrencyMax: 0 });
      const body = { envelope: ringOf('a', 3) };
      const post = (as: string, path: string, sent: object) =>
        api.call('POST', `/collections/g/graph/${path}`, { as, body: sent });
      for (const path of ['import', 'import/jobs'])
        expect((await post('reader', path, body)).status).toBe(403);
      for (const path of ['inspect/jobs', 'doctor/jobs'])
        expect((await post('reader', path, {})).status).toBe(403);
      expect((await post('writer', 'import', { ...body, replaceExisting: true })).status).toBe(403);
      // The check of the right precedes that of the request.
      expect((await post('reader', 'import', { envelope: { nodes: [node(' ')] } })).status).toBe(403);
      expect(await api.answer('GET', '/graph/jobs')).toEqual([]);
      const { id } = await start(api, body);
      for (const method of ['GET', 'DELETE'])
        expect((await api.call(method, `/graph/jobs/${id}`, { as: 'bob' })).status).toBe(404);
      expect(await api.answer('GET', '/graph/jobs', { as: 'bob' })).toEqual([]);
      expect((await api.call('DELETE', `/graph/jobs/${id}`, { as: 'writer' })).status).toBe(403);
      expect((await api.call('POST', '/collections/g/graph/export', { as: 'bob', body: {} })).status).toBe(
        404,
      );
    });

    test('a job writes nothing after its caller lost the right', async () => {
      const stage = begin();
      const waiting = stage.records({ concurrencyMax: 0 });
      const { id } = await start(waiting, { envelope: ringOf('a', 3) }, { as: 'carl' });
      stage.grants = stage.grants.filter(({ principal }) => principal !== 'carl');
      const api = stage.records();
      await api.engine.start();
      expect(await ended(stage, api, id)).toMatchObject({
        status: 'failed',
        failureClass: 'permission_denied',
      });
      expect(await api.count('g')).toBe(null);
      await api.engine.stop();
    });

    test('a walk is of one moment, also where its graph is replaced meanwhile', async () => {
      const stage = begin();
      const api = stage.records();
      await api.engine.start();
      const first = await start(api, { envelope: ringOf('old', 12) });
      expect((await ended(stage, api, first.id)).status).toBe('succeeded');
      let reads = 0;
      let replaced = false;
      const replace = async () => {
        const body = { envelope: ringOf('new', 9), replaceExisting: true };
        const { id } = await start(api, body);
        expect((await ended(stage, api, id)).importResult?.policyStatus).toBe('replaced');
        replaced = true;
      };
      const interrupted = changedMoments(store, async (_, found) => {
        reads += 1;
        if (reads === 3) await replace();
        return found;
      });
      const walking = stage.records({ over: interrupted, concurrencyMax: 0 });
      for (const partitionKey of ['graph:ring', null]) {
        [reads, replaced] = [0, false];
        const body = { startNodeIds: ['n000'], partitionKey, profile: { maxDepth: 20, limit: 50 } };
        const { projection } = await walking.answer<SvcGraphTraversalResult>(
          'POST',
          '/collections/g/graph/traverse',
          { body },
        );
        expect(replaced).toBe(true);
        const labels = new Set((projection.nodes ?? []).map(({ label }) => label));
        const counts = `${projection.nodes?.length} ${[...labels].join()}`;
        expect(['12 old', '9 new']).toContain(counts);
      }
      await api.engine.stop();
    });

    test('examinations run as jobs, and their results are those of the calls', async () => {
      const stage = begin();
      const api = stage.records({ resultBytesMax: 100 });
      await api.engine.start();
      const { id } = await start(api, { envelope: ringOf('a', 3) });
      await ended(stage, api, id);
      for (const [path, member] of [
        ['inspect', 'inspectionResult'],
        ['doctor', 'doctorResult'],
      ] as const) {
        const direct = await api.answer<object>('POST', `/collections/g/graph/${path}`, { body: {} });
        const job = await api.answer<GraphJob>(
          'POST',
          `/collections/g/graph/${path}/jobs`,
          { body: {} },
          202,
        );
        const done = await ended(stage, api, job.id);
        expect(done).toMatchObject({ status: 'succeeded', nodeCount: 3, edgeCount: 3, graphId: 'ring' });
        const untimed = (value: unknown) =>
          JSON.parse(JSON.stringify(value, (name, each) => (name === 'generatedAt' ? 'now' : each)));
        expect(untimed(done[member])).toEqual(untimed(direct));
      }
      await api.engine.stop();
    });
  });
}
