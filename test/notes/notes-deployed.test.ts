import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startTasksEmulator, type TasksEmulator } from '../../emulator/tasks/tasks-emulator.ts';
import { compose } from '../../functions/compose/compose.ts';
import type { ExecutionRole } from '../../functions/compose/execution.ts';
import { machine } from '../../functions/compose/machine.ts';
import { faultsText } from '../../functions/config/fault.ts';
import { loadConfiguration } from '../../functions/config/load.ts';
import { type InjectedRequest, inject } from '../../functions/http/host-inject.ts';
import { serveNode } from '../../functions/http/host-node.ts';
import { firestoreHost, firestoreMissing, firestoreProject } from '../support/firestore.ts';
import { type Relay, startRelay } from '../support/relay.ts';
import type { NoteImportJob } from './contracts/generated/models.ts';
import { notesGroup } from './group/composed.ts';
import { BATCH, type ImportParts } from './group/import-notes.ts';
import { answered, notesOf } from './notes-stage.ts';

const COUNT = 3 * BATCH;
const PATIENCE = { timeout: 600_000, interval: 50 };

/** The functions of one deployment: they share Firestore and Cloud Tasks, and nothing else. */
const leftOut = firestoreMissing === undefined ? '' : ` (skipped: ${firestoreMissing})`;
describe.skipIf(leftOut !== '')(`jobs of a group as functions in the local cloud${leftOut}`, () => {
  let tasks: TasksEmulator;
  let settings: Readonly<Record<string, string>>;
  /** The address of the workers, which stays while one follows another. Its requests wait for a worker. */
  let relay: Relay;
  const workers: ({ readonly address: string } | undefined)[] = [undefined];
  let working = Promise.withResolvers<void>();
  const stops: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    tasks = await startTasksEmulator({
      queues: [
        {
          name: 'projects/demo-svc/locations/local/queues/svc-runs',
          retryConfig: { maxAttempts: -1, minBackoff: { nanos: 100_000_000 }, maxBackoff: { seconds: 1 } },
        },
      ],
      stopGraceMs: 0,
    });
    relay = await startRelay(workers, { before: () => working.promise });
    settings = {
      'CanonicalStore:Provider': 'firestore',
      'Firestore:ProjectId': firestoreProject(),
      'Firestore:EmulatorHost': firestoreHost(),
      'ExecutionRuntime:Adapter': 'google',
      'ExecutionRuntime:LeaseSeconds': '5',
      'ExecutionRuntime:Google:ProjectId': 'demo-svc',
      'ExecutionRuntime:Google:LocationId': 'local',
      'ExecutionRuntime:Google:QueueId': 'svc-runs',
      'ExecutionRuntime:Google:EmulatorHost': `${tasks.host}:${tasks.port}`,
      'ExecutionRuntime:Google:WorkerUrl': `${relay.address}/tasks/execution`,
      'Server:LogLevel': 'error',
      'Server:DrainSeconds': '0',
    };
  });
  afterAll(async () => {
    for (const stop of stops.toReversed()) await stop();
    await relay.close();
    await tasks.stop();
  });

  function composed(role: ExecutionRole, hooks: Pick<ImportParts, 'beforeBatch'> = {}) {
    const loaded = loadConfiguration({
      host: 'embedded',
      env: {},
      argv: Object.entries(settings).map(([key, value]) => `--${key}=${value}`),
      readFile: () => undefined,
    });
    if (loaded.settings === undefined) throw new Error(faultsText(loaded.faults));
    const service = compose(loaded.settings, {
      role,
      extraGroups: [notesGroup(hooks)],
      writeLog: () => undefined,
    });
    return service;
  }

  async function startWorker(hooks: Pick<ImportParts, 'beforeBatch'> = {}) {
    const service = composed('worker', hooks);
    const chain = await service.functionChain('worker');
    const host = await serveNode(chain, { host: '127.0.0.1', port: 0, world: machine, drainMs: 0 });
    workers[0] = { address: host.url };
    working.resolve();
    let stopped = false;
    const stop = async () => {
      if (stopped) return;
      stopped = true;
      working = Promise.withResolvers();
      await host.stop();
      // Its engine renews no lease from now on, as that of a process that is gone.
      await service.close();
    };
    stops.push(stop);
    return { stop };
  }

  test('the function admits, a worker executes, and another one continues where it died', async () => {
    const api = composed('service');
    stops.push(() => api.close());
    const chain = await api.chain(['notes']);
    const call = (request: InjectedRequest) => inject(chain, request);
    const job = async (id: string) =>
      answered<NoteImportJob>(await call({ method: 'GET', path: `/note-imports/${id}` }));
    let began = 0;
    const hangs = (_: unknown, at: number) => {
      began = at;
      return at === BATCH ? new Promise<never>(() => undefined) : Promise.resolve();
    };
    const first = await startWorker({ beforeBatch: hangs });
    const body = { notes: notesOf(COUNT), idempotencyKey: 'k' };
    const request = { method: 'POST', path: '/notebooks/inbox/import/jobs', body };
    const { id } = answered<NoteImportJob>(await call(request), 202);
    await vi.waitFor(() => expect(began).toBe(BATCH), PATIENCE);
    expect(await job(id)).toMatchObject({ status: 'running', attempted: BATCH });
    await first.stop();
    // The lease of the first worker alone has to end.
    settings = { ...settings, 'ExecutionRuntime:LeaseSeconds': '600' };
    const batches: number[] = [];
    await startWorker({ beforeBatch: async (_, at) => void batches.push(at) });
    await vi.waitFor(async () => expect((await job(id)).status).toBe('succeeded'), PATIENCE);
    expect(batches).toEqual([BATCH, 2 * BATCH]);
    expect(answered<NoteImportJob>(await call(request), 202)).toMatchObject({
      id,
      admission: { replayed: true },
    });
    for (const note of body.notes) {
      const answer = await call({ method: 'GET', path: `/notebooks/inbox/notes/${note.id}` });
      expect(answered(answer)).toMatchObject({ revision: 1, importedBy: id });
    }
  });
});
