import { describe, expect, it, onTestFailed } from 'vitest';
import type {
  ExecutionRun,
  ExecutionRuntimeSurface,
  ExecutionTraceEvent,
} from '../../contracts/generated/models.ts';
import type { FaultSwitches } from '../../emulator/tasks/faults.ts';
import { clientOf } from '../../emulator/tasks/stage.fixture.ts';
import { createWorker, deliveryListener, type RunContext } from '../../sdk/typescript/src/worker/index.ts';
import { Random } from '../simulation/random.ts';
import { repeatLine, seedOf } from '../support/effort.ts';
import { firestoreHost, firestoreMissing, firestoreProject } from '../support/firestore.ts';
import { CloudDeployment, Ledger } from './cloud-chaos.ts';

const RUNS = 150;
const CLIENTS = 6;
const HANDLERS = [
  'chaos.plain',
  'chaos.retry',
  'chaos.event',
  'chaos.timer',
  'chaos.key',
  'chaos.long',
  'chaos.polled',
  'chaos.pushed',
] as const;
/** A process dies after the number of starts in `after`. */
const KILLS = [
  { after: 15, kind: 'worker', n: 0 },
  { after: 35, kind: 'worker', n: 1 },
  { after: 50, kind: 'execution', n: 0 },
  { after: 65, kind: 'worker', n: 0 },
  { after: 85, kind: 'worker', n: 1 },
  { after: 85, kind: 'worker', n: 0 },
  { after: 105, kind: 'execution', n: 1 },
  { after: 120, kind: 'worker', n: 1 },
  { after: 140, kind: 'worker', n: 0 },
] as const;
/** The lead of the clock of the process that reconciles while everything fails. */
const EARLIER_MS = 61_000;
/** How far ahead the clock of a later reconcile is: repeated announcements of one run become rarer. */
const LATER_MS = [121_000, 241_000, 481_000, 961_000, 1_921_000];
const UNAVAILABLE = 14;

function chaos(seed: number, carriedOut: boolean): FaultSwitches {
  const third = { probability: 1 / 3, seed };
  return {
    lose: third,
    duplicate: third,
    reorder: third,
    delay: { ...third, ms: 400 },
    fail: { probability: 0.1, seed, status: 500 },
    refuse: { probability: 0.15, seed, code: UNAVAILABLE, carriedOut, methods: ['CreateTask'] },
  };
}

const settings = {
  ExecutionRuntime__Plugins__0: './test/system/cloud-chaos-plugin.ts',
  ExecutionRuntime__ExternalHandlers__0__HandlerId: 'chaos.polled',
  ExecutionRuntime__ExternalHandlers__1__HandlerId: 'chaos.pushed',
  ExecutionRuntime__Google__WorkerRoutes__0__HandlerId: 'chaos.pushed',
  ExecutionRuntime__LeaseSeconds: '2',
  ExecutionRuntime__MaxLeaseExpirations: '1000',
  ExecutionRuntime__MaxActiveRuns: '1000',
  Server__CanonicalRateLimit__PermitLimit: '100000',
  Server__CanonicalRateLimit__WindowSeconds: '1',
  Server__LogLevel: 'error',
};

const left = firestoreMissing === undefined ? '' : `, left out: ${firestoreMissing}`;

describe('the queue in the cloud loses, repeats and mixes up a third, and processes die', () => {
  it.skipIf(left !== '')(`every run ends once${left}`, async () => {
    onTestFailed(() => console.error(repeatLine));
    await check(seedOf('chaos of the cloud') >>> 0);
  });
});

async function check(seed: number): Promise<void> {
  const random = new Random(seed);
  const ledger = new Ledger();
  const stopping = new AbortController();
  const pushed = Promise.withResolvers<ReturnType<typeof deliveryListener>>();
  const listeners = {
    '/ledger': ledger.listener,
    '/outside': async (...[from, to]: Parameters<ReturnType<typeof deliveryListener>>) =>
      (await pushed.promise)(from, to),
  };
  await using cloud = new CloudDeployment(listeners, () => random.next());
  const project = firestoreProject();
  await cloud.start(
    (url) => ({
      ...settings,
      GOOGLE_CLOUD_PROJECT: project,
      ExecutionRuntime__Google__WorkerRoutes__0__WorkerUrl: `${url}/outside`,
    }),
    firestoreHost(),
    {
      execution: 2,
      worker: 2,
      reconcile: 1,
    },
  );
  const outside = (handlerId: string) =>
    createWorker({
      client: { baseUrl: cloud.url, timeout: 5_000 },
      workerId: `${handlerId}-worker`,
      concurrency: 4,
      leaseSeconds: 2,
      waitSeconds: 1,
      idleSeconds: 0,
      backoffSecondsMax: 1,
      heartbeatFrom: 'event-loop',
      signal: stopping.signal,
      handlers: {
        [handlerId]: ({ run }: RunContext) => {
          if (!ledger.mark(run.id, run.attempt)) throw new Error('the attempt was executed before');
          return run.attempt;
        },
      },
    });
  const polling = outside('chaos.polled').run();
  pushed.resolve(deliveryListener(outside('chaos.pushed'), { verify: () => true }));
  await cloud.setFaults(chaos(seed, false));
  const ids = await startAll(cloud, seed);
  await cloud.whole();
  await cloud.setFaults({});
  const ended = await untilAllEnd(cloud, ids);
  await drained(cloud);
  for (const run of ended) await judge(cloud, ledger, run);
  expect(ledger.twice).toEqual([]);
  const surface = await ask<ExecutionRuntimeSurface>(`${cloud.url}/execution/runtime`);
  expect(surface.status.activeRuns).toBe(0);
  expect(await cloud.reconcile()).toMatchObject({ settled: 0, redriven: 0, failed: 0 });
  expect(await cloud.later('prune', 0)).toMatchObject({ account: { runs: 0, faulty: 0 } });
  stopping.abort();
  await polling;
}

