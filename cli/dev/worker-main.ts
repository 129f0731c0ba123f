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

function report(message: FromWorker): Promise<void> {
  return new Promise((done) => {
    if (process.send === undefined || !process.connected) done();
    else process.send(message, () => done());
  });
}

async function main(): Promise<void> {
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
    await client.leaseExternalExecutionRun({ workerId, handlerIds: Object.keys(handlers), runId: NO_RUN });
  }
  await report({ kind: 'ready', handlerIds: [...found.keys()] });
  await Promise.all(workers.map((worker) => worker.run()));
}

async function fail(reason: string): Promise<never> {
  await report({ kind: 'failed', reason });
  process.exit(1);
}

function log({ level, message, runId, handlerId, error }: WorkerLogEntry): void {
  if (level !== 'warning' && level !== 'error') return;
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

/** The stack of an error of the user's module, without the frames of Node. */
function stackOf(error: unknown): string {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return text
    .split('\n')
    .filter((line) => !/^\s+at .*\(?node:internal/.test(line))
    .join('\n');
}

await main().catch((error: unknown) => fail(stackOf(error)));
