/**
 * A first success: starts the embedded service in its own folder, imports claims, drains the outbox into a projection
 * with a dispatcher that is killed half-way and restarted, and checks that nothing is lost.
 *
 *     npm run example -- [--claims 3000] [--keep]
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { runExample } from '../run-example.ts';
import { verify } from './check.ts';
import { type ImportSummary, importClaims } from './import.ts';
import { progress } from './progress.ts';
import { Service } from './service.ts';

const SETTINGS = 'examples/claims/settings.json';

const { values } = parseArgs({
  options: {
    claims: { type: 'string', default: '3000' },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (values.help) {
  console.log(
    'usage: npm run example -- [--claims <number, default 3000>] [--keep]\n\n--keep leaves the data folder.',
  );
  process.exit(0);
}
const claims = Number(values.claims);
if (!Number.isInteger(claims) || claims < 1 || claims > 100_000) {
  console.error('--claims must be a whole number from 1 to 100000');
  process.exit(2);
}

await runExample({
  name: 'example',
  takes: 'about half a minute',
  async main(undo) {
    const folder = await mkdtemp(join(tmpdir(), 'svc-claims-'));
    undo(async () =>
      values.keep ? console.log(`Kept ${folder}.`) : rm(folder, { recursive: true, force: true }),
    );
    const server = run('functions/embedded.ts', ['--settings', SETTINGS], {
      PORT: '0',
      SVC_DATA_DIR: join(folder, 'data'),
    });
    undo(async () => {
      server.kill('SIGTERM');
      await ended(server);
    });
    const address = await addressOf(server);
    console.log(
      `The service answers on ${address} with the settings of ${SETTINGS}; its data is in ${folder}.`,
    );
    const service = new Service(address);
    const startedAt = performance.now();
    const summary = await importClaims(service, claims);
    const seconds = (performance.now() - startedAt) / 1000;
    console.log(
      `Imported ${summary.documents} claims in ${summary.commits} commits, with ${summary.events} outbox events, ` +
        `in ${seconds.toFixed(1)} s.`,
    );
    const file = join(folder, 'projection.ndjson');
    await drain(address, file, summary);
    await verify(service, file, claims, summary);
    return 'The projection is complete: every event arrived, none was lost, and it agrees with every document';
  },
});

/** Starts a dispatcher, kills it after half of the events, and lets a second one finish. */
async function drain(address: string, file: string, summary: ImportSummary): Promise<void> {
  const show = progress('draining the outbox', summary.events);
  const half = Math.floor(summary.events / 2);
  const first = run('examples/claims/dispatcher.ts', [address, file]);
  const reached = await follow(first, half, show);
  first.kill('SIGKILL');
  await ended(first);
  console.error(
    `\nThe dispatcher was killed after ${reached} of ${summary.events} events; another one goes on.`,
  );
  const second = run('examples/claims/dispatcher.ts', [address, file, '--until-drained']);
  await follow(second, summary.events, show);
  // Events leased by the first dispatcher and not acknowledged return after their leases expire.
  await ended(second);
}

/** Reads the counts that a dispatcher prints until they reach `goal`. */
async function follow(dispatcher: ChildProcess, goal: number, show: (done: number) => void): Promise<number> {
  let count = 0;
  for await (const line of linesOf(dispatcher)) {
    count = Number(line);
    show(count);
    if (count >= goal) return count;
  }
  throw new Error(`the dispatcher ended after ${count} of ${goal} events`);
}

function run(script: string, args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  return spawn(process.execPath, [script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
}

async function addressOf(child: ChildProcess): Promise<string> {
  for await (const line of linesOf(child)) {
    const address = /http:\/\/\S+/.exec(line)?.[0];
    if (address !== undefined) return address;
  }
  throw new Error('the service did not start');
}

function linesOf(child: ChildProcess) {
  if (child.stdout === null) throw new Error('the process has no output to read');
  return createInterface({ input: child.stdout });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}
