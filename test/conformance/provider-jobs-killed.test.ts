import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import type { RecordStore, Write } from '../../functions/store/port.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { type Death, DyingStore, LIVE } from '../support/dying-store.ts';
import { HELLO, PaidChat, ProvidersStage } from '../support/providers-stage.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { jobCollections } from './provider-jobs.ts';

/** A worker that dies at any of its calls: another worker resumes the job, and pays for the call at most once more. */

const LEASE_MS = 8_000;
/** The place of a dead run ends with its time. */
const MINUTES = 4 * 60;

beforeAll(() => import('../../functions/groups/providers/jobs/run-provider-job.ts'));

type Plant = (store: RecordStore) => RecordStore;

interface Outcome {
  /** Store calls of the first worker. */
  readonly calls: number;
  readonly paid: number;
}

/** Executes the job with a worker that dies at the given commit, then with one that survives. */
async function killedAt(store: RecordStore, dies: Death, plant: Plant = (same) => same): Promise<Outcome> {
  const stage = new ProvidersStage(store);
  const model = new PaidChat();
  const providers = [model.provider(stage)];
  const common = { providers, leaseMs: LEASE_MS };
  const api = stage.providers({ ...common, concurrencyMax: 0 });
  const { id } = await api.start(HELLO, { provider: 'paid' });
  const dying = new DyingStore(plant(stage.store), dies);
  const first = stage.providers({ ...common, over: dying.store });
  void first.engine.engine.deliver(id).catch(() => undefined);
  for (let turn = 0; turn < 300; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  await stage.quiet();
  const second = stage.providers({ ...common, recheckMs: 1_000 });
  await second.engine.start();
  for (let turn = 0; turn < MINUTES && (await api.get(id)).completedAt === null; turn += 10)
    await stage.pass(10_000);
  const job = await api.get(id);
  await second.engine.stop();
  expect(job).toMatchObject({ status: 'Succeeded', result: { output: { message: { content: 'Hi' } } } });
  expect([...stage.traces.keys()]).toEqual([job.traceId]);
  return { calls: dying.calls, paid: model.calls };
}

async function everyDeath(open: () => Promise<RecordStore>, plant?: Plant): Promise<readonly number[]> {
  const { calls } = await killedAt(await open(), LIVE, plant);
  expect(calls).toBeGreaterThan(6);
  const paid: number[] = [];
  for (let at = 1; at <= calls; at += 1)
    for (const after of [false, true]) paid.push((await killedAt(await open(), { at, after }, plant)).paid);
  return paid;
}

const inMemory = () => Promise.resolve(new MemoryStore(new MemoryDatabase()));

describe('a job whose worker is killed at every call', () => {
  test('is resumed in memory, and pays at most twice', async () => {
    const paid = await everyDeath(inMemory);
    expect(new Set(paid)).toEqual(new Set([1, 2]));
  });

  test('is resumed in SQLite, and pays at most twice', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-provider-jobs-'));
    const path = join(folder, 'jobs.sqlite');
    const store = await openSqliteStore({ path, ...machine, grouping: true, collections: jobCollections });
    const paid = await everyDeath(() => Promise.resolve(store));
    await store.close();
    expect(Math.max(...paid)).toBe(2);
  });
});

/** The first worker keeps no answers, so each death after the call is paid for again. */
const forgetful: Plant = (store) =>
  patched(store, {
    transact: (scope, request, decide) =>
      store.transact(scope, request, (found) => {
        const { writes, ...rest } = decide(found);
        const isKept = (write: Write) => !('put' in write && write.put.key.collection === 'checkpoints');
        return { ...rest, writes: writes.filter(isKept) };
      }),
  });

test('the oracle finds a worker that stores no answer before its next step', async () => {
  const count = (paid: readonly number[]) => paid.filter((calls) => calls > 1).length;
  expect(count(await everyDeath(inMemory, forgetful))).toBeGreaterThan(count(await everyDeath(inMemory)));
});
