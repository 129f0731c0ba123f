import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** A running function. */
export interface RunningFunction {
  readonly name: string;
  readonly port: number;
  /** Resolves with the reason when the process ends. */
  readonly ended: Promise<string>;
  /** Waits for requests in progress, then ends the process. */
  stop(): Promise<void>;
  /** Ends the process at once, as a machine failure would. */
  kill(): Promise<void>;
}

export interface FunctionOptions {
  readonly name: string;
  /** The module that registers the function. */
  readonly entry: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether to discard its log lines; default false. */
  readonly silent?: boolean;
  /** After how long an ordered stop becomes a kill, in milliseconds: longer than the function takes to drain. */
  readonly stopMs?: number;
}

const stopMsDefault = 15_000;

export async function startFunction(options: FunctionOptions): Promise<RunningFunction> {
  const { name, entry, env, silent = false, stopMs = stopMsDefault } = options;
  const log = silent ? 'ignore' : process.stderr;
  const host = join(import.meta.dirname, 'function-host.ts');
  const child = spawn(process.execPath, [host, entry], {
    env: { ...env, FUNCTION_TARGET: name },
    // Log lines go to stderr: stdout is for this program's own output.
    stdio: ['ignore', log, log, 'ipc'],
    // Ctrl-C goes to the whole process group. In a group of its own, the function is stopped by this program in the
    // right order.
    detached: true,
  });
  const ended = endOf(child);
  const port = await Promise.race([
    portOf(child),
    ended.then((reason) => {
      throw new Error(`The function ${name} did not start: ${reason}.`);
    }),
  ]);
  return {
    name,
    port,
    ended,
    async stop() {
      child.kill('SIGTERM');
      const force = setTimeout(() => child.kill('SIGKILL'), stopMs);
      await ended;
      clearTimeout(force);
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function portOf(child: ChildProcess): Promise<number> {
  const [message] = (await once(child, 'message')) as [{ readonly port: number }];
  return message.port;
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(`it ended with ${signal ?? `code ${code}`}`));
  });
}
