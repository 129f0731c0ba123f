import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CloudTasksClient, type protos } from '@google-cloud/tasks';
import { credentials } from '@grpc/grpc-js';
import { onTestFinished } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import type { TargetAnswer, TargetCall } from './target-http.ts';
import { startTasksEmulator, type TasksEmulator, type TasksEmulatorOptions } from './tasks-emulator.ts';

export type WireTask = protos.google.cloud.tasks.v2.ITask;
export type WireQueue = protos.google.cloud.tasks.v2.IQueue;

export interface Stage {
  readonly emulator: TasksEmulator;
  readonly client: CloudTasksClient;
  readonly location: string;
  readonly queue: string;
}

/** The emulator with one queue in a project of its own, and the official client connected over a real socket. */
export async function stage(options: TasksEmulatorOptions = {}, settings: WireQueue = {}): Promise<Stage> {
  const emulator = await startTasksEmulator({ stopGraceMs: 0, ...options });
  onTestFinished(() => emulator.stop());
  const client = clientOf(emulator);
  const location = `projects/p-${randomUUID().slice(0, 8)}/locations/here`;
  const queue = `${location}/queues/q`;
  await client.createQueue({ parent: location, queue: { ...settings, name: queue } });
  return { emulator, client, location, queue };
}

export function clientOf({ host, port }: Pick<TasksEmulator, 'host' | 'port'>): CloudTasksClient {
  const client = new CloudTasksClient({
    apiEndpoint: host,
    port,
    sslCreds: credentials.createInsecure(),
    projectId: 'p',
  });
  onTestFinished(() => client.close());
  return client;
}

/** A task for a target; `id` names it. */
export function taskOf(queue: string, id: string | null, url: string, more: WireTask = {}): WireTask {
  return {
    ...more,
    ...(id === null ? {} : { name: `${queue}/tasks/${id}` }),
    httpRequest: { url, ...more.httpRequest },
  };
}

interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  answer(status: number, headers?: Record<string, string>): void;
  /** Ends the connection without an answer. */
  hangUp(): void;
}

export interface Target {
  readonly url: string;
  readonly received: ReceivedRequest[];
  /** The next unread request, as soon as it arrives. */
  next(): Promise<ReceivedRequest>;
}

/** A real HTTP server whose answers the test decides. */
export async function target(): Promise<Target> {
  const received: ReceivedRequest[] = [];
  const untaken: ReceivedRequest[] = [];
  const waiting: ((request: ReceivedRequest) => void)[] = [];
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const request: ReceivedRequest = {
        method: incoming.method ?? '',
        url: incoming.url ?? '',
        headers: incoming.headers,
        body: Buffer.concat(chunks).toString(),
        answer: (status, headers = {}) => answerWith(response, status, headers),
        hangUp: () => response.destroy(),
      };
      received.push(request);
      const taker = waiting.shift();
      if (taker === undefined) untaken.push(request);
      else taker(request);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    next() {
      const first = untaken.shift();
      return first === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(first);
    },
  };
}

function answerWith(response: ServerResponse, status: number, headers: Record<string, string>): void {
  response.writeHead(status, headers);
  response.end('said');
}

export interface Sending {
  /** Since the start of the world. */
  readonly at: number;
  readonly id: string;
  readonly call: TargetCall;
}

/** A world whose time a test advances, and whose targets answer at once or never. */
export class TimedWorld {
  readonly #manual = new ManualWorld();
  readonly #dues = new Map<object, number>();
  readonly #start = this.#manual.now;
  readonly sent: Sending[] = [];
  /** The answer of a target; `null` for a target that never answers. */
  answer: (sending: Sending) => number | TargetAnswer | null = () => 200;
  #drawn = 0;

  readonly clock = this.#manual.clock;
  readonly random = {
    bytes: (size: number): Uint8Array => {
      this.#drawn += 1;
      const bytes = Buffer.alloc(size);
      bytes.writeUInt32BE(this.#drawn, size - 4);
      return bytes;
    },
  };
  readonly timers = {
    after: (delayMs: number, callback: () => void) => {
      if (delayMs > 2 ** 31 - 1) throw new Error('no platform has a timer of that length');
      const key = {};
      this.#dues.set(key, this.#manual.now + delayMs);
      const cancel = this.#manual.timers.after(delayMs, () => {
        this.#dues.delete(key);
        callback();
      });
      return () => {
        this.#dues.delete(key);
        cancel();
      };
    },
  };
  readonly http = (call: TargetCall): Promise<TargetAnswer> => {
    const id = call.headers['x-cloudtasks-taskname'] ?? '';
    const sending = { at: this.now, id, call };
    this.sent.push(sending);
    const answer = this.answer(sending);
    if (typeof answer === 'number') return Promise.resolve({ status: answer, retryAfter: null });
    if (answer !== null) return Promise.resolve(answer);
    return new Promise((_, reject) => {
      call.signal.addEventListener('abort', () => reject(new Error('aborted')));
    });
  };

  /** Since the start of the world. */
  get now(): number {
    return this.#manual.now - this.#start;
  }

  get epochMs(): number {
    return this.#manual.now;
  }

  /** Advances from timer to timer; the effects of each are complete before the next one fires. */
  async pass(ms: number): Promise<void> {
    const end = this.#manual.now + ms;
    await turns();
    for (;;) {
      const next = Math.min(...this.#dues.values());
      if (next > end) break;
      this.#manual.advance(Math.max(0, next - this.#manual.now));
      await turns();
    }
    this.#manual.advance(end - this.#manual.now);
    await turns();
  }

  /** The time of each sent request. */
  get times(): number[] {
    return this.sent.map(({ at }) => at);
  }
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 30; turn += 1) await Promise.resolve();
}

export function seconds(count: number): { seconds: number } {
  return { seconds: count };
}

/** The gRPC code of a failed call; `undefined` for a successful one. */
export async function codeOf(call: Promise<unknown>): Promise<number | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    return (error as { readonly code: number }).code;
  }
}
