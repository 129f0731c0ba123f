import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Timers } from '../kernel/world.ts';
import { targetOf } from './bridge.ts';
import type { Chain, RawRequest, RawResponse } from './message.ts';

/** Carries requests of a Node server through the chain, and knows those under way. */
export interface Exchange {
  /** Knows of a request before `handle` is called for it; `handle` does the same where nobody did. */
  begin(request: IncomingMessage, response: ServerResponse): void;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Tells the request under way on a connection that the rest of its body cannot be read; `false` where there is none. */
  breakOff(socket: Socket, error: Error): boolean;
  /** Every answer from now on closes its connection, and who only waits is told to answer. */
  closeConnections(): void;
  /** Settles when no request is under way. */
  idle(): Promise<void>;
  /** Tells every request under way that nobody waits any more. */
  abort(): void;
}

interface Active {
  readonly controller: AbortController;
  readonly broken: Promise<never>;
  readonly breakBody: (error: Error) => void;
}

// Discarded of a body that is not read, so that a client that is still sending gets to read the answer instead of a reset.
const lingerBytesMax = 32 * 1024 * 1024;
const lingerMs = 2_000;
// Up to this size the rest of a body is discarded and the connection kept.
const keptRestBytesMax = 64 * 1024;

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
    // Nobody may be reading when it breaks.
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
        send(
          request,
          response,
          draining.signal.aborted ? { ...answer, close: true } : answer,
          timers,
          proceeded,
        ),
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
      return { next: () => Promise.race([chunks.next(), broken]) };
    },
  };
}

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  answer: RawResponse,
  timers: Timers,
  proceeded: boolean,
): Promise<void> {
  if (response.destroyed || response.socket === null) return;
  response.statusCode = answer.status;
  for (const [name, value] of answer.headers) response.setHeader(name, value);
  const body = answer.body ?? '';
  if (answer.status !== 204) response.setHeader('Content-Length', Buffer.byteLength(body));
  const close = answer.close || leavesTooMuch(request) || (expectsContinue(request) && !proceeded);
  if (!close) {
    response.end(body);
    return;
  }
  response.setHeader('Connection', 'close');
  if (!request.complete && !(expectsContinue(request) && !proceeded)) {
    response.flushHeaders();
    if (answer.body !== null) response.write(body);
    await discardRest(request, timers);
    response.end();
    return;
  }
  response.end(body);
}

function leavesTooMuch(request: IncomingMessage): boolean {
  if (request.complete) return false;
  const at = request.rawHeaders.findIndex(
    (name, index) => index % 2 === 0 && name.toLowerCase() === 'content-length',
  );
  const length = at < 0 ? Number.NaN : Number(request.rawHeaders[at + 1]);
  // Also where the length is not known.
  return !(length <= keptRestBytesMax);
}

/** Reads on without keeping anything, until the body ends or a bound is reached. */
function discardRest(request: IncomingMessage, timers: Timers): Promise<void> {
  return new Promise((resolve) => {
    let discarded = 0;
    const cancel = timers.after(lingerMs, resolve);
    const done = (): void => {
      cancel();
      resolve();
    };
    request.on('data', (chunk: Uint8Array) => {
      discarded += chunk.length;
      if (discarded > lingerBytesMax) done();
    });
    request.once('end', done);
    request.once('close', done);
    request.resume();
  });
}

function expectsContinue(request: IncomingMessage): boolean {
  return request.rawHeaders.some(
    (name, index) =>
      index % 2 === 0 &&
      name.toLowerCase() === 'expect' &&
      request.rawHeaders[index + 1]?.toLowerCase() === '100-continue',
  );
}
