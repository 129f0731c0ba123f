import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, test, vi } from 'vitest';
import type { ReadLane } from '../../functions/collections/read-lanes.ts';
import { RecordSpace } from '../security/record-space.ts';
import { startService } from '../support/service.ts';

const seen = vi.hoisted(() => ({
  atWork: 0,
  most: 0,
  /** Called when a read asks for a place; the reads go on once all have asked. */
  asked: (): Promise<void> => Promise.resolve(),
}));
vi.mock('../../functions/collections/read-lanes.ts', async (original) => {
  const module = await original<typeof import('../../functions/collections/read-lanes.ts')>();
  class LongReads extends module.ReadLanes {
    override async run<R>(space: string, read: (lane: ReadLane) => Promise<R>): Promise<R> {
      const all = seen.asked();
      return super.run(space, async (lane) => {
        lane.take();
        seen.atWork += 1;
        seen.most = Math.max(seen.most, seen.atWork);
        await all;
        try {
          return await read(lane);
        } finally {
          seen.atWork -= 1;
        }
      });
    }
  }
  return { ...module, ReadLanes: LongReads };
});

/** The read that asks. */
const asking = new AsyncLocalStorage<string>();

const search = { vector: { field: 'v', value: Array.from({ length: 64 }, () => 1) } };
const retrieval = { query: 'word', collections: ['c'] };
/** One read of each kind that takes a place. */
const reads: Readonly<
  Record<string, { readonly method: string; readonly path: string; readonly body?: object }>
> = {
  query: { method: 'POST', path: '/collections/c/query', body: {} },
  search: { method: 'POST', path: '/collections/c/search', body: search },
  objects: { method: 'GET', path: '/objects/files' },
  traces: { method: 'GET', path: '/traces' },
  traversal: { method: 'POST', path: '/collections/c/graph/traverse', body: { startNodeIds: ['n'] } },
  retrieval: { method: 'POST', path: '/search', body: retrieval },
  context: { method: 'POST', path: '/rag/context', body: { retrieval } },
};
/** Operations that read all of a collection; the exports and inspections of a tenant work one at a time. */
const whole: typeof reads = {
  inspection: { method: 'GET', path: '/collections/c/inspect' },
  export: { method: 'POST', path: '/collections/c/export', body: {} },
  'graph export': { method: 'POST', path: '/collections/c/graph/export', body: {} },
  'graph inspection': { method: 'POST', path: '/collections/c/graph/inspect', body: {} },
  'graph doctor': { method: 'POST', path: '/collections/c/graph/doctor', body: {} },
  'trace export': { method: 'POST', path: '/traces/export', body: {} },
};

const names = [...Object.keys(reads), 'whole'];

test.each(Object.keys(whole))(
  'Records:LongReadsMax bounds the long reads of all groups together, beside %s',
  async (name) => {
    const service = await startService({
      settings: { 'Records:LongReadsMax': '1', 'Embeddings:Provider': 'deterministic-hash' },
    });
    try {
      const space = new RecordSpace(service.call);
      const vectorPolicies = [{ name: 'v', path: '/vectors/v/values', dimensions: 64 }];
      await space.create({ name: 'c', vectorPolicies });
      const all = Promise.withResolvers<void>();
      const asked = new Set<string>();
      seen.most = 0;
      seen.asked = () => {
        asked.add(asking.getStore() ?? '');
        if (asked.size === names.length) all.resolve();
        return all.promise;
      };
      const beside = { ...reads, whole: whole[name]! };
      const answers = await Promise.all(
        Object.entries(beside).map(([read, request]) => asking.run(read, () => service.call(request))),
      );
      expect(answers.map(({ status, body }) => (status === 200 ? 200 : body))).toEqual(names.map(() => 200));
      expect(asked).toEqual(new Set(names));
      expect(seen).toMatchObject({ most: 1, atWork: 0 });
    } finally {
      await service.close();
    }
  },
);
