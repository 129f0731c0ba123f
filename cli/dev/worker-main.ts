import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import type { SvcWorker, WorkerLogEntry } from '../../sdk/typescript/src/worker/index.ts';
import { hookModules, loadClient } from './client-copy.ts';
import { handlersIn, inGroups } from './handlers.ts';
import type { FromWorker, ToWorker } from './messages.ts';

/** The worker of `svc dev`: the handlers of one module, in a process that ends when the module changes. */

/** Shorter than the kit's default: a worker that crashed holds its runs until its leases end. */
const LEASE_SECONDS = 20;
const CONCURRENCY = 8;
/** Handlers under way get this long at a reload; then their runs are given back. */
const GRACE_SECONDS = 2;

/** Names no run, so that the call leases none. */
const NO_RUN = '0';

const path = resolve(process.argv[2] ?? '');
const workers: SvcWorker[] = [];
/** Handlers of which the service gives this worker no run, once it has said so. */
const unknown = new Set<string>();

/** The channel is of this script: a module that would send to a process manager finds none, as under any other start. */
const send = process.send?.bind(process);
delete process.send;

function report(message: FromWorker): Promise<void> {
  return new Promise((done) => {
    if (send === undefined || !process.connected) done();
    else send(message, () => done());
  });
}

async function main(): Promise<void> {
  if (!existsSync(path)) return fail('there is no such file now');
  hookModules(path, (file) => void report({ kind: 'loaded', path: file }));
  const found = handlersIn((await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>);
  if (typeof found === 'string') return fail(found);
  const { SvcClient, createWorker } = await loadClient();
  const client = new SvcClient();
  const workerId = 'dev';
  for (const group of inGroups([...found])) {
    const handlers = Object.fromEntries(group);
    workers.push(
      createWorker({
        client,
        workerId,
        handlers,
        leaseSeconds: LEASE_SECONDS,
        concurrency: CONCURRENCY,
        log,
      }),
    );
    // The service knows them before `svc dev` shows its address.
    const handlerIds = Object.keys(handlers);
    const call = client.leaseExternalExecutionRun({ workerId, handlerIds, runId: NO_RUN });
    const refused = (error: unknown) => fail(`the service refuses its worker: ${messageOf(error)}`);
    const { response } = await call.withResponse().catch(refused);
    for (const id of namesIn(response.headers.get('svc-unknown-handlers'))) unknown.add(id);
  }
  await report({ kind: 'ready', handlerIds: [...found.keys()], unknownIds: [...unknown] });
  await Promise.all(workers.map((worker) => worker.run()));
}

function namesIn(field: string | null): readonly string[] {
  return field === null ? [] : field.split(',').map((name) => decodeURIComponent(name.trim()));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function fail(reason: string): Promise<never> {
  await report({ kind: 'failed', reason });
  process.exit(1);
}

function log({ level, message, runId, handlerId, error }: WorkerLogEntry): void {
  if (level !== 'warning' && level !== 'error') return;
  // `svc dev` has reported it, with the setting that holds here.
  if (runId === undefined && handlerId !== undefined && unknown.has(handlerId)) return;
  const of = runId === undefined ? '' : ` (${handlerId ?? ''}, run ${runId})`;
  const why = error === undefined ? '' : `: ${inspect(error)}`;
  process.stderr.write(`worker: ${message}${of}${why}\n`);
}

async function stop(): Promise<void> {
  await Promise.all(workers.map((worker) => worker.stop({ graceSeconds: GRACE_SECONDS })));
  process.exit(0);
}

process.on('message', (message: ToWorker) => {
  if (message.kind === 'stop') void stop();
});
process.once('disconnect', () => void stop());

/** Frames of Node and of the scripts of `svc dev`. */
const FOREIGN_FRAME = /^\s+at .*(?:\(?node:internal|[/\\]cli[/\\]dev[/\\](?:client-copy|worker-main)\.ts)/;

/** The stack of an error of the user's module, with the frames of that module. */
function stackOf(error: unknown): string {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return text
    .split('\n')
    .filter((line) => !FOREIGN_FRAME.test(line))
    .join('\n')
    .trimEnd();
}

await main().catch((error: unknown) => fail(stackOf(error)));
