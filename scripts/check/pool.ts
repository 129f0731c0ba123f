import { type ChildProcess, spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';

export interface Check {
  readonly name: string;
  /** A program of the project or of its packages, and its arguments. */
  readonly command: readonly [program: string, ...args: readonly string[]];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Outcome {
  readonly name: string;
  readonly passed: boolean;
  readonly seconds: number;
  /** Both streams, in the order in which they came. */
  readonly output: string;
}

export interface PoolOptions {
  readonly root: string;
  /** How many run at the same time. */
  readonly width: number;
  /** Stops the running checks with their children, and starts no further one. */
  readonly signal?: AbortSignal;
  readonly onEnd?: (outcome: Outcome) => void;
}

/** Runs every check, also after one has failed. The outcomes stand in the order in which they came. */
export async function runChecks(checks: readonly Check[], options: PoolOptions): Promise<readonly Outcome[]> {
  const waiting = [...checks];
  const outcomes: Outcome[] = [];
  const lane = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (options.signal?.aborted === true) return;
      const outcome = await run(next, options);
      outcomes.push(outcome);
      options.onEnd?.(outcome);
    }
  };
  await Promise.all(Array.from({ length: options.width }, lane));
  return outcomes;
}

function run({ name, command, env }: Check, { root, signal }: PoolOptions): Promise<Outcome> {
  const [program, ...args] = command;
  const start = performance.now();
  const path = `${join(root, 'node_modules/.bin')}${delimiter}${process.env['PATH']}`;
  const child = spawn(program, args, {
    cwd: root,
    env: { ...process.env, ...env, PATH: path },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: the linter has a child that would go on without it.
    detached: true,
  });
  const stop = () => stopGroup(child);
  signal?.addEventListener('abort', stop);
  return new Promise((resolve) => {
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.on('error', (error) => (output += error.message));
    child.on('close', (code, ended) => {
      if (ended !== null) output += `ended by ${ended}\n`;
      signal?.removeEventListener('abort', stop);
      resolve({ name, passed: code === 0, seconds: (performance.now() - start) / 1_000, output });
    });
  });
}

function stopGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    // The compiler ignores the milder signals.
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
