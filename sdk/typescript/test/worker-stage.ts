import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { startServer } from '../../../test/support/server-process.ts';
import {
  type ClientOptions,
  type ExecutionExternalWorkerLease,
  type ExecutionRun,
  type JsonInput,
  SvcClient,
} from '../src/index.ts';
import {
  createWorker,
  type SvcWorker,
  type WorkerLogEntry,
  type WorkerOptions,
} from '../src/worker/index.ts';
import { machine } from '../src/world.ts';
import type { ManualTime, Stage } from './stage.ts';

/** A request as the worker sent it. */
export interface Sent {
  readonly path: string;
  readonly url: string;
  readonly body: Readonly<Record<string, unknown>>;
}

interface Passed {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** `null`: the connection breaks. */
type Fault = (pass: () => Promise<Passed>) => Promise<Passed | null>;

/** The connection from a worker to the service, with injectable faults. It records all requests. */
export class Way implements AsyncDisposable {
  readonly sent: Sent[] = [];
  /** The service's answers to lease calls. */
  readonly leases: ExecutionExternalWorkerLease[] = [];
  readonly address: string;
  readonly #to: string;
  readonly #server: Server;
  readonly #standing = new Map<string, Fault>();
  #faults: { readonly path: string; readonly fault: Fault }[] = [];
  #waiting: { readonly path: string; readonly count: number; readonly resolve: () => void }[] = [];

  private constructor(server: Server, to: string) {
    this.#server = server;
    this.#to = to;
    this.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request, response) => void this.#hear(request, response));
  }

  static async to(address: string): Promise<Way> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Way(server, address);
  }

  /** The next requests to this path meet these faults, one each; later ones pass. */
  meets(path: string, ...faults: readonly Fault[]): void {
    this.#faults.push(...faults.map((fault) => ({ path, fault })));
  }

  /** Every request to this path meets this fault from now on. */
  always(path: string, fault: Fault): void {
    this.#standing.set(path, fault);
  }

  at(path: string): readonly Sent[] {
    return this.sent.filter((each) => each.path === path);
  }

  /** Waits until this many requests were sent to the path. */
  async awaited(path: string, count = 1): Promise<void> {
    if (this.at(path).length >= count) return;
    await new Promise<void>((resolve) => this.#waiting.push({ path, count, resolve }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #hear(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const { url = '', method = '' } = request;
    const path = url.replace('/execution/workers/', '');
    const body = Buffer.concat(chunks);
    const content = body.length === 0 ? {} : (JSON.parse(body.toString()) as Sent['body']);
    this.sent.push({ path, url, body: content });
    const at = this.#faults.findIndex((each) => each.path === path);
    const [found = { fault: this.#standing.get(path) }] = at === -1 ? [] : this.#faults.splice(at, 1);
    this.#tell();
    const left = new AbortController();
    response.on('close', () => left.abort());
    const pass = async (): Promise<Passed> => {
      const headers = { 'content-type': 'application/json' };
      const sent = body.length === 0 ? { method, headers } : { method, headers, body };
      const answer = await fetch(`${this.#to}${url}`, { ...sent, signal: left.signal });
      const bytes = new Uint8Array(await answer.arrayBuffer());
      if (path === 'leases' && answer.status === 200)
        this.leases.push(JSON.parse(new TextDecoder().decode(bytes)) as ExecutionExternalWorkerLease);
      const type = answer.headers.get('content-type');
      return { status: answer.status, headers: type === null ? {} : { 'content-type': type }, body: bytes };
    };
    const answer = await (found.fault === undefined ? pass() : found.fault(pass)).catch(() => null);
    if (answer === null) response.destroy();
    else response.writeHead(answer.status, answer.headers).end(answer.body);
  }

  #tell(): void {
    this.#waiting = this.#waiting.filter(({ path, count, resolve }) => {
      if (this.at(path).length < count) return true;
      resolve();
      return false;
    });
  }
}

export const lostOnTheWay: Fault = () => Promise.resolve(null);

/** The service executes the call, and its answer is lost. */
export const answerLost: Fault = async (pass) => {
  await pass();
  return null;
};

/** The answer to a lease call, with these members changed. */
export const leaseWith =
  (members: Partial<Record<keyof ExecutionExternalWorkerLease, unknown>>): Fault =>
  async (pass) => {
    const answer = await pass();
    if (answer.status !== 200) return answer;
    const lease = JSON.parse(new TextDecoder().decode(answer.body)) as object;
    return { ...answer, body: new TextEncoder().encode(JSON.stringify({ ...lease, ...members })) };
  };

