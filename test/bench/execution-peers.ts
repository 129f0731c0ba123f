import { join, resolve } from 'node:path';
import { startPostgres } from '../support/postgres-setup.ts';
import { type BenchOptions, UNCHECKED } from './canonical-http.ts';
import { combinedLifecycle, HANDLER, lifecycle } from './execution.ts';
import { installed, installPeer } from './install-peer.ts';
import type { JsonClient } from './json-client.ts';
import { type Measurement, measure, medianNumber, medianOf, round } from './load.ts';
import { BenchServer } from './server.ts';

const PEERS = {
  pgBoss: { name: 'pg-boss', version: '12.38.0' },
  graphileWorker: { name: 'graphile-worker', version: '0.18.0' },
} as const;
const FOLDER = 'dist/bench-peers/execution';
const QUEUE = 'work';
const CLIENTS = [1, 50] as const;
const CONNECTIONS = 16;

/** Something that takes a job from its start to its durable end, one a call. */
interface Subject {
  readonly run: (client: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

interface Boss {
  on(event: 'error', listener: (error: Error) => void): void;
  start(): Promise<unknown>;
  stop(options: object): Promise<void>;
  createQueue(name: string): Promise<void>;
  send(name: string, data: object): Promise<string | null>;
  fetch(name: string): Promise<readonly { readonly id: string }[]>;
  complete(name: string, id: string, data: object): Promise<unknown>;
}

interface Graphile {
  run(options: object): Promise<{
    addJob(task: string, payload: object): Promise<unknown>;
    stop(): Promise<void>;
    readonly events: {
      on(
        event: 'job:success',
        listener: (of: { readonly job: { readonly payload: { readonly n: number } } }) => void,
      ): void;
    };
  }>;
}

/**
 * Jobs from their start to their durable end: the service over HTTP with an external worker, beside job queues on PostgreSQL that
 * a program in the same process calls without HTTP. Subjects take turns in each round.
 */
export async function benchExecutionPeers({ seconds, rounds }: BenchOptions): Promise<object> {
  const folder = resolve(FOLDER);
  for (const peer of Object.values(PEERS)) await installPeer(join(folder, peer.name), peer);
  const postgres = await startPostgres(['shared_buffers=1GB']);
  const socket = encodeURIComponent(postgres.socketFolder);
  const url = `postgresql:///postgres?host=${socket}&user=svc`;
  const figures: Record<string, Measurement[]> = {};
  const subjects: Record<string, Subject> = {};
  const failed: Record<string, string> = {};
  const makers: Readonly<Record<string, () => Promise<Subject>>> = {
    serviceOnSqlite: () => service([]),
    combinedOnSqlite: () => service([], combinedLifecycle),
    serviceOnPostgresql: () =>
      service(['CanonicalStore:Provider=postgresql', `CanonicalStore:ConnectionString=${url}`]),
    pgBoss: () => bossOf(folder, url),
    graphileWorker: () => graphileOf(folder, url),
  };
  try {
    for (const [name, make] of Object.entries(makers))
      try {
        subjects[name] = await make();
      } catch (error) {
        failed[name] = (error as Error).message;
      }
    for (let n = 0; n < rounds; n += 1)
      for (const clients of CLIENTS)
        for (const [name, { run }] of Object.entries(subjects))
          (figures[`${name}@${clients}`] ??= []).push(
            await measure({ clients, seconds, warmupSeconds: 0.5, call: run }),
          );
  } finally {
    for (const { close } of Object.values(subjects)) await close();
    await postgres.stop();
  }
  return {
    bench: 'execution-peers',
    measures: {
      service:
        'start, lease and complete over HTTP and JSON on an embedded server in another process; runs per second',
      combined:
        'the same by two requests a run: a completion leases the next run, as the workers of both clients do',
      pgBoss: `${PEERS.pgBoss.name} ${PEERS.pgBoss.version}: send, fetch and complete, called by the program itself`,
      graphileWorker: `${PEERS.graphileWorker.name} ${PEERS.graphileWorker.version}: addJob until the event that the job succeeded`,
      ofPeer: 'runs per second of `combined` through those of each, medians over the rounds',
    },
    results: Object.fromEntries(
      Object.entries(figures).map(([name, each]) => [
        name,
        { ...medianOf(each), ofPeer: ofPeer(figures, name) },
      ]),
    ),
    ...(Object.keys(failed).length === 0 ? {} : { failed }),
  };
}

function ofPeer(figures: Readonly<Record<string, readonly Measurement[]>>, name: string): number {
  const clients = name.split('@')[1] ?? '';
  const own = figures[`combinedOnSqlite@${clients}`] ?? [];
  const ratios = (figures[name] ?? []).map(
    ({ perSecond }, n) => (own[n]?.perSecond ?? Number.NaN) / perSecond,
  );
  return round(medianNumber(ratios));
}

async function service(
  settings: readonly string[],
  lifecycleOf: (client: JsonClient) => Subject['run'] = (client) => () => lifecycle(client),
): Promise<Subject> {
  const server = await BenchServer.start([
    UNCHECKED,
    ...settings,
    `ExecutionRuntime:ExternalHandlers:0:HandlerId=${HANDLER}`,
  ]);
  return { run: lifecycleOf(server.client), close: () => server.stop() };
}

async function bossOf(folder: string, connectionString: string): Promise<Subject> {
  const { PgBoss } = await installed<{ PgBoss: new (options: object) => Boss }>(
    join(folder, PEERS.pgBoss.name),
    PEERS.pgBoss.name,
  );
  const boss = new PgBoss({ connectionString, max: CONNECTIONS, supervise: false, schedule: false });
  boss.on('error', () => undefined);
  await boss.start();
  await boss.createQueue(QUEUE);
  return {
    async run() {
      await boss.send(QUEUE, { n: 1 });
      const [job] = await boss.fetch(QUEUE);
      if (job === undefined) throw new Error('there is no job to fetch');
      await boss.complete(QUEUE, job.id, { n: 1 });
    },
    close: () => boss.stop({ graceful: false }),
  };
}

async function graphileOf(folder: string, connectionString: string): Promise<Subject> {
  const graphile = await installed<Graphile>(
    join(folder, PEERS.graphileWorker.name),
    PEERS.graphileWorker.name,
  );
  const ended = new Map<number, () => void>();
  const silent = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };
  const { Logger } = await installed<{ Logger: new (make: () => unknown) => object }>(
    join(folder, PEERS.graphileWorker.name),
    PEERS.graphileWorker.name,
  );
  const runner = await graphile.run({
    connectionString,
    concurrency: CLIENTS[1],
    maxPoolSize: CONNECTIONS,
    noHandleSignals: true,
    pollInterval: 500,
    logger: new Logger(() => (level: keyof typeof silent) => silent[level]?.()),
    taskList: { [QUEUE]: async () => undefined },
  });
  runner.events.on('job:success', ({ job }) => {
    ended.get(job.payload.n)?.();
    ended.delete(job.payload.n);
  });
  let count = 0;
  return {
    async run() {
      const n = (count += 1);
      const end = new Promise<void>((settle) => ended.set(n, settle));
      await runner.addJob(QUEUE, { n });
      await end;
    },
    close: () => runner.stop(),
  };
}
