import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { inputOf } from '../../functions/config/machine.ts';
import { type Settings, table } from '../../functions/config/table.ts';
import { firstStopSignal } from '../../functions/kernel/stop-signals.ts';
import { exitCodes, printLine, ToolError, warn } from '../output.ts';
import { argumentsOf } from './arguments.ts';
import { failureText, readyText, unknownText } from './lines.ts';
import { open } from './opener.ts';
import { reset } from './reset.ts';
import { type ApiKey, seed } from './seed.ts';
import { type DevServer, startServer } from './server.ts';
import { type DevKey, dataText, devSettings } from './settings.ts';
import { DevWorker, type Loaded } from './worker.ts';

export interface DevOptions {
  readonly port?: string;
  readonly seed?: true;
  readonly reset?: true;
  readonly yes?: true;
  readonly open?: true;
}

/** Runs a Development server, and the worker of a module beside it, until a signal comes. */
export async function dev(words: readonly string[], options: DevOptions): Promise<void> {
  const { worker, settings: given } = argumentsOf(words);
  if (worker !== null) checkFile(worker);
  const port = options.port === undefined ? [] : [`--port=${options.port}`];
  const devs = devSettings(inputOf('embedded', [...given, ...port]));
  const { key } = devs;
  const { enabled } = table.execution;
  if (worker !== null && !devs.settings.execution.enabled)
    throw new ToolError(`A worker needs runs, and ${enabled.key} is false`, exitCodes.usage);
  if (options.reset === true)
    await reset(devs, { yes: options.yes === true, input: process.stdin, output: process.stderr });
  let isOver = false;
  const signal = firstStopSignal(process, machine.clock).then(() => {
    isOver = true;
    return null;
  });
  const server = await startServer(devs.argv);
  // The server has said why.
  if (server === null) return void (process.exitCode = exitCodes.failed);
  const running = worker === null ? null : workerOf(worker, server, key);
  // A second signal ends this process at once, and the others with it.
  process.once('exit', () => {
    running?.kill();
    server.kill();
  });
  try {
    // A signal does not wait for a module that takes long to load.
    const shown = await Promise.race([
      present(devs.settings, server, { worker, running, key, options, isOver: () => isOver }),
      signal,
    ]);
    const ended = shown === null ? null : await Promise.race([signal, server.exit]);
    if (ended !== null) {
      warn(`The server ended with ${ended}`);
      process.exitCode = exitCodes.failed;
    }
  } finally {
    await running?.stop();
    await server.stop();
  }
  // Nothing else is left that matters, and an open input would keep the process.
  process.exit();
}

function checkFile(worker: string): void {
  const file = statSync(worker, { throwIfNoEntry: false });
  if (file === undefined) throw new ToolError(`There is no file ${worker}`, exitCodes.notFound);
  if (!file.isFile())
    throw new ToolError(`${worker} is no file. Name the module that exports the handlers`, exitCodes.usage);
  if (!worker.endsWith('.py')) return;
  const message = `dev runs modules of Node. Leave ${worker} out here, and run it with SVC_BASE_URL in another terminal`;
  throw new ToolError(message, exitCodes.usage);
}

interface Presented {
  readonly worker: string | null;
  readonly running: DevWorker | null;
  readonly key: DevKey | null;
  readonly options: DevOptions;
  readonly isOver: () => boolean;
}

/** Loads the worker, stores the sample data, and shows how to go on. */
async function present(
  settings: Settings,
  { address }: DevServer,
  { worker, running, key, options, isOver }: Presented,
): Promise<'shown'> {
  const loaded = (await running?.start()) ?? null;
  if (isOver()) return 'shown';
  const handlerIds = loaded?.handlerIds ?? null;
  if (loaded !== null && worker !== null && loaded.reason !== null) warn(failureText(worker, loaded.reason));
  if (options.seed === true) printLine(await seed(address, key));
  const unknownIds = loaded?.reason === null ? loaded.unknownIds : [];
  const { docs, mcp } = settings;
  const has = { hasDocs: docs.enabled, hasMcp: mcp.enabled, keyHeader: key?.header ?? null };
  const keySource = key?.source ?? null;
  const data = dataText(settings);
  printLine(readyText({ address, ...has, keySource, data, worker, handlerIds, unknownIds }));
  if (unknownIds.length > 0) warn(unknownText(unknownIds));
  if (options.open === true) open(`${address}${docs.enabled ? '/docs' : '/health'}`);
  return 'shown';
}

function workerOf(worker: string, { address }: DevServer, key: ApiKey | null): DevWorker {
  const heard = (loaded: Loaded): void => {
    if (loaded.reason !== null) return warn(failureText(worker, loaded.reason));
    printLine(`${worker} is reloaded: ${loaded.handlerIds.join(', ')}`);
    if (loaded.unknownIds.length > 0) warn(unknownText(loaded.unknownIds));
  };
  return new DevWorker({ path: resolve(worker), address, key, heard });
}
