import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ClientOptions, World } from '../src/index.ts';
import { SvcClient } from '../src/index.ts';

/** A request as received by a server on a socket. */
export interface SeenRequest {
  readonly method: string;
  /** Path and query, undecoded. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export type Answer = (response: ServerResponse, request: SeenRequest) => void;

/** A real server on a socket that returns the given answers in order; the last answer repeats. */
export class Stage implements AsyncDisposable {
  readonly address: string;
  readonly seen: SeenRequest[] = [];
  /** The time of the machine, with retry budgets of its own: no other test shares them. */
  readonly #world: World = {
    now: () => performance.timeOrigin + performance.now(),
    random: () => Math.random(),
    after: (delayMs, callback) => {
      const timer = setTimeout(callback, delayMs);
      return () => clearTimeout(timer);
    },
    retryTokens: new Map(),
  };
  readonly #listeners: ((text: string) => void)[] = [];
  readonly #server: ReturnType<typeof createServer>;

  private constructor(server: ReturnType<typeof createServer>, answers: readonly Answer[]) {
    this.#server = server;
    this.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        for (const tell of this.#listeners) tell(Buffer.concat(chunks).toString());
      });
      request.on('end', () => {
        const { method = '', url = '', headers } = request;
        const seen = { method, target: url, headers, body: Buffer.concat(chunks) };
        this.seen.push(seen);
        answers[Math.min(this.seen.length, answers.length) - 1]?.(response, seen);
      });
    });
  }

  static async open(...answers: readonly Answer[]): Promise<Stage> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Stage(server, answers);
  }

  /** Calls the listener with the received part of a request each time more arrives. */
  onData(listener: (text: string) => void): void {
    this.#listeners.push(listener);
  }

  /** A client of this server that ignores the environment. */
  client(options: ClientOptions = {}): SvcClient {
    return new SvcClient({
      baseUrl: this.address,
      apiKey: null,
      token: null,
      world: this.#world,
      ...options,
    });
  }

  /** Disconnects every client. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

export function json(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
}

export function problem(
  status: number,
  code: string,
  more: object = {},
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const document = {
    type: `urn:svc:problem:${code}`,
    title: `The title of ${code}`,
    status,
    detail: `What happened with ${code}.`,
    instance: 'urn:svc:request:c-1',
    code,
    retryable: false,
    correlationId: 'c-1',
    ...more,
  };
  return json(document, status, { 'content-type': 'application/problem+json; charset=utf-8', ...headers });
}

/** The answer of a proxy. */
export function foreign(status: number, headers: Readonly<Record<string, string>> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'text/html', ...headers });
    response.end('<html>a proxy</html>');
  };
}

export const hangUp: Answer = (response) => void response.destroy();

/** Never answers. */
export const silence: Answer = () => {};

interface Timer {
  readonly delayMs: number;
  readonly dueAt: number;
  readonly callback: () => void;
}

/** A world whose time only the test advances, and whose random numbers leave delays at their maximum. */
export class ManualTime implements World {
  chance = 0;
  readonly retryTokens = new Map<string, number>();
  #now = Date.UTC(2026, 0, 1);
  #timers: Timer[] = [];
  #waiting: { readonly delayMs: number; readonly resolve: () => void }[] = [];

  readonly now = (): number => this.#now;
  readonly random = (): number => this.chance;
  readonly after = (delayMs: number, callback: () => void): (() => void) => {
    const timer = { delayMs, dueAt: this.#now + delayMs, callback };
    this.#timers.push(timer);
    for (const { resolve } of this.#waiting.filter((each) => each.delayMs === delayMs)) resolve();
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  };

  get pending(): readonly number[] {
    return this.#timers.map(({ delayMs }) => delayMs);
  }

  /** Waits until a timer with exactly this delay exists. */
  async awaited(delayMs: number): Promise<void> {
    if (!this.pending.includes(delayMs))
      await new Promise<void>((resolve) => this.#waiting.push({ delayMs, resolve }));
  }

  /** Waits until a timer with exactly this delay exists, then fires it. */
  async pass(delayMs: number): Promise<void> {
    await this.awaited(delayMs);
    this.go(delayMs);
  }

  /** Advances the time. */
  go(delayMs: number): void {
    const end = this.#now + delayMs;
    this.#now = end;
    const due = this.#timers.filter(({ dueAt }) => dueAt <= end);
    this.#timers = this.#timers.filter(({ dueAt }) => dueAt > end);
    for (const { callback } of due) callback();
  }
}

/** The rejection of a promise. */
export async function thrown<T>(
  work: PromiseLike<unknown>,
  Class: abstract new (...given: never[]) => T,
): Promise<T> {
  const error: unknown = await Promise.resolve(work).then(
    () => new Error('nothing was thrown'),
    (reason: unknown) => reason,
  );
  if (error instanceof Class) return error;
  throw new Error(`not a ${Class.name}`, { cause: error });
}
