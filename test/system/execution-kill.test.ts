import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type {
  ExecutionExternalWorkerLease,
  ExecutionRun,
  ExecutionRuntimeSurface,
  ExecutionTraceEvent,
} from '../../contracts/generated/models.ts';
import { share } from '../support/effort.ts';
import { postgresMissing, postgresUrl } from '../support/postgres.ts';
import { Servers } from './servers.ts';

const CLIENTS = 8;
const WORKERS = 4;
/** After such a part of all starts one of the two is killed, or both. */
const KILLS: readonly { readonly after: number; readonly servers: readonly number[] }[] = [
  { after: 0.15, servers: [0] },
  { after: 0.35, servers: [1] },
  { after: 0.55, servers: [0, 1] },
  { after: 0.75, servers: [1] },
  { after: 0.95, servers: [0] },
];
const PATIENCE_MS = 600_000;
const HANDLERS = [
  'kill.short',
  'kill.steps',
  'kill.event',
  'kill.retry',
  'kill.serial',
  'kill.outside',
] as const;

const settings = [
  'ExecutionRuntime:Plugins:0=./test/system/execution-kill-plugin.ts',
  'ExecutionRuntime:ExternalHandlers:0:HandlerId=kill.outside',
  'ExecutionRuntime:LeaseSeconds=2',
  'ExecutionRuntime:RecheckSeconds=1',
  'ExecutionRuntime:MaxLeaseExpirations=1000',
  'ExecutionRuntime:MaxActiveRuns=100000',
];

describe('two servers, killed while they and their workers execute runs', () => {
  const folders: string[] = [];
  afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

  it('end every run once, on one SQLite file', { timeout: PATIENCE_MS }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-execution-kill-'));
    folders.push(folder);
    await check({ SVC_DATA_DIR: folder }, share(240, 600));
  });

  const missing = postgresMissing === undefined ? '' : `, left out: ${postgresMissing}`;
  it.skipIf(missing !== '')(
    `end every run once, on PostgreSQL${missing}`,
    { timeout: PATIENCE_MS },
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'svc-execution-kill-'));
      folders.push(folder);
      const env = {
        SVC_DATA_DIR: folder,
        SVC_CANONICAL_STORE_PROVIDER: 'postgresql',
        SVC_CANONICAL_CONNECTION_STRING: postgresUrl(),
      };
      await check(env, share(120, 300));
    },
  );
});

async function check(env: Readonly<Record<string, string>>, runs: number): Promise<void> {
  await using servers = new Servers(env, settings);
  await servers.start(2);
  const calls = new Calls(servers);
  const kills = [...KILLS];
  let started = 0;
  const begun = (): void => {
    started += 1;
    if (started < runs * (kills[0]?.after ?? Number.POSITIVE_INFINITY)) return;
    for (const n of kills.shift()?.servers ?? []) servers.kill(n);
  };
  const finished = new AbortController();
  const workers = Array.from({ length: WORKERS }, (_, n) => work(calls, `worker-${n}`, finished.signal));
  const numbers = Array.from({ length: runs }, (_, n) => n);
  const ended: ExecutionRun[] = [];
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      for (const n of numbers.filter((number) => number % CLIENTS === client)) {
        const run = await startOne(calls, HANDLERS[n % HANDLERS.length] ?? 'kill.short');
        begun();
        if (run.handlerId === 'kill.event') {
          await calls.post(`/execution/runs/${run.id}/events`, { name: 'go', payload: { said: n } });
        }
        ended.push(await calls.untilEnded(run.id));
      }
    }),
  );
  finished.abort();
  await Promise.all(workers);
  expect(kills, 'all kills happened').toEqual([]);
  expect(new Set(ended.map(({ id }) => id)).size).toBe(runs);
  expect(ended.filter(({ status }) => status !== 'succeeded')).toEqual([]);
  for (const run of ended) await judge(calls, run);
  const surface = await calls.get<ExecutionRuntimeSurface>('/execution/runtime');
  expect(surface.status.activeRuns).toBe(0);
}

/** A key makes a repetition safe, even after a kill. */
async function startOne(calls: Calls, handlerId: string): Promise<ExecutionRun> {
  const idempotencyKey = randomUUID();
  const payload = handlerId === 'kill.steps' ? Date.now() + 30 : { key: idempotencyKey };
  const run = await calls.post<ExecutionRun>('/execution/runs', { handlerId, payload, idempotencyKey });
  const again = await calls.post<ExecutionRun>('/execution/runs', { handlerId, payload, idempotencyKey });
  expect(again.id).toBe(run.id);
  return run;
}

/** Leases runs, and now and then abandons one as a dying worker would. */
async function work(calls: Calls, workerId: string, signal: AbortSignal): Promise<void> {
  for (let turn = 0; !signal.aborted; turn += 1) {
    const body = { workerId, handlerIds: ['kill.outside'], ttlSeconds: 1, waitSeconds: 1 };
    const lease = await calls.post<ExecutionExternalWorkerLease | null>('/execution/workers/leases', body);
    if (lease === null || turn % 7 === 3) continue;
    const { leaseKey, leaseToken, run } = lease;
    const result = { status: 'succeeded', result: run.payload };
    await calls.post('/execution/workers/leases/complete', { leaseKey, leaseToken, workerId, result });
  }
}

async function judge(calls: Calls, run: ExecutionRun): Promise<void> {
  const history = await calls.get<ExecutionTraceEvent[]>(`/execution/runs/${run.id}/history?limit=200`);
  const ids = history.map(({ sequenceId }) => sequenceId);
  expect(ids).toEqual([...new Set(ids)].sort());
  expect(history.filter(({ type }) => type === 'run.completed')).toHaveLength(1);
  expect(history.filter(({ type }) => type === 'run.created')).toHaveLength(1);
  expect(history.filter(({ type }) => type === 'run.started')).toHaveLength(run.attempt);
  if (run.handlerId === 'kill.retry') expect(run.result).toBe('second');
}

/** Asks whichever server lives, again after it was killed; a refusal is an answer. */
class Calls {
  readonly #servers: Servers;
  #turn = 0;

  constructor(servers: Servers) {
    this.#servers = servers;
  }

  post<T>(path: string, body: unknown): Promise<T> {
    return this.#ask<T>(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  }

  get<T>(path: string): Promise<T> {
    return this.#ask<T>(path, {});
  }

  async untilEnded(runId: string): Promise<ExecutionRun> {
    for (;;) {
      const run = await this.get<ExecutionRun>(`/execution/runs/${runId}?waitSeconds=5`);
      if (run.completedAtUtc !== null) return run;
    }
  }

  async #ask<T>(path: string, init: RequestInit): Promise<T> {
    for (;;) {
      this.#turn += 1;
      const address = await this.#servers.address(this.#turn);
      const response = await fetch(`${address}${path}`, init).catch(() => null);
      const text = await response?.text().catch(() => null);
      if (response === null || text === null || text === undefined || response.status === 503) continue;
      if (response.status === 204) return null as T;
      // A lease that was lost while its server was dead is what the protocol says of it.
      if (response.status === 409 && path.includes('/leases')) return null as T;
      expect([response.status, text]).toEqual([expect.toSatisfy((status: number) => status < 300), text]);
      return JSON.parse(text) as T;
    }
  }
}
