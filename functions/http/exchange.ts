import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { World } from '../kernel/world.ts';
import { targetOf } from './bridge.ts';
import { type ByteAllowance, createByteAllowance } from './byte-allowance.ts';
import { connectionLines, endsConnection, type Turn } from './connection-line.ts';
import { countPieces } from './counted-pieces.ts';
import { createEarlyRefusal } from './early-refusal.ts';
import { Interruption } from './interruption.ts';
import type { Chain, RawRequest } from './message.ts';
import { discardPolicy, expectsContinue, send } from './send.ts';
import { SMALL_BODY_BYTES, SmallBody } from './small-body.ts';

/** Carries requests of a Node server through the chain, and keeps the requests under way. */
export interface Exchange {
  /** Registers a request before `handle` gets it; `handle` registers a request that is not yet known. */
  begin(request: IncomingMessage, response: ServerResponse): void;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /**
   * Ends the body of the last request on a connection whose rest cannot be read, and closes the connection after its
   * answer; `false` when no request is under way.
   */
  breakOff(socket: Socket, error: Error): boolean;
  /** Makes every later answer close its connection, and signals `draining` to requests that only wait. */
  closeConnections(): void;
  /** Settles when no request is under way. */
  idle(): Promise<void>;
  /** Aborts every request under way. */
  abort(): void;
}

interface Active extends Turn {
  readonly request: IncomingMessage;
  readonly controller: AbortController;
  readonly body: SmallBody | StreamedBody;
  /** The connection can carry no request behind this one. */
  last: boolean;
  /** The rest of the body is not even read to be discarded. */
  isGivenUp: boolean;
}

export type ExchangeWorld = Pick<World, 'clock' | 'timers'>;

export function createExchange(chain: Chain, { clock, timers }: ExchangeWorld): Exchange {
  const discarded = createByteAllowance(discardPolicy, clock);
  const active = new Map<IncomingMessage, Active>();
  const draining = new AbortController();
  const refusedEarly = createEarlyRefusal(chain, draining.signal);
  let idleListeners: (() => void)[] = [];

  const settle = (entry: Active, isLast: boolean): void => {
    lineOf(entry.request.socket).leave(entry, isLast);
    active.delete(entry.request);
    if (active.size > 0) return;
    for (const listener of idleListeners) listener();
    idleListeners = [];
  };

  // The answers of requests that wait have no socket yet, so they do not learn that it closes.
  const lineOf = connectionLines((turn) => {
    (turn as Active).controller.abort();
    settle(turn as Active, true);
  });

  const begin = (request: IncomingMessage, response: ServerResponse): Active => {
    const known = active.get(request);
    if (known) return known;
    const controller = new AbortController();
    const last = endsConnection(request);
    const body = isSmall(request) ? new SmallBody() : new StreamedBody(request);
    const entry: Active = { request, controller, body, last, isGivenUp: false };
    active.set(request, entry);
    request.on('error', (error) => body.fail(error));
    countPieces(request, body instanceof SmallBody ? body : null, (error) => {
      entry.last = true;
      entry.isGivenUp = true;
      body.fail(error);
    });
    response.on('error', () => {});
    response.once('close', () => {
      if (!response.writableFinished) controller.abort();
      settle(entry, !response.shouldKeepAlive);
    });
    lineOf(request.socket).join(entry);
    return entry;
  };

  return {
    begin,
    handle(request, response) {
      if (lineOf(request.socket).last === undefined && refusedEarly(request, response)) return;
      const entry = begin(request, response);
      lineOf(request.socket).ready(
        entry,
        () => void run(entry, response, { chain, timers, discarded, draining: draining.signal }),
      );
    },
    breakOff(socket, error) {
      const entry = lineOf(socket).last as Active | undefined;
      if (!entry) return false;
      entry.last = true;
      if (!entry.request.complete) entry.body.fail(error);
      return true;
    },
    closeConnections: () => draining.abort(),
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

interface Surroundings {
  readonly chain: Chain;
  readonly timers: ExchangeWorld['timers'];
  readonly discarded: ByteAllowance;
  readonly draining: AbortSignal;
}

async function run(
  entry: Active,
  response: ServerResponse,
  { chain, timers, discarded, draining }: Surroundings,
): Promise<void> {
  const { request, controller, body } = entry;
  const { signal } = controller;
  let proceeded = false;
  const raw = rawRequest(request, { signal, draining }, body, () => {
    if (!proceeded && expectsContinue(request)) response.writeContinue();
    proceeded = true;
  });
  const answer = await chain(raw);
  const close = answer.close || draining.aborted || entry.last;
  const parts = { timers, discarded, proceeded, signal, isGivenUp: entry.isGivenUp };
  await send(request, response, { ...answer, close }, parts);
  answer.settled?.();
}

function rawRequest(
  request: IncomingMessage,
  signals: Pick<RawRequest, 'signal' | 'draining'>,
  body: SmallBody | StreamedBody,
  proceed: () => void,
): RawRequest {
  return {
    method: request.method ?? '',
    target: targetOf(request),
    httpVersion: request.httpVersion,
    rawHeaders: request.rawHeaders,
    socketAddress: request.socket.remoteAddress ?? '',
    body,
    gathered: body instanceof SmallBody ? body : null,
    proceed,
    ...signals,
  };
}

/** Not behind the bridge, which hides the length: there a body is a stream. */
function isSmall({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = headers;
  return length !== undefined && coding === undefined && Number(length) <= SMALL_BODY_BYTES;
}

/** A body that is read from its connection piece by piece. It may break while no handler reads it. */
class StreamedBody implements AsyncIterable<Uint8Array> {
  readonly #request: IncomingMessage;
  readonly #interruption = new Interruption();

  constructor(request: IncomingMessage) {
    this.#request = request;
  }

  fail(error: unknown): void {
    this.#interruption.interrupt(error);
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    // Leaving the body unread must not close the connection: the answer still has to go out on it.
    const chunks = this.#request.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array>;
    return { next: () => this.#interruption.wait(chunks.next()) };
  }
}
