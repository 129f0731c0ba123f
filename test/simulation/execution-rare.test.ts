import { expect, test } from 'vitest';
import { sha256 } from '../../functions/kernel/canonical-json.ts';
import { TurnRoom } from '../../functions/kernel/turn-room.ts';
import { raise } from '../../functions/runs/control.ts';
import { leaseRunById } from '../../functions/runs/lease-run.ts';
import type { Runtime } from '../../functions/runs/runtime.ts';
import { startRun } from '../../functions/runs/start-run.ts';
import { heartbeat } from '../../functions/runs/work.ts';
import { type RecordStore, StoreError } from '../../functions/store/port.ts';
import { executionInstance, type Shape } from './execution-instance.ts';
import { MemoryDatabase } from './memory-database.ts';
import { MemoryStore } from './memory-store.ts';
import { Random } from './random.ts';

/** Findings of seeds, without the seeds: a seed draws another history after a change, and would miss them. */

const NOW = Date.UTC(2026, 0, 2);
const TTL_MS = 1_000;
const SHAPE: Shape = {
  instances: ['A'],
  local: false,
  marks: false,
  patient: false,
  activeRunsMax: 5,
  counterShards: 1,
  policies: [],
};

function runtimeOver(store: RecordStore, now: number, enqueue: () => void = () => undefined): Runtime {
  const random = new Random(now);
  const world = {
    clock: { now: () => now },
    random: { bytes: (size: number) => random.bytes(size) },
    turns: new TurnRoom({ now: () => now }),
    timers: { after: () => () => undefined },
    http: () => Promise.reject(new Error('no request is sent')),
  };
  const parts = {
    name: 'A',
    workerId: 'process',
    node: 1,
    handlers: [],
    world,
    store,
    shape: SHAPE,
    enqueue,
  };
  return executionInstance(parts).runtime;
}

function start(runtime: Runtime, handlerId: string) {
  return startRun(runtime, {
    handlerId,
    pluginId: null,
    payload: null,
    payloadHash: sha256('null'),
    payloadBytes: 4,
    idempotencyKey: null,
    correlationId: null,
    scope: null,
    scheduledAt: null,
    retryPolicy: null,
    tags: {},
    operationId: 'startExecutionRun',
  });
}

const wish = (token: string) => ({
  kind: 'external' as const,
  workerId: 'w',
  handlerIds: new Set(['x-key', 'x-free']),
  ttlMs: TTL_MS,
  token,
  mayLease: () => true,
});

test('the concurrency key of a run with an expired lease is taken only once no slower clock can renew the lease', async () => {
  const store = new MemoryStore(new MemoryDatabase());
  const slow = runtimeOver(store, NOW);
  const fast = runtimeOver(store, NOW + TTL_MS);
  const [first, second] = [(await start(slow, 'x-key')).run, (await start(slow, 'x-key')).run];
  expect(await leaseRunById(slow, first.id, wish('one'), NOW)).not.toBeNull();
  const early = runtimeOver(store, NOW + TTL_MS - 1);
  expect(await leaseRunById(early, second.id, wish('too early'), NOW + TTL_MS - 1)).toBeNull();
  expect(await leaseRunById(fast, second.id, wish('two'), NOW + TTL_MS)).not.toBeNull();
  const held = { runId: first.id, workerId: 'w', tokenHash: sha256('one') };
  const refusal = await heartbeat(slow, held, TTL_MS, NOW).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: 'lease_not_active' });
});

test('a durable start is answered, also where the queue does not answer', async () => {
  const runtime = runtimeOver(new MemoryStore(new MemoryDatabase()), NOW, () => {
    throw new Error('the queue does not answer');
  });
  const { run } = await start(runtime, 'x-free');
  expect(await leaseRunById(runtime, run.id, wish('one'), NOW)).toMatchObject({ status: 'running' });
});

test('an event that is durable is not refused because the trace of its run could not be moved', async () => {
  const plain = new MemoryStore(new MemoryDatabase());
  let refused = 0;
  const store: RecordStore = Object.assign(Object.create(plain) as RecordStore, {
    query: plain.query.bind(plain),
    transact: (...args: Parameters<RecordStore['transact']>) => {
      if (!args[1].keys.some(({ key }) => key.collection === 'traces')) return plain.transact(...args);
      refused += 1;
      return Promise.reject(new StoreError('contention', 'rivals won every attempt'));
    },
  });
  const runtime = runtimeOver(store, NOW);
  const { run } = await start(runtime, 'x-free');
  for (let n = 0; n < 20; n++) {
    await raise(runtime, run.id, { name: 'go', payload: n, bytes: 2 }, () => undefined, NOW);
  }
  expect(refused).toBeGreaterThan(0);
});
