import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { machine } from '../../functions/compose/machine.ts';
import { inputOf } from '../../functions/config/machine.ts';
import { firstStopSignal } from '../../functions/kernel/stop-signals.ts';
import { exitCodes, printLine, ToolError, warn } from '../output.ts';
import { readyText } from './lines.ts';
import { reset } from './reset.ts';
import { seed } from './seed.ts';
import { type DevServer, startServer } from './server.ts';
import { dataText, devSettings } from './settings.ts';
import { DevWorker, type Loaded } from './worker.ts';

export interface DevOptions {
  readonly port?: string;
  readonly seed?: true;
  readonly reset?: true;
  readonly yes?: true;
  readonly open?: true;
}

/** Runs a Development server, and the worker of a module beside it, until a signal comes. */
export async function dev(
  worker: string | null,
  given: readonly string[],
  options: DevOptions,
): Promise<void> {
  if (worker !== null && !existsSync(worker))
    throw new ToolError(`There is no file ${worker}`, exitCodes.notFound);
  if (worker?.endsWith('.py') === true) {
    const message = `dev runs modules of Node. Leave ${worker} out here, and run it with SVC_BASE_URL in another terminal`;
    throw new ToolError(message, exitCodes.usage);
  }
  const port = options.port === undefined ? [] : [`--port=${options.port}`];
  const devs = devSettings(inputOf('embedded', [...given, ...port]));
  if (options.reset === true)
    await reset(devs, { yes: options.yes === true, input: process.stdin, output: process.stderr });
  const signal = firstStopSignal(process, machine.clock);
  const server = await startServer(devs.argv);
  // The server has said why.
  if (server === null) return void (process.exitCode = exitCodes.failed);
  const running = worker === null ? null : workerOf(worker, server);
  try {
    const loaded = (await running?.start()) ?? null;
    if (loaded !== null && worker !== null && loaded.reason !== null)
      warn(failureText(worker, loaded.reason));
    if (options.seed === true) printLine(await seed(server.address));
    const { settings } = devs;
    const shown = { address: server.address, hasDocs: settings.docs.enabled, hasMcp: settings.mcp.enabled };
    printLine(
      readyText({ ...shown, data: dataText(settings), worker, handlerIds: loaded?.handlerIds ?? null }),
    );
    if (options.open === true) open(`${server.address}${settings.docs.enabled ? '/docs' : '/health'}`);
    const ended = await Promise.race([signal.then(() => null), server.exit]);
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

function workerOf(worker: string, { address }: DevServer): DevWorker {
  const heard = ({ handlerIds, reason }: Loaded): void => {
    if (handlerIds === null) warn(failureText(worker, reason));
    else printLine(`${worker} is reloaded: ${handlerIds.join(', ')}`);
  };
  return new DevWorker({ path: resolve(worker), address, heard });
}

function failureText(worker: string, reason: string): string {
  return `${worker} does not run: ${reason}\nThe server runs on, and a change of the file loads it again.`;
}

const openers: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

/** Shows the page in the browser. Without one the printed address is enough. */
function open(address: string): void {
  const [program = 'xdg-open', ...words] = openers[process.platform] ?? ['xdg-open'];
  const child = spawn(program, [...words, address], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
}
