import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GraphJob, SvcGraphCollectionExportResult } from '../../contracts/generated/models.ts';
import { declaredCollections } from '../../functions/compose/collections.ts';
import { machine } from '../../functions/compose/machine.ts';
import { canonicalJson } from '../../functions/kernel/canonical-json.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { type Death, DyingStore, LIVE } from '../support/dying-store.ts';
import { RecordsStage } from '../support/records-stage.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { ringOf } from './graph-jobs.ts';

/** An import whose worker dies at one of its commits ends as if it had not died. */

const LEASE_MS = 8_000;

const cases = [
  { name: 'that merges', replaceExisting: false, labelLength: 1 },
  { name: 'that replaces, and is staged', replaceExisting: true, labelLength: 1_500 },
];
type Case = (typeof cases)[number];
type Plant = (store: RecordStore) => RecordStore;

interface Outcome {
  /** Commits of the first worker. */
  readonly commits: number;
  /** The job without its times, and the graph. */
  readonly end: string;
}

async function killedAt(
  store: RecordStore,
  dies: Death,
  { replaceExisting, labelLength }: Case,
  plant: Plant = (each) => each,
): Promise<Outcome> {
  const stage = new RecordsStage(store);
  const api = stage.records({ concurrencyMax: 0 });
  const start = (body: object) => api.answer<GraphJob>('POST', '/collections/g/graph/import', { body }, 202);
  const old = await start({ envelope: ringOf('old', 3) });
  const before = stage.records();
  await before.engine.start();
  const read = (id: string) => api.answer<GraphJob>('GET', `/graph/jobs/${id}`);
  while (['queued', 'running'].includes((await read(old.id)).status)) await stage.quiet();
  await before.engine.stop();
  const { id } = await start({ envelope: ringOf('n'.repeat(labelLength), 52), replaceExisting });
  const dying = new DyingStore(plant(stage.store), dies, ['transact']);
  const first = stage.instanceOver(dying.store, { leaseMs: LEASE_MS });
  void first.engine.engine.deliver(id).catch(() => undefined);
  await settled();
  const second = stage.records({ leaseMs: LEASE_MS, recheckMs: 1_000 });
  await second.engine.start();
  for (let turn = 0; turn < 40; turn += 1) {
    await stage.pass(1_000);
    if (!['queued', 'running'].includes((await read(id)).status)) break;
  }
  const { status, requested, attempted, succeeded, failed, progress, nodeCount, importResult } =
    await read(id);
  const { envelope, recordCount } = await api.answer<SvcGraphCollectionExportResult>(
    'POST',
    '/collections/g/graph/export',
    { body: {} },
  );
  await second.engine.stop();
  const job = { status, requested, attempted, succeeded, failed, progress, nodeCount, importResult };
  return { commits: dying.calls, end: canonicalJson({ job, envelope, recordCount }) };
}

/** No live work is under way; the dead process does not continue. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

// A turn count does not see that a handler loads its code.
beforeAll(() => import('../../functions/groups/graph/jobs/run-graph-job.ts'));

const inMemory = () => new MemoryStore(new MemoryDatabase());

describe.each(cases)('an import $name', (each) => {
  test('ends in memory as if its worker had not died at any of its commits', async () => {
    const alive = await killedAt(inMemory(), LIVE, each);
    expect(JSON.parse(alive.end)).toMatchObject({
      job: { status: 'succeeded', succeeded: 105, importResult: { records: { failed: 0 } } },
      recordCount: 105,
    });
    expect(alive.commits).toBeGreaterThan(5);
    for (let at = 1; at <= alive.commits; at += 1)
      for (const after of [false, true])
        expect((await killedAt(inMemory(), { at, after }, each)).end, `${at} ${after}`).toBe(alive.end);
  });
});

describe('on SQLite', () => {
  let store: RecordStore;
  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-graph-killed-'));
    store = await openSqliteStore({
      path: join(folder, 'graphs.sqlite'),
      ...machine,
      collections: declaredCollections,
    });
  });
  afterAll(() => store.close());

  test.each(cases)(
    'an import $name ends as if its worker had not died after any of its commits',
    async (each) => {
      const alive = await killedAt(store, LIVE, each);
      for (let at = 1; at <= alive.commits; at += 1)
        expect((await killedAt(store, { at, after: true }, each)).end, String(at)).toBe(alive.end);
    },
  );
});

test('the oracle finds a worker that moves no ledger', async () => {
  const forgetful: Plant = (store) =>
    patched(store, {
      transact: (scope, request, decide) =>
        store.transact(scope, request, (found) => {
          const { writes, ...rest } = decide(found);
          const kept = writes.filter(
            (write) =>
              !(
                'put' in write &&
                'next' in write.put.head &&
                'phase' in write.put.head &&
                Number(write.put.head['next']) > 0
              ),
          );
          return { ...rest, writes: kept };
        }),
    });
  const each = cases[0] as Case;
  const alive = await killedAt(inMemory(), LIVE, each);
  const ends = new Set<string>();
  for (let at = 3; at <= alive.commits; at += 1)
    ends.add((await killedAt(inMemory(), { at, after: true }, each, forgetful)).end);
  expect([...ends].some((end) => end !== alive.end)).toBe(true);
});
