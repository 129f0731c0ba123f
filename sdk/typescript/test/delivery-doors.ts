import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type DeliveryOptions, deliveryListener, type SvcWorker } from '../src/worker/index.ts';
import { type DeliveryHandler, type DeliveryHandlerOptions, deliveryHandler } from '../src/worker/web.ts';

/** Receives deliveries for a worker. A delivery is verified by its header unless the options say otherwise. */
interface DeliveryDoor extends AsyncDisposable {
  send(body: unknown, headers?: object, method?: string): Promise<Response>;
}

function isGood(authorization: string | null | undefined): boolean {
  return authorization === 'Bearer good';
}

function requestInit(body: unknown, headers: object, method: string): RequestInit {
  const its = { 'x-svc-execution-dispatch': '1', authorization: 'Bearer good', ...headers };
  const content = typeof body === 'string' ? body : JSON.stringify(body);
  return { method, headers: its, ...(method === 'GET' ? {} : { body: content }) };
}

/** A server of `node:http`. */
export class ListenerDoor implements DeliveryDoor {
  readonly port: number;
  readonly #server: ReturnType<typeof createServer>;

  private constructor(server: ReturnType<typeof createServer>) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  static async open(worker: SvcWorker, options: Partial<DeliveryOptions> = {}): Promise<ListenerDoor> {
    const listener = deliveryListener(worker, {
      verify: ({ headers }) => isGood(headers.authorization),
      ...options,
    });
    const server = createServer((request, response) => void listener(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ListenerDoor(server);
  }

  send(body: unknown, headers: object = {}, method = 'POST'): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.port}/tasks/execution`, requestInit(body, headers, method));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** A function of web requests, without a server. */
class HandlerDoor implements DeliveryDoor {
  readonly #handler: DeliveryHandler;

  private constructor(handler: DeliveryHandler) {
    this.#handler = handler;
  }

  static open(worker: SvcWorker, options: Partial<DeliveryHandlerOptions> = {}): Promise<HandlerDoor> {
    const handler = deliveryHandler(worker, {
      verify: ({ headers }) => isGood(headers.get('authorization')),
      ...options,
    });
    return Promise.resolve(new HandlerDoor(handler));
  }

  send(body: unknown, headers: object = {}, method = 'POST'): Promise<Response> {
    return this.#handler(new Request('https://worker.example/tasks', requestInit(body, headers, method)));
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

interface DoorKind {
  readonly name: string;
  readonly open: (
    worker: SvcWorker,
    options?: {
      readonly verify?: never;
      readonly bodyBytesMax?: number;
      readonly retryAfterSeconds?: number;
    },
  ) => Promise<DeliveryDoor>;
}

export const doors: readonly DoorKind[] = [
  { name: 'listener of node:http', open: (worker, options) => ListenerDoor.open(worker, options) },
  { name: 'handler of web requests', open: (worker, options) => HandlerDoor.open(worker, options) },
];
