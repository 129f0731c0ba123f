import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadConfiguration } from '../config/load.ts';
import { inject } from '../http/host-inject.ts';
import { DEFAULT_SPACE } from '../identity/record-access.ts';
import type { World } from '../kernel/world.ts';
import { DamageLog } from '../store/damage.ts';
import { newTraceId, writeTrace } from '../traces/write-trace.ts';
import { compose, type Service } from './compose.ts';
import { machine } from './machine.ts';
import { tracePartsOf } from './trace-parts.ts';

const DAY_MS = 86_400_000;
const UPKEEP_INTERVAL_MS = 60_000;

let folder: string;
let later = 0;
let timers: { readonly delayMs: number; readonly callback: () => void }[] = [];
let service: Service | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-trace-retention-'));
  later = 0;
  timers = [];
});
afterEach(async () => {
  await service?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The machine at a later time, whose timers of a minute wait for the test. */
const world: World = {
  ...machine,
  clock: { now: () => machine.clock.now() + later },
  timers: {
    after(delayMs, callback) {
      if (delayMs !== UPKEEP_INTERVAL_MS) return machine.timers.after(delayMs, callback);
      const timer = { delayMs, callback };
      timers.push(timer);
      return () => {
        timers = timers.filter((each) => each !== timer);
      };
    },
  },
};

/** A service with a trace that is two days old. */
async function withOldTrace(...given: readonly string[]): Promise<Service> {
  const argv = [`--Server:DataDirectory=${folder}`, ...given];
  const { settings } = loadConfiguration({ host: 'embedded', env: {}, argv, readFile: () => undefined });
  if (settings === undefined) throw new Error('the settings are not valid');
  const composed = compose(settings, { world, writeLog: () => undefined });
  service = composed;
  const store = { get: composed.store, close: () => Promise.resolve() };
  const draft = { operation: 'provider.run', adapter: null, request: {}, resultSummary: {} };
  const id = newTraceId(world.random);
  const times = { startedAt: world.clock.now(), durationMs: 1 };
  const parts = {
    settings,
    store,
    world,
    log: () => undefined,
    damage: new DamageLog(() => undefined),
    layers: new Map(),
  };
  await writeTrace(tracePartsOf(parts), DEFAULT_SPACE, { id, ...draft, ...times });
  later += 2 * DAY_MS;
  return composed;
}

async function tracesOf(composed: Service): Promise<unknown[]> {
  return (await inject(await composed.chain(['traces']), { method: 'GET', path: '/traces' })).json();
}

describe('traces that are older than Traces:RetentionDays', () => {
  test.each(['reconcile', 'prune'] as const)('are removed by the scheduled function %s', async (name) => {
    const composed = await withOldTrace('--Traces:RetentionDays=1');
    expect(await tracesOf(composed)).toHaveLength(1);
    const answer = await inject(await composed.functionChain(name), { method: 'POST', path: '/' });
    expect(answer.json()).toMatchObject({ upkeep: { removedTraces: 1 } });
    expect(await tracesOf(composed)).toEqual([]);
  });

  test('are removed by the timer of an embedded server', async () => {
    const composed = await withOldTrace('--Traces:RetentionDays=1');
    await composed.start();
    for (const { callback } of timers.splice(0)) callback();
    await expect.poll(() => tracesOf(composed)).toEqual([]);
  });

  test.each([[[]], [['--Traces:RetentionDays=3']]])('stay where the settings are %j', async (given) => {
    const composed = await withOldTrace(...given);
    const answer = await inject(await composed.functionChain('reconcile'), { method: 'POST', path: '/' });
    expect(answer.json()).toMatchObject({ upkeep: { removedTraces: 0 } });
    expect(await tracesOf(composed)).toHaveLength(1);
  });
});
