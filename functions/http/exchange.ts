import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Timers } from '../kernel/world.ts';
import { targetOf } from './bridge.ts';
import { Interruption } from './interruption.ts';
import type { Chain, RawRequest } from './message.ts';
import { expectsContinue, send } from './send.ts';

/** Carries requests of a Node server through the chain, and keeps the requests under way. */
export interface Exchange {
  /** Registers a request before `handle` gets it; `handle` registers a request that is not yet known. */
  begin(request: IncomingMessage, response: ServerResponse): void;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Breaks the body of the request under way on a connection, whose rest cannot be read; `false` where there is none. */
  breakOff(socket: Socket, error: Error): boolean;
  /** Makes every later answer close its connection, and signals `draining` to requests that only wait. */
  closeConnections(): void;
  /** Settles when no request is under way. */
  idle(): Promise<void>;
  /** Aborts every request under way. */
  abort(): void;
}

interface Active {
  readonly controller: AbortController;
  readonly broken: Promise<never>;
  readonly breakBody: (error: Error) => void;
}

export function createExchange(chain: Chain, timers: Timers): Exchange {
  const active = new Map<IncomingMessage, Active>();
  const bySocket = new WeakMap<Socket, Active>();
  const draining = new AbortController();
  let idleListeners: (() => void)[] = [];

  const settle = (request: IncomingMessage, entry: Active): void => {
    if (bySocket.get(request.socket) === entry) bySocket.delete(request.socket);
    active.delete(request);
    if (active.size > 0) return;
    for (const listener of idleListeners) listener();
    idleListeners = [];
  };

  const begin = (request: IncomingMessage, response: ServerResponse): Active => {
    const known = active.get(request);
    if (known) return known;
    const controller = new AbortController();
    const { promise: broken, reject } = Promise.withResolvers<never>();
    // The body may break while no handler reads it.
    broken.catch(() => {});
    const entry: Active = { controller, broken, breakBody: reject };
    active.set(request, entry);
    bySocket.set(request.socket, entry);
    request.on('error', reject);
    response.on('error', () => {});
    response.once('close', () => {
      if (!response.writableFinished) controller.abort();
      settle(request, entry);
    });
    return entry;
  };

  return {
    begin,
    handle(request, response) {
      const { controller, broken } = begin(request, response);
      let proceeded = false;
      const signals = { signal: controller.signal, draining: draining.signal };
      const raw = rawRequest(request, signals, broken, () => {
        if (!proceeded && expectsContinue(request)) response.writeContinue();
        proceeded = true;
      });
      void chain(raw).then((answer) =>
        send(request, response, draining.signal.aborted ? { ...answer, close: true } : answer, {
          timers,
          proceeded,
          signal: controller.signal,
        }),
      );
    },
    breakOff(socket, error) {
      const entry = bySocket.get(socket);
      entry?.breakBody(error);
      return entry !== undefined;
    },
    closeConnections() {
      draining.abort();
    },
    idle() {
      if (active.size === 0) return Promise.resolve();
      return new Promise((resolve) => {
        idleListeners.push(resolve);
      });
    },
    abort() {
      for (const { controller } of active.values()) controller.abort();
    },
  };
}

function rawRequest(
  request: IncomingMessage,
  signals: Pick<RawRequest, 'signal' | 'draining'>,
  broken: Promise<never>,
  proceed: () => void,
): RawRequest {
  return {
    method: request.method ?? '',
    target: targetOf(request),
    httpVersion: request.httpVersion,
    rawHeaders: request.rawHeaders,
    socketAddress: request.socket.remoteAddress ?? '',
    body: bodyOf(request, broken),
    proceed,
    ...signals,
  };
}

function bodyOf(request: IncomingMessage, broken: Promise<never>): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      // Leaving the body unread must not close the connection: the answer still has to go out on it.
      const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array>;
      const interruption = new Interruption();
      broken.catch((error: unknown) => interruption.interrupt(error));
      return { next: () => interruption.wait(chunks.next()) };
    },
  };
}
