import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePorts } from '../../emulator/firestore.ts';
import { SvcClient } from '../../sdk/typescript/src/index.ts';
import { startPostgres } from '../support/postgres-setup.ts';
import { type ServerProcess, serverProcess } from '../support/server-process.ts';
import { type BenchOptions, UNCHECKED } from './canonical-http.ts';
import { installPeer, type Peer } from './install-peer.ts';
import { JsonClient } from './json-client.ts';
import { type Measurement, measure, medianNumber, medianOf, round } from './load.ts';
import { BenchServer } from './server.ts';
import { STEPS } from './steps-program.ts';

const FOLDER = 'dist/bench-peers/steps';
const DBOS: Peer = { name: '@dbos-inc/dbos-sdk', version: '5.3.0' };
const RESTATE_SERVER = '@restatedev/restate-server';
const RESTATE: readonly Peer[] = [
  { name: RESTATE_SERVER, version: '1.7.12' },
  { name: '@restatedev/restate-sdk', version: '1.17.2' },
];
const CLIENTS = [1, 50] as const;
const CONNECTIONS = 16;
/** Runs that one worker executes at once: more than there are clients. */
const CONCURRENCY = 64;
const HANDLERS = ['steps', 'checkpoints', 'nothing'] as const;

/** Something that takes a run of ten steps from its start to its result, one a call. */
interface Subject {
  readonly run: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/**
 * Runs of ten steps from the request that starts them to their result. The service and its worker are two processes; DBOS is a
 * program that executes its own workflows; Restate is its server and a program with the handler. The benchmark calls each over HTTP.
 */
export async function benchSteps({ seconds, rounds }: BenchOptions): Promise<object> {
  const folder = resolve(FOLDER);
  const postgres = await startPostgres(['shared_buffers=1GB']);
  const socket = encodeURIComponent(postgres.socketFolder);
  // One of the peers refuses an address without a host, which `host` replaces.
  const urlOf = (database: string) => `postgresql://svc@localhost/${database}?host=${socket}`;
  const subjects: Record<string, Subject> = {};
  const failed: Record<string, string> = {};
  const figures: Record<string, Measurement[]> = {};
  const makers: Readonly<Record<string, () => Promise<Record<string, Subject>>>> = {
    sqlite: () => ownOf('sqlite', []),
    postgresql: () =>
      ownOf('postgresql', [
        'CanonicalStore:Provider=postgresql',
        `CanonicalStore:ConnectionString=${urlOf('postgres')}`,
      ]),
    dbos: () => dbosOf(join(folder, 'dbos'), urlOf('dbos')),
    restate: () => restateOf(join(folder, 'restate')),
  };
  try {
    for (const [name, make] of Object.entries(makers))
      try {
        Object.assign(subjects, await make());
      } catch (error) {
        failed[name] = (error as Error).message;
      }
    for (let n = 0; n < rounds; n += 1)
      for (const clients of CLIENTS)
        for (const [name, { run }] of Object.entries(subjects))
          (figures[`${name}@${clients}`] ??= []).push(
            await measure({ clients, seconds, warmupSeconds: 1, call: run }),
          );
  } finally {
    for (const { close } of Object.values(subjects)) await close();
    await postgres.stop();
  }
  return report(figures, failed);
}

function report(figures: Readonly<Record<string, readonly Measurement[]>>, failed: object): object {
  return {
    bench: 'steps',
    measures: {
      'sqlite, postgresql':
        'runs of handlers by a worker of the client, each in a process of its own: ten `steps`, ten bare `checkpoints`, `nothing`',
      dbos: `${DBOS.name} ${DBOS.version} on PostgreSQL: a program that executes the workflow of a request itself`,
      restate: RESTATE.map(({ name, version }) => `${name} ${version}`).join(' and '),
      perSecond: 'runs a second; ten steps each',
      ofPeer: 'runs a second of `steps` on SQLite through those of the subject, medians over the rounds',
      kitMsOfStep:
        '`steps` less bare `checkpoints`, milliseconds for each step, of the medians with one client',
    },
    results: Object.fromEntries(
      Object.entries(figures).map(([name, each]) => [
        name,
        { ...medianOf(each), ofPeer: ofPeer(figures, name) },
      ]),
    ),
    kitMsOfStep: Object.fromEntries(
      ['sqlite', 'postgresql'].map((store) => {
        const p50 = (what: string) =>
          medianNumber((figures[`${store} ${what}@1`] ?? []).map(({ p50Ms }) => p50Ms));
        return [store, round((p50('steps') - p50('checkpoints')) / STEPS)];
      }),
    ),
    ...(Object.keys(failed).length === 0 ? {} : { failed }),
  };
}

function ofPeer(figures: Readonly<Record<string, readonly Measurement[]>>, name: string): number {
  const own = figures[`sqlite steps@${name.split('@').at(-1) ?? ''}`] ?? [];
  return round(
    medianNumber(
      (figures[name] ?? []).map(({ perSecond }, n) => (own[n]?.perSecond ?? Number.NaN) / perSecond),
    ),
  );
}

async function ownOf(store: string, settings: readonly string[]): Promise<Record<string, Subject>> {
  const server = await BenchServer.start([
    UNCHECKED,
    'ExecutionRuntime:MaxActiveRuns=1000',
    ...HANDLERS.map((id, n) => `ExecutionRuntime:ExternalHandlers:${n}:HandlerId=${id}`),
    ...settings,
  ]);
  const worker = await program('steps-worker.ts', server.address, String(CONCURRENCY));
  const client = new SvcClient({ baseUrl: server.address });
  const close = async () => {
    await worker.stop();
    await server.stop();
  };
  return Object.fromEntries(
    HANDLERS.map((handlerId, n) => [
      `${store} ${handlerId}`,
      {
        async run() {
          const { id } = await client.startExecutionRun({ handlerId });
          const { status, error } = await client.waitForExecutionRun(id);
          if (status !== 'succeeded') throw new Error(`the run ended as ${status}: ${error}`);
        },
        // The three share their processes.
        close: n === 0 ? close : () => Promise.resolve(),
      },
    ]),
  );
}

async function dbosOf(folder: string, database: string): Promise<Record<string, Subject>> {
  await needed(folder, DBOS);
  const child = await program('steps-dbos.ts', folder, database, String(CONNECTIONS));
  return { dbos: caller(child.address, '/', [child]) };
}

async function restateOf(folder: string): Promise<Record<string, Subject>> {
  await needed(folder, ...RESTATE);
  const data = await mkdtemp(join(tmpdir(), 'svc-bench-restate-'));
  const handlers = await program('steps-restate.ts', folder);
  const [fabric, ingress, admin] = await freePorts(3);
  const server = spawn(
    // Its command would start the same file in a second process.
    join(folder, `node_modules/${RESTATE_SERVER}-${process.platform}-${process.arch}/bin/restate-server`),
    ['--listen-mode', 'tcp', '--base-dir', data, '--no-logo'],
    {
      stdio: 'ignore',
      env: {
        ...process.env,
        RESTATE_DISABLE_TELEMETRY: 'true',
        RESTATE_BIND_PORT: String(fabric),
        RESTATE_INGRESS__BIND_PORT: String(ingress),
        RESTATE_ADMIN__BIND_PORT: String(admin),
      },
    },
  );
  const client = new JsonClient(`http://127.0.0.1:${admin}`);
  await untilAnswered(() => client.postJson('/deployments', { uri: handlers.address }));
  client.close();
  const subject = caller(`http://127.0.0.1:${ingress}`, '/steps/run', [handlers]);
  await untilAnswered(subject.run);
  return {
    restate: {
      ...subject,
      async close() {
        server.kill('SIGKILL');
        await subject.close();
        await rm(data, { recursive: true, force: true });
      },
    },
  };
}

async function needed(folder: string, ...peers: readonly Peer[]): Promise<void> {
  const reason = await installPeer(folder, ...peers);
  if (reason !== null) throw new Error(reason);
}

function caller(address: string, path: string, programs: readonly ServerProcess[]): Subject {
  const client = new JsonClient(address);
  return {
    async run() {
      await client.post(path, {});
    },
    async close() {
      client.close();
      for (const each of programs) await each.kill();
    },
  };
}

/** A program of this folder that prints its address when it is ready. */
function program(file: string, ...given: readonly string[]): Promise<ServerProcess> {
  return serverProcess(
    spawn(process.execPath, [join('test/bench', file), ...given], { stdio: ['ignore', 'pipe', 'inherit'] }),
  );
}

const READY_MS = 60_000;
const BETWEEN_MS = 200;

async function untilAnswered(call: () => Promise<unknown>): Promise<void> {
  for (const until = performance.now() + READY_MS; ; )
    try {
      await call();
      return;
    } catch (error) {
      if (performance.now() > until) throw error;
      await new Promise((settle) => setTimeout(settle, BETWEEN_MS));
    }
}