export const answers =
  (status: number, code: string, more: object = {}): Fault =>
  () => {
    const problem = { type: 'urn:x', title: 't', status, detail: 'd', code, retryable: false, ...more };
    const body = new TextEncoder().encode(JSON.stringify({ ...problem, correlationId: 'c' }));
    return Promise.resolve({ status, headers: { 'content-type': 'application/problem+json' }, body });
  };

/** A real service and its workers' logs. */
export class WorkPlace implements AsyncDisposable {
  readonly client: SvcClient;
  readonly address: string;
  /** The log entries of all workers. */
  readonly log: WorkerLogEntry[] = [];
  readonly #server: Awaited<ReturnType<typeof startServer>>;
  readonly #folder: string;
  #workers = 0;

  private constructor(server: Awaited<ReturnType<typeof startServer>>, folder: string) {
    this.#server = server;
    this.#folder = folder;
    this.address = server.address;
    this.client = this.clientWith({});
  }

  /** Registers this many handlers: `h0`, `h1` and so on, one per test. */
  static async open(handlers: number, settings: readonly string[] = []): Promise<WorkPlace> {
    const folder = mkdtempSync(join(tmpdir(), 'sdk-worker-'));
    const external = Array.from({ length: handlers }, (_, n) => [
      `ExecutionRuntime:ExternalHandlers:${n}:HandlerId=h${n}`,
      `ExecutionRuntime:ExternalHandlers:${n}:MaxAttempts=3`,
    ]).flat();
    const server = await startServer({ SVC_DATA_DIR: folder }, [...external, ...settings]);
    return new WorkPlace(server, folder);
  }

  clientWith(options: ClientOptions): SvcClient {
    return new SvcClient({ baseUrl: this.address, apiKey: null, token: null, ...options });
  }

  /** A worker without pauses, optionally on its own connection. */
  worker(
    handlers: WorkerOptions['handlers'],
    { way, client, ...options }: Partial<WorkerOptions> & { readonly way?: Way } = {},
  ): SvcWorker {
    const world = { ...machine, random: () => 0, retryTokens: new Map<string, number>() };
    const own = this.clientWith(way === undefined ? { world } : { world, baseUrl: way.address });
    return createWorker({
      client: client ?? own,
      workerId: `worker-${(this.#workers += 1)}`,
      handlers,
      log: (entry) => this.log.push(entry),
      ...options,
    });
  }

  way(): Promise<Way> {
    return Way.to(this.address);
  }

  start(handlerId: string, payload: JsonInput = null, more: object = {}): Promise<ExecutionRun> {
    const retryPolicy = { initialDelaySeconds: 0 };
    return Promise.resolve(this.client.startExecutionRun({ handlerId, payload, retryPolicy, ...more }));
  }

  async historyOf(run: ExecutionRun): Promise<string[]> {
    const history = await this.client.getExecutionRunHistory(run.id);
    return history.map(({ type }) => type);
  }

  /** All log entries as text, with nested values. */
  logText(): string {
    return inspect(this.log, { depth: 20, maxStringLength: null, maxArrayLength: null });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A one-time event that a test can wait for. */
export function moment<T = void>(): { readonly came: Promise<T>; readonly come: (value: T) => void } {
  const { promise: came, resolve: come } = Promise.withResolvers<T>();
  return { came, come };
}

/** Settles when the signal is aborted, with its reason. */
export function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    const settle = () => resolve(signal.reason);
    if (signal.aborted) settle();
    signal.addEventListener('abort', settle);
  });
}

/** A worker on a stage; the test advances its time, and random pauses take their full length. */
export function staged(stage: Stage, time: ManualTime, options: Partial<WorkerOptions> = {}): SvcWorker {
  time.chance = 1;
  const client = stage.client({ world: time });
  const handlers = { a: () => null };
  return createWorker({ client, workerId: 'w', handlers, heartbeatFrom: 'event-loop', ...options });
}

export const stagedRun = {
  id: '1',
  handlerId: 'a',
  pluginId: null,
  attempt: 1,
  payload: null,
  cancellationRequested: false,
};
export const stagedLease = { leaseKey: 'k', leaseToken: 'x'.repeat(64), workerId: 'w', run: stagedRun };
