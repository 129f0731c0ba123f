import { dirname, isAbsolute } from 'node:path';
import { compose, type Service } from './compose/compose.ts';
import { databasePath } from './compose/database-path.ts';
import { machine } from './compose/machine.ts';
import { CompositionFault } from './compose/module.ts';
import { foldersOpenToOthers, placeOf } from './compose/store.ts';
import { faultsText } from './config/fault.ts';
import { groupsOff, offLine } from './config/groups-off.ts';
import { commandLine, readConfiguration } from './config/machine.ts';
import { isOpen } from './config/rules.ts';
import type { Settings } from './config/table.ts';
import { type NodeHost, serveNode } from './http/host-node.ts';
import type { Chain } from './http/message.ts';
import { describeFailure } from './kernel/log.ts';
import { logWarnings } from './kernel/runtime-warnings.ts';
import { firstStopSignal } from './kernel/stop-signals.ts';
import { release } from './release.ts';
import { takeRejection } from './runs/handler-scope.ts';
import { StoreError } from './store/port.ts';

/** The embedded server: every route group in one process on one port. */
async function main(): Promise<void> {
  const argv = commandLine();
  if (argv.some((argument) => argument === '--help' || argument === '-h'))
    return printLine((await import('./server-help.ts')).serverHelp());
  if (argv.some((argument) => argument === '--version' || argument === '-v'))
    return printLine(release.version);
  const { settings, faults } = readConfiguration('embedded');
  if (settings === undefined) return fail(faultsText(faults));
  const service = compose(settings, { writeLog: warn });
  logWarnings(process, service.log);
  process.on('unhandledRejection', (reason) => {
    if (takeRejection(reason)) return;
    const message = 'A promise was rejected, and nothing handled it';
    service.log({ severity: 'ERROR', message, failure: describeFailure(reason) });
  });
  const stop = firstStopSignal(process, machine.clock).then(() => warn(stopLine(settings, service)));
  // Before the server is ready, no request needs to finish.
  const started = await Promise.race([start(settings, service), stop.then(() => null)]);
  if (typeof started === 'string') return endWith(started);
  if (started !== null) {
    const { host, degraded } = started;
    if (isOpen(settings)) warn(openWarning(settings));
    for (const folder of await foldersOpenToOthers(settings)) warn(folderWarning(folder));
    const state = degraded === null ? '' : `, degraded: ${degraded}`;
    printLine(
      `${release.service} ${release.version} is ready at ${host.url} (${settings.service.environment})${state}`,
    );
    for (const off of groupsOff(settings)) printLine(offLine(off));
    if (isRelative(settings)) printLine(`data: ${dirname(databasePath(settings))}`);
    await stop;
    service.drain();
    await host.stop();
  }
  await service.close();
  process.exit(0);
}

interface Started {
  readonly host: NodeHost;
  /** The reason why the database does not answer yet; `null` if it does. */
  readonly degraded: string | null;
}

/** Starts listening; returns the server or the reason why it cannot start. */
async function start(settings: Settings, service: Service): Promise<Started | string> {
  const keepsData = settings.canonicalStore.enabled || service.groups.includes('records');
  const fault = keepsData ? await databaseFault(settings, service) : null;
  if (fault?.isFinal === true) return fault.reason;
  let chain: Chain;
  try {
    chain = await service.wholeChain();
  } catch (error) {
    if (!(error instanceof CompositionFault)) throw error;
    await service.close();
    return error.message;
  }
  try {
    const { host: name, port, drainSeconds } = settings.server;
    const host = await serveNode(chain, { host: name, port, world: machine, drainMs: drainSeconds * 1000 });
    // Do not wait: the server retries a database that is unavailable now.
    service.start().catch((error: unknown) => {
      service.log({ severity: 'ERROR', message: 'Runs are not executed', failure: describeFailure(error) });
    });
    return { host, degraded: fault?.reason ?? null };
  } catch (error) {
    await service.close();
    return listenFailure(settings, error);
  }
}

/**
 * Calls the database before the first request. A database that cannot be opened, or that refuses the settings, ends the start. If it
 * is only unavailable, the server starts and reports that.
 */
async function databaseFault(settings: Settings, service: Service) {
  const { provider } = settings.canonicalStore;
  try {
    const store = await service.store();
    // The file of SQLite is open by now. A full disk prevents its writes, but the server can still answer reads.
    if (provider !== 'sqlite') await store.ping();
    return null;
  } catch (error) {
    const isFinal = provider === 'sqlite' || (error instanceof StoreError && error.isMisconfigured);
    if (provider === 'sqlite') {
      return {
        isFinal,
        reason: `The database ${databasePath(settings)} cannot be opened: ${reasonOf(error)}`,
      };
    }
    const what = isFinal ? 'The database cannot be used' : 'the database does not answer';
    return { isFinal, reason: `${what} (${placeOf(settings)}): ${reasonOf(error)}` };
  }
}

/** Whether the path of the data is relative to the working directory. */
function isRelative({ service, canonicalStore }: Settings): boolean {
  const { provider, databasePath: path } = canonicalStore;
  return provider === 'sqlite' && !isAbsolute(path ?? service.dataDirectory);
}

function folderWarning(folder: string): string {
  return `WARNING: Other users of this machine can read the data folder ${folder}. Restrict it: chmod 700 ${folder}`;
}

/** The line that confirms the signal and names the longest time until the end. */
function stopLine({ server }: Settings, service: Service): string {
  const runs = service.runsUnderWay();
  const wait = `up to ${server.drainSeconds} s`;
  const forRuns =
    runs === 0
      ? '; no run is under way'
      : `, then ${wait} for ${runs === 1 ? 'a run' : `${runs} runs`} under way`;
  return `${release.service} ${release.version} stops: it waits ${wait} for requests under way${forRuns}. A second Ctrl-C ends it at once.`;
}

function listenFailure({ server }: Settings, error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  const place = `${server.host}:${server.port}`;
  if (code === 'EADDRINUSE')
    return `Port ${server.port} is in use. Choose another with PORT or --port; 0 takes a free one.`;
  if (code === 'EACCES') return `Listening on ${place} is not permitted.`;
  return `Listening on ${place} failed: ${reasonOf(error)}`;
}

function openWarning({ server }: Settings): string {
  const who = server.allowRemoteDevelopment
    ? 'every caller that reaches it'
    : 'every program on this machine';
  return `WARNING: Development mode. The service is open to ${who}, with no credential asked.`;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

function warn(line: string): void {
  process.stderr.write(`${line}\n`);
}

function fail(line: string): void {
  warn(line);
  process.exitCode = 1;
}

/** Ends the process at once: unfinished work, such as a module that never finishes loading, would keep it alive. */
function endWith(line: string): never {
  warn(line);
  process.exit(1);
}

await main();
