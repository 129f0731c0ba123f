import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A program that serves, and its arguments. */
export interface ServiceProgram {
  readonly script: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The service as a process: a test can kill it and restart it on the same address with the same data. */
export class Service {
  address = '';
  readonly #program: ServiceProgram;
  #child: ChildProcess | undefined;
  #isOver = false;

  constructor(program: ServiceProgram) {
    this.#program = program;
    // Kill the service when this process exits for any reason.
    process.once('exit', () => this.#child?.kill('SIGKILL'));
  }

  /** Settles when it is ready. */
  async start(): Promise<void> {
    if (this.#isOver) throw new Error('the service was stopped');
    const { script, args, env } = this.#program;
    // Stored tasks contain the address of their target, so a restart keeps the port.
    const port = this.address === '' ? '0' : new URL(this.address).port;
    const child = spawn(process.execPath, [script, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env, PORT: port, ADMIN_PORT: '0' },
    });
    this.#child = child;
    child.stderr.pipe(process.stderr, { end: false });
    this.address = await new Promise((resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        const address = /http:\/\/\S+/.exec(line)?.[0];
        if (address !== undefined) resolve(address);
      });
      child.once('close', () => reject(new Error(`${script} did not start`)));
    });
  }

  /** Kills the process without warning, as a machine failure would. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Stops it for good. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#end('SIGTERM');
  }

  /** Settles when its output is closed: its child processes, which share that output, are then gone too. */
  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    const closed = once(child, 'close');
    if (child.kill(signal)) await closed;
  }
}
