import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { patched } from '../../test/conformance/canonical-outbox-tenant.ts';
import { pluginOf } from '../../test/conformance/execution-plugins.ts';
import { ExecutionClient, executionInstance } from '../../test/support/execution.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { machine } from '../compose/machine.ts';
import type { LogEvent } from '../kernel/log.ts';
import {
  type KeysSelection,
  type ListSelection,
  type RecordStore,
  type Scope,
  StoreError,
} from '../store/port.ts';
import { openSqliteStore } from '../store/sqlite/store.ts';
import { OutageLog } from './outage-log.ts';
import { executionCollections } from './records.ts';

const RECHECK_MS = 5_000;

/** An instance that executes a handler, over a store that the test takes down. */
async function deployment() {
  const folder = await mkdtemp(join(tmpdir(), 'svc-outage-'));
  const path = join(folder, 'x.sqlite');
  const store = await openSqliteStore({ path, ...machine, collections: executionCollections });
  const world = new ManualWorld();
  const state = { isDown: false, calls: 0, lines: [] as LogEvent[] };
  const guarded = <R>(call: () => Promise<R>): Promise<R> => {
    state.calls += 1;
    return state.isDown ? Promise.reject(new StoreError('unavailable', 'down')) : call();
  };
  const query = (scope: Scope, selection: KeysSelection | ListSelection) =>
    guarded(() => store.query(scope, selection));
  const failing = patched(store, {
    transact: (...given) => guarded(() => store.transact(...given)),
    query: query as RecordStore['query'],
    claim: (...given) => guarded(() => store.claim(...given)),
    due: (...given) => guarded(() => store.due(...given)),
  });
  const instance = executionInstance(failing, {
    world,
    plugins: [pluginOf({ 'p.work': () => 'done' })],
    recheckMs: RECHECK_MS,
    log: (event) => state.lines.push(event),
  });
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      world.advance(1_000);
      for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
    }
  };
  const close = async () => {
    await instance.stop();
    await store.close();
    await rm(folder, { recursive: true });
  };
  return { state, instance, pass, close };
}

test('two minutes without the store cost a few calls and a line a minute, and then runs go on', async () => {
  const { state, instance, pass, close } = await deployment();
  const client = new ExecutionClient(instance);
  await instance.start();
  const { id } = await client.start({
    handlerId: 'p.work',
    scheduledAtUtc: new Date(Date.UTC(2026, 0, 1, 0, 0, 30)).toISOString(),
  });
  await pass(10);
  Object.assign(state, { isDown: true, calls: 0, lines: [] });
  await pass(120);
  // Before, each recheck added a retry of its own: some 1,500 calls, and as many stack traces.
  expect(state.calls).toBeLessThanOrEqual(16);
  const errors = state.lines.filter(({ severity }) => severity === 'ERROR');
  expect(errors.length).toBeGreaterThan(0);
  expect(errors.length).toBeLessThanOrEqual(3);
  expect(state.lines).toHaveLength(errors.length);
  state.isDown = false;
  await pass(31);
  expect(state.lines.slice(errors.length).map(({ message }) => message)).toEqual([
    'Runs are found and settled again',
  ]);
  await pass(1);
  expect(await client.get(id)).toMatchObject({ status: 'succeeded' });
  await close();
});

test('intermittent failures cost a line a minute too, and each line counts those before it', () => {
  const world = new ManualWorld();
  const lines: string[] = [];
  const log = ({ message }: LogEvent) => lines.push(message);
  const outage = new OutageLog(world.clock, log, 'it works again');
  outage.succeeded();
  for (let second = 0; second <= 120; second += 1) {
    outage.failed('it failed', new Error('x'));
    if (second % 2 === 1) outage.succeeded();
    world.advance(1_000);
  }
  expect(lines).toEqual([
    'it failed',
    'it works again',
    'it failed (60 failures since the last line)',
    'it works again',
    'it failed (60 failures since the last line)',
  ]);
});
