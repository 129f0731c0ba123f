import { expect, test, vi } from 'vitest';
import type { ReadLane } from '../../functions/collections/read-lanes.ts';
import { RecordSpace } from '../security/record-space.ts';
import { startService } from '../support/service.ts';

const seen = vi.hoisted(() => ({
  atWork: 0,
  most: 0,
  /** Called when a read asks; the reads go on once all have asked. */
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

/** One read of each kind that takes a place. */
const reads = [
  { method: 'POST', path: '/collections/c/query', body: {} },
  { method: 'POST', path: '/collections/c/search', body: { vector: { field: 'v', value: [1, 2] } } },
  { method: 'GET', path: '/collections/c/inspect' },
  { method: 'GET', path: '/objects/files' },
  { method: 'GET', path: '/traces' },
  { method: 'POST', path: '/collections/c/graph/traverse', body: { startNodeIds: ['n'] } },
];

test('Records:LongReadsMax bounds the long reads of all groups together', async () => {
  const service = await startService({ settings: { 'Records:LongReadsMax': '1' } });
  try {
    const space = new RecordSpace(service.call);
    await space.create({
      name: 'c',
      vectorPolicies: [{ name: 'v', path: '/vectors/v/values', dimensions: 2 }],
    });
    const all = Promise.withResolvers<void>();
    let asked = 0;
    seen.asked = () => {
      asked += 1;
      if (asked === reads.length) all.resolve();
      return all.promise;
    };
    const answers = await Promise.all(reads.map((request) => service.call(request)));
    expect(answers.map(({ status, body }) => (status === 200 ? 200 : body))).toEqual(reads.map(() => 200));
    expect(seen).toMatchObject({ most: 1, atWork: 0 });
  } finally {
    await service.close();
  }
});
