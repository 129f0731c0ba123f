import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A program that serves, and what it is started with. */
export interface ServiceProgram {
  readonly script: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The service as a process: it may be killed, and comes back on the same address with the same data. */
export class Service {
  address = '';
  readonly #program: ServiceProgram;
  #child: ChildProcess | undefined;
  #isOver = false;

  constructor(program: ServiceProgram) {
    this.#program = program;
    // However this process ends by itself, it leaves no service behind.
    process.once('exit', () => this.#child?.kill('SIGKILL'));
  }

  /** Settles when it is ready. */
  async start(): Promise<void> {
    if (this.#isOver) throw new Error('the service was stopped');
    const { script, args, env } = this.#program;
    // Tasks that are kept name the address to which they will be sent, so it stays.
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

  /** Without a word, as the end of a machine would. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** For good. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#end('SIGTERM');
  }

  /** Settles when its output is closed: then the processes that it had started, which write there too, are gone as well. */
  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    const closed = once(child, 'close');
    if (child.kill(signal)) await closed;
  }
}
