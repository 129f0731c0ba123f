import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { addressOf } from '../support/server-process.ts';
import { root } from './program.ts';

export interface LoopServerOptions {
  readonly folder: string;
  /** `Key=value` pairs of the command line. */
  readonly settings?: readonly string[];
  /** Arguments of Node itself. */
  readonly nodeArgs?: readonly string[];
  /** Where the program is run, when not right here: the command that does so. */
  readonly within?: (program: string, args: readonly string[]) => { command: string; args: string[] };
}

export interface Reply {
  readonly status: number;
  /** The parsed answer; `null` where it has no body. */
  readonly body: unknown;
}

/** One address sends all the requests, so its permit limit is raised, here in the open. */
const SETTINGS = [
  'Server:CanonicalRateLimit:PermitLimit=100000',
  'Server:CanonicalRateLimit:WindowSeconds=1',
  'Server:ExecutionRateLimit:PermitLimit=1000000',
  'Server:WorkerRateLimit:PermitLimit=1000000',
  'Server:PublicRateLimit:PermitLimit=1000000',
  // Other tests hold every answer against its model; here that would cost the time of many kills.
  'Server:ValidateResponses=false',
];

/**
 * The embedded server as a process that is killed again and again over one data folder. A call that the kill cut off has no
 * answer, and its outcome is unknown.
 */
export class LoopServer implements AsyncDisposable {
  readonly #options: LoopServerOptions;
  #child: ChildProcess | undefined;
  #address = '';
  #agent = new Agent({ keepAlive: true });
  #stderr = '';
  #dying = true;
  /** How many more answers the clients wait for. */
  #alarm: { left: number; readonly ring: () => void } | undefined;

  constructor(options: LoopServerOptions) {
    this.#options = options;
  }

  /** True from the moment at which the kill was ordered until the next start. */
  get dying(): boolean {
    return this.#dying;
  }

  async start(): Promise<void> {
    const child = this.#spawn();
    this.#address = await addressOf(child).catch((error: unknown) => {
      throw new Error(`the server did not come back: ${this.#stderr}`, { cause: error });
    });
    this.#dying = false;
  }

  /** Starts it where something keeps it from that: gives its exit code and what it said. */
  async refusedStart(): Promise<{ code: number | null; stderr: string }> {
    const child = this.#spawn();
    const closed = once(child, 'close');
    const started = await Promise.race([
      closed.then(() => false),
      addressOf(child).then(
        () => true,
        () => false,
      ),
    ]);
    if (started) throw new Error('the server started');
    await closed;
    return { code: child.exitCode, stderr: this.#stderr };
  }

  /** Starts it and ends it after so long: before it is ready, at that moment, or a little later. */
  async startAndKill(afterMs: number): Promise<void> {
    const child = this.#spawn();
    const timer = setTimeout(() => child.kill('SIGKILL'), afterMs);
    await once(child, 'exit');
    clearTimeout(timer);
    if (child.signalCode !== 'SIGKILL') throw new Error(`the server did not come back: ${this.#stderr}`);
  }

  /** Ends it as a power failure would. */
  async kill(): Promise<void> {
    this.#dying = true;
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    this.#agent.destroy();
    this.#agent = new Agent({ keepAlive: true });
  }

  /** Ends it as a deployment would; gives its exit code. */
  async stop(): Promise<number | null> {
    const child = this.#child;
    if (child === undefined) return null;
    this.#dying = true;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
    return child.exitCode;
  }

  /** Resolves once `count` more answers were received. */
  answered(count: number): Promise<void> {
    return new Promise((ring) => {
      this.#alarm = { left: count, ring };
    });
  }

  /** `undefined` where the kill left the call without an answer. Any other way to get none is an error. */
  async ask(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<Reply | undefined> {
    if (this.#dying) return undefined;
    try {
      const reply = await this.#send(method, path, body === undefined ? undefined : JSON.stringify(body));
      if (this.#alarm !== undefined && --this.#alarm.left === 0) this.#alarm.ring();
      return reply;
    } catch (error) {
      if (this.#dying) return undefined;
      throw new Error(`${method} ${path} got no answer: ${this.#stderr}`, { cause: error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  #spawn(): ChildProcess {
    const { folder, settings = [], nodeArgs = [], within } = this.#options;
    const flags = [...SETTINGS, ...settings].map((setting) => `--${setting}`);
    const nodeLine = [...nodeArgs, join(root, 'functions/embedded.ts'), ...flags];
    const { command, args } = within?.(process.execPath, nodeLine) ?? {
      command: process.execPath,
      args: nodeLine,
    };
    const child = spawn(command, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, PORT: '0', METADATA_SERVER_DETECTION: 'none', SVC_DATA_DIR: folder },
    });
    this.#child = child;
    this.#alarm = undefined;
    this.#stderr = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr = `${this.#stderr}${chunk.toString()}`.slice(-4096);
    });
    return child;
  }

  #send(method: string, path: string, text: string | undefined): Promise<Reply> {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const headers =
      text === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    const outgoing = request(
      `${this.#address}${path}`,
      { method, agent: this.#agent, headers },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const answer = Buffer.concat(chunks).toString();
          // A truncated answer counts as none.
          if (!response.complete) reject(new Error('the answer broke off'));
          else resolve({ status: response.statusCode ?? 0, body: answer === '' ? null : JSON.parse(answer) });
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(text);
    return promise;
  }
}

/** An address below one tenant. */
export function tenantPath(tenantId: string, path: string): string {
  return `/canonical/tenants/${tenantId}${path}`;
}
