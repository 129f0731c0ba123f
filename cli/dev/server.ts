import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { scripts } from './scripts.ts';

export interface DevServer {
  readonly address: string;
  /** Resolves with the exit code when the process has ended. */
  readonly exit: Promise<number>;
  stop(): Promise<void>;
  /** Ends a server that stops already at once. */
  kill(): void;
}

/**
 * Starts the server in a process of its own and waits until it is ready; `null` if it ends before, after it has said why. Its
 * lines but the first go to the output of this process.
 */
export async function startServer(argv: readonly string[]): Promise<DevServer | null> {
  const child = spawn(process.execPath, [scripts.server, ...argv], {
    // A group of its own: Ctrl-C reaches `svc dev` alone, which stops the worker first.
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const exit = exitOf(child);
  const ready = Promise.withResolvers<string>();
  createInterface({ input: child.stdout! }).on('line', (line) => {
    const address = / is ready at (http\S+)/.exec(line)?.[1];
    // The summary of this command names the data.
    if (address === undefined && !line.startsWith('data: ')) process.stdout.write(`${line}\n`);
    if (address !== undefined) ready.resolve(address);
  });
  const address = await Promise.race([ready.promise, exit.then(() => null)]);
  if (address === null) return null;
  return {
    address,
    exit,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      await exit;
    },
    kill() {
      child.kill('SIGTERM');
    },
  };
}

async function exitOf(child: ChildProcess): Promise<number> {
  await once(child, 'exit');
  return child.exitCode ?? 1;
}
