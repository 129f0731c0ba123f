import { compose, type Service } from './compose/compose.ts';
import { machine } from './compose/machine.ts';
import { CompositionFault } from './compose/module.ts';
import { databasePath } from './compose/store.ts';
import { faultsText } from './config/fault.ts';
import { settingsHelp } from './config/help.ts';
import { commandLine, readConfiguration } from './config/machine.ts';
import { isOpen } from './config/rules.ts';
import type { Settings } from './config/table.ts';
import { type NodeHost, serveNode } from './http/host-node.ts';
import type { Chain } from './http/message.ts';
import { describeFailure } from './kernel/log.ts';
import { release } from './release.ts';

/** The embedded server: every route group in one process on one port. */
async function main(): Promise<void> {
  const argv = commandLine();
  if (argv.some((argument) => argument === '--help' || argument === '-h')) return say(help());
  if (argv.some((argument) => argument === '--version' || argument === '-v')) return say(release.version);
  const { settings, faults } = readConfiguration('embedded');
  if (settings === undefined) return fail(faultsText(faults));
  const service = compose(settings, { writeLog: warn });
  const stop = onStopSignal();
  // Before the server is ready, no request needs to finish.
  const host = await Promise.race([start(settings, service), stop.then(() => null)]);
  if (typeof host === 'string') return endWith(host);
  if (host !== null) {
    if (isOpen(settings)) warn(openWarning(settings));
    say(`${release.service} ${release.version} is ready at ${host.url} (${settings.service.environment})`);
    await stop;
    await host.stop();
  }
  await service.close();
  process.exit(0);
}

/** Starts listening; returns the server or the reason why it cannot start. */
async function start(settings: Settings, service: Service): Promise<NodeHost | string> {
  if (settings.canonicalStore.enabled && settings.canonicalStore.provider === 'sqlite') {
    try {
      // Open the store before the first request: an unusable folder must fail the start, not the first commit.
      await service.store();
    } catch (error) {
      return `The database ${databasePath(settings)} cannot be opened: ${reasonOf(error)}`;
    }
  }
  let chain: Chain;
  try {
    chain = await service.chain(service.groups);
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
    return host;
  } catch (error) {
    await service.close();
    return listenFailure(settings, error);
  }
}

/** Resolves with the first signal; the second one ends the process at once. */
function onStopSignal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let stopping = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(signal === 'SIGINT' ? 130 : 143);
      stopping = true;
      resolve();
    });
  }
  return promise;
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

function help(): string {
  return [
    `${release.service} ${release.version}: the whole service in one process.`,
    '',
    'Usage: npm start -- [--Key=value …]',
    '',
    '  --help           shows this',
    '  --version        shows the release',
    '  --settings FILE  reads FILE instead of svcsettings.json (SVC_SETTINGS)',
    '',
    'Settings, the later source wins: svcsettings.json, svcsettings.{Environment}.json, the environment',
    '(Server__Port=5220 or the short names in brackets), the command line (--Server:Port=5220).',
    '',
    settingsHelp({ environment: 'Development', host: 'embedded' }),
  ].join('\n');
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function say(line: string): void {
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
