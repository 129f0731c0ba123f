import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';

export interface ServerProcess {
  readonly address: string;
  readonly child: ChildProcess;
  /** Ends it as a deployment would, and gives its exit code. */
  stop(): Promise<number | null>;
  /** Kills it, as a power failure would. */
  kill(): Promise<void>;
}

/** Starts the embedded server of a checkout on a free port and waits for the line that says it is ready. */
export async function startServer(
  env: Readonly<Record<string, string>>,
  settings: readonly string[] = [],
  checkout = '.',
): Promise<ServerProcess> {
  // One address sends all the requests, so its permit limit is raised, here in the open.
  const raised = [
    'Server:CanonicalRateLimit:PermitLimit=100000',
    'Server:CanonicalRateLimit:WindowSeconds=1',
    'Server:ExecutionRateLimit:PermitLimit=1000000',
    'Server:WorkerRateLimit:PermitLimit=1000000',
    'Server:PublicRateLimit:PermitLimit=1000000',
    'Server:RecordRateLimit:PermitLimit=1000000',
  ];
  const flags = [...raised, ...settings].map((setting) => `--${setting}`);
  const child = spawn(process.execPath, ['functions/embedded.ts', ...flags], {
    stdio: ['ignore', 'pipe', 'ignore'],
    cwd: resolve(checkout),
    env: { ...process.env, PORT: '0', METADATA_SERVER_DETECTION: 'none', ...env },
  });
  return serverProcess(child);
}

/** Waits for the line that says that the server is ready. */
export async function serverProcess(child: ChildProcess): Promise<ServerProcess> {
  return {
    address: await addressOf(child),
    child,
    async stop() {
      child.kill('SIGTERM');
      await ended(child);
      return child.exitCode;
    },
    async kill() {
      child.kill('SIGKILL');
      await ended(child);
    },
  };
}

/** The address in the line that a server prints when it is ready. */
export async function addressOf(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the server has no output to read');
  for await (const line of createInterface({ input: child.stdout })) {
    const address = /http:\/\/\S+/.exec(line)?.[0];
    if (address !== undefined) return address;
  }
  throw new Error(`the server ended with ${child.exitCode ?? child.signalCode} before it was ready`);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}