/** Starts them from several clients, while processes die and another one reconciles. */
async function startAll(cloud: CloudDeployment, seed: number): Promise<string[]> {
  const kills = [...KILLS];
  const ids: string[] = [];
  const begun = async (): Promise<void> => {
    while (ids.length >= (kills[0]?.after ?? Number.POSITIVE_INFINITY)) {
      const { kind, n } = kills.shift() ?? { kind: 'worker', n: 0 };
      cloud.kill(kind, n);
    }
    if (ids.length === RUNS / 2) await cloud.setFaults(chaos(seed + 1, true));
    if (ids.length % 50 === 0) await cloud.later('reconcile', EARLIER_MS);
    // Two at once, now and then.
    if (ids.length % 10 === 0)
      await Promise.all([cloud.reconcile(), ids.length % 30 === 0 ? cloud.reconcile() : null]);
  };
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      for (let n = client; n < RUNS; n += CLIENTS) {
        const handlerId = HANDLERS[n % HANDLERS.length] ?? 'chaos.plain';
        const body = {
          handlerId,
          payload: { ledger: `${cloud.url}/ledger` },
          idempotencyKey: `${seed}-${n}`,
          ...(handlerId === 'chaos.retry' ? { retryPolicy: { maxAttempts: 3, initialDelaySeconds: 1 } } : {}),
        };
        const { id } = await ask<ExecutionRun>(`${cloud.url}/execution/runs`, body);
        if (handlerId === 'chaos.event')
          await ask(`${cloud.url}/execution/runs/${id}/events`, { name: 'go', payload: null });
        ids.push(id);
        await begun();
      }
    }),
  );
  expect(kills).toEqual([]);
  return ids;
}

/** From now on nothing fails: repeated reconciles must bring every run to its end. */
async function untilAllEnd(cloud: CloudDeployment, ids: readonly string[]): Promise<ExecutionRun[]> {
  const ended = new Map<string, ExecutionRun>();
  for (const laterMs of LATER_MS) {
    expect(await cloud.later('prune', 0)).toMatchObject({ account: { faulty: 0 } });
    expect(await cloud.later('reconcile', laterMs)).toMatchObject({ failed: 0 });
    await Promise.all(
      ids
        .filter((id) => !ended.has(id))
        .map(async (id) => {
          const run = await ask<ExecutionRun>(`${cloud.url}/execution/runs/${id}?waitSeconds=12`);
          if (run.completedAtUtc !== null) ended.set(id, run);
        }),
    );
    if (ended.size === ids.length) return [...ended.values()];
  }
  const others = ids.filter((id) => !ended.has(id));
  const runs = await Promise.all(others.map((id) => ask<ExecutionRun>(`${cloud.url}/execution/runs/${id}`)));
  throw new Error(runs.map(({ id, handlerId, status }) => `${id} of ${handlerId} is ${status}`).join(', '));
}

/** Delivers the messages that remain in the queue before their time, and ends them. The judge of the runs sees that they change nothing. */
async function drained(cloud: CloudDeployment): Promise<void> {
  const client = clientOf(cloud.tasks);
  try {
    for (;;) {
      const [tasks] = await client.listTasks({ parent: cloud.queue });
      if (tasks.length === 0) return;
      await Promise.all(tasks.map(({ name }) => client.runTask({ name: name ?? '' }).catch(() => undefined)));
    }
  } finally {
    await client.close();
  }
}

async function judge(cloud: CloudDeployment, ledger: Ledger, ended: ExecutionRun): Promise<void> {
  const run = await ask<ExecutionRun>(`${cloud.url}/execution/runs/${ended.id}`);
  expect(run).toEqual(ended);
  const about = `${run.id} of ${run.handlerId}`;
  expect([run.status, run.error], about).toEqual(['succeeded', null]);
  const history = await ask<ExecutionTraceEvent[]>(`${cloud.url}/execution/runs/${run.id}/history?limit=200`);
  const count = (type: string) => history.filter((event) => event.type === type).length;
  expect(['run.created', 'run.completed', 'run.started'].map(count), about).toEqual([1, 1, run.attempt]);
  const sequence = history.map(({ sequenceId }) => sequenceId);
  expect(sequence, about).toEqual([...new Set(sequence)].sort());
  // The attempt that ended it is the last, and has left its mark.
  expect(run.result, about).toBe(run.attempt);
  const marks = ledger.marks.get(run.id) ?? [];
  expect(marks.every((attempt) => attempt <= run.attempt) && marks.includes(run.attempt), about).toBe(true);
}

/** Asks until a process answers: each start carries a key. */
async function ask<T>(url: string, body?: object): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  const init = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) };
  for (;;) {
    const response = await fetch(url, init).catch(() => null);
    const answer = await response?.text().catch(() => null);
    if (response === null || typeof answer !== 'string' || response.status === 503) continue;
    expect([response.status < 300, response.status, answer]).toEqual([true, response.status, answer]);
    return JSON.parse(answer) as T;
  }
}
