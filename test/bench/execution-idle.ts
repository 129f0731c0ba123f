import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { compose } from '../../functions/compose/compose.ts';
import { machine } from '../../functions/compose/machine.ts';
import { faultsText } from '../../functions/config/fault.ts';
import { loadConfiguration } from '../../functions/config/load.ts';
import { serveNode } from '../../functions/http/host-node.ts';
import type { BenchOptions } from './canonical-http.ts';
import { PLUGIN } from './execution-start.ts';
import { JsonClient } from './json-client.ts';
import { medianNumber, round } from './load.ts';

const EVENTS = 1_000;
const TIMERS = 100;
const HOUR_MS = 3_600_000;
/** Longer than the 5 s after which the service asks whether another process has written. */
const SECONDS_MIN = 11;

/** The work of an idle service: statements and processor time, empty and with runs that wait. */
export async function benchExecutionIdle({ seconds, rounds }: BenchOptions): Promise<object> {
  const counter = countStatements();
  const period = Math.max(SECONDS_MIN, seconds);
  const results: Record<string, Idle[]> = {};
  for (let n = 0; n < rounds; n++) {
    for (const [name, fill] of Object.entries(cases)) {
      (results[name] ??= []).push(await idle(counter, period, fill));
    }
  }
  return {
    bench: 'execution-idle',
    measures: {
      empty: `the whole service with nothing to do, for ${period} s: statements in all, processor milliseconds a second`,
      waiting: `the same with ${EVENTS} runs that wait for events and ${TIMERS} for timers an hour ahead`,
      longPoll: 'the same with a worker that waits for a run the whole time',
      none: 'the process without a service',
    },
    periodSeconds: period,
    results: Object.fromEntries(
      Object.entries(results).map(([name, figures]) => [
        name,
        {
          statements: medianNumber(figures.map(({ statements }) => statements)),
          cpuMsPerSecond: round(medianNumber(figures.map(({ cpuMsPerSecond }) => cpuMsPerSecond))),
        },
      ]),
    ),
  };
}

interface Idle {
  readonly statements: number;
  readonly cpuMsPerSecond: number;
}

type Fill = ((client: JsonClient) => Promise<void>) | null;

const cases: Readonly<Record<string, Fill>> = {
  none: null,
  empty: async () => undefined,
  async waiting(client) {
    for (let n = 0; n < EVENTS; n++) await start(client, 'waits', null);
    const later = new Date(Date.now() + HOUR_MS).toISOString();
    for (let n = 0; n < TIMERS; n++) await start(client, 'sleeps', later);
  },
  async longPoll(client) {
    const body = { workerId: 'worker', handlerIds: ['external'], waitSeconds: 20 };
    // Nothing comes; the answer is that, or that the service stops.
    client.post('/execution/workers/leases', body).catch(() => undefined);
  },
};

async function start(client: JsonClient, handlerId: string, payload: string | null): Promise<void> {
  const { id } = await client.postJson<{ id: string }>('/execution/runs', { handlerId, payload });
  for (;;) {
    const { status } = await client.getJson<{ status: string }>(`/execution/runs/${id}`);
    if (status === 'waiting') return;
    if (status !== 'running') throw new Error(`the run is ${status}`);
  }
}

async function idle(counter: { readonly count: number }, seconds: number, fill: Fill): Promise<Idle> {
  if (fill === null) {
    await pause(SECONDS_MIN / 2);
    return measured(counter, seconds);
  }
  const before = counter.count;
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-idle-'));
  const service = compose(settingsOf(folder), { writeLog: () => undefined });
  const chain = await service.chain(service.groups);
  const host = await serveNode(chain, { host: '127.0.0.1', port: 0, world: machine, drainMs: 1_000 });
  const client = new JsonClient(host.url);
  try {
    await service.start();
    await fill(client);
    if (counter.count === before) throw new Error('the statements of the service are not counted');
    // The first look at whether another process has written follows our own writes.
    await pause(SECONDS_MIN / 2);
    return await measured(counter, seconds);
  } finally {
    client.close();
    await host.stop();
    await service.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function measured(counter: { readonly count: number }, seconds: number): Promise<Idle> {
  const before = { count: counter.count, cpu: process.cpuUsage() };
  await pause(seconds);
  const { user, system } = process.cpuUsage(before.cpu);
  return { statements: counter.count - before.count, cpuMsPerSecond: (user + system) / 1000 / seconds };
}

function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, seconds * 1000);
  });
}

function settingsOf(folder: string) {
  const given = [
    `Server:DataDirectory=${folder}`,
    'Server:LogLevel=error',
    'ExecutionRuntime:MaxActiveRuns=10000',
    'ExecutionRuntime:ExternalHandlers:0:HandlerId=external',
    PLUGIN,
  ];
  const argv = given.map((setting) => `--${setting}`);
  const { settings, faults } = loadConfiguration({
    host: 'embedded',
    env: {},
    argv,
    readFile: () => undefined,
  });
  if (settings === undefined) throw new Error(faultsText(faults));
  return settings;
}

/** Every statement that any connection of this process executes from now on. */
function countStatements(): { readonly count: number } {
  const counter = { count: 0 };
  const wrap = (prototype: object, names: readonly string[]) => {
    for (const name of names) {
      const original = Reflect.get(prototype, name) as (...rest: unknown[]) => unknown;
      Reflect.set(prototype, name, function counted(this: unknown, ...rest: unknown[]) {
        counter.count += 1;
        return original.apply(this, rest);
      });
    }
  };
  wrap(StatementSync.prototype, ['run', 'get', 'all', 'iterate']);
  wrap(DatabaseSync.prototype, ['exec']);
  return counter;
}
