import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import type { ImportOutcome, ImportProgress } from './importer.ts';

export interface Job {
  readonly address: string;
  readonly tenant: string;
  readonly source: string;
  readonly version: number;
  readonly importId: string;
  readonly file: string;
}

type Said = ImportProgress | ImportOutcome;

/** An importer in its own process, which a test can kill at any time. */
export class ImporterProcess {
  /** The number of chunks it sent that an earlier importer had stored. */
  chunksThereBefore = 0;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #publishing = Promise.withResolvers<void>();
  #outcome: ImportOutcome | null = null;

  constructor(job: Job) {
    const { address, tenant, source, version, importId, file } = job;
    const flags = { address, tenant, source, version, 'import-id': importId, file };
    const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
    this.#child = start('examples/import/import-file.ts', args);
    linesOf(this.#child).on('line', (line) => this.#hear(JSON.parse(line) as Said));
    this.#ended = once(this.#child, 'close').then(() => {});
  }

  /** The outcome; throws if the process ends without one. */
  async outcome(): Promise<ImportOutcome> {
    await this.#ended;
    if (this.#outcome === null)
      throw new Error(`the importer ended with ${this.#how()} and without an outcome`);
    return this.#outcome;
  }

  /** Settles when the importer reports that its next call publishes. */
  async isPublishing(): Promise<void> {
    await this.unlessEnded(this.#publishing.promise);
  }

  /** Awaits the promise; throws if the process ends first. */
  async unlessEnded<T>(promise: Promise<T>): Promise<T> {
    const ended = this.#ended.then(() => {
      throw new Error(`the importer ended too early, with ${this.#how()}`);
    });
    return Promise.race([promise, ended]);
  }

  /**
   * Kills it without warning, as a machine failure would. Settles when the process is gone; `false` if it had already
   * ended.
   */
  async kill(): Promise<boolean> {
    this.#child.kill('SIGKILL');
    await this.#ended;
    return this.#child.signalCode === 'SIGKILL';
  }

  #hear(said: Said): void {
    if ('status' in said) this.#outcome = said;
    else if (said.step === 'publishing') this.#publishing.resolve();
    else if (said.answeredBefore) this.chunksThereBefore += 1;
  }

  #how(): string {
    return String(this.#child.signalCode ?? this.#child.exitCode);
  }
}

/** The embedded service with its own folder. */
export class ServiceProcess {
  readonly address: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, address: string) {
    this.#child = child;
    this.address = address;
  }

  static async start(settings: string, folder: string): Promise<ServiceProcess> {
    const env = { PORT: '0', SVC_DATA_DIR: folder };
    const child = start('functions/embedded.ts', ['--settings', settings], env);
    for await (const line of linesOf(child)) {
      const address = /http:\/\/\S+/.exec(line)?.[0];
      if (address !== undefined) return new ServiceProcess(child, address);
    }
    throw new Error('the service did not start');
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit');
  }
}

function start(script: string, args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  return spawn(process.execPath, [script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
}

function linesOf(child: ChildProcess): Interface {
  if (child.stdout === null) throw new Error('the process has no output to read');
  return createInterface({ input: child.stdout });
}
