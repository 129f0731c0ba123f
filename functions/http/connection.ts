import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { limits } from '../../contracts/generated/limits.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { RandomSource, Timers } from '../kernel/world.ts';
import { correlationHeader, correlationIdOf } from './correlation.ts';
import type { Exchange } from './exchange.ts';
import { ByteStream, type Chain, type RawRequest, type RawResponse } from './message.ts';
import { problemOf } from './problem.ts';

/** Answers connections whose requests Node rejects before the chain sees them. */

export interface ConnectionTimeouts {
  /** The time for the whole header section. */
  readonly headersMs: number;
  /** The time for a whole request. The chain's own check of the pace is stricter, for bodies of every size. */
  readonly requestMs: number;
  readonly keepAliveMs: number;
}

// Longer than the 60 s after which load balancers close an idle connection, so that they close first.
export const connectionTimeouts: ConnectionTimeouts = {
  headersMs: 10_000,
  // The time of the largest body at the slowest allowed pace.
  requestMs:
    (limits.requestBodySeconds +
      Math.ceil(limits.restoreBodyBytesMax / limits.requestBodyBytesPerSecondMin)) *
    1000,
  keepAliveMs: 65_000,
};

const lingerMs = 1_000;

export interface ConnectionWorld {
  readonly timers: Timers;
  readonly random: RandomSource;
}

/** Makes a server answer problem documents where Node alone would answer a bare status, and bounds its waiting. */
export function guardConnections(
  server: Server,
  chain: Chain,
  exchange: Exchange,
  world: ConnectionWorld,
  timeouts: ConnectionTimeouts = connectionTimeouts,
): void {
  server.headersTimeout = timeouts.headersMs;
  server.requestTimeout = timeouts.requestMs;
  server.keepAliveTimeout = timeouts.keepAliveMs;
  // The chain refuses a missing Host with a problem document.
  (server as Server & { requireHostHeader?: boolean }).requireHostHeader = false;
  const answered = new WeakSet<Duplex>();

  const answer = (socket: Duplex, response: Promise<RawResponse>): void => {
    if (answered.has(socket)) return;
    answered.add(socket);
    socket.on('error', () => socket.destroy());
    void response.then((raw) => {
      if (!socket.writable) {
        socket.destroy();
        return;
      }
      socket.end(serialize(raw));
      // Closing at once would reset a client that is still sending, before it has read why.
      const cancel = world.timers.after(lingerMs, () => socket.destroy());
      socket.once('close', cancel);
      socket.resume();
    });
  };

  server.on('clientError', (error: ClientError, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const refusal = refusalOf(error);
    if (exchange.breakOff(socket as Socket, refusal)) return;
    const line = error.code === 'HPE_INVALID_METHOD' ? requestLine(error.rawPacket) : null;
    answer(
      socket,
      line ? chain(bodiless(line, socket as Socket)) : Promise.resolve(refused(refusal, world.random)),
    );
  });
  server.on('connect', (request: IncomingMessage, socket: Duplex) => {
    answer(socket, chain(bodiless({ method: 'CONNECT', target: request.url ?? '' }, socket as Socket)));
  });
}

interface ClientError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
}

function refusalOf({ code }: ClientError): ServiceError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new ServiceError('headers_too_large', 'The header section is too large.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new ServiceError('request_timeout', 'The request did not arrive in time.');
  return new ServiceError('malformed_request', 'The request is not well-formed HTTP/1.1.');
}

interface RequestLine {
  readonly method: string;
  readonly target: string;
}

/** Node refuses an unknown method before it makes a request; the path still decides which methods to name. */
function requestLine(packet: Buffer | undefined): RequestLine | null {
  const head = packet?.subarray(0, 8192).toString('latin1') ?? '';
  const line = /^([A-Za-z!#$%&'*+.^_`|~-]{1,40}) (\/[\x21-\x7e]{0,4096}) HTTP\/1\.[01]\r?\n/.exec(head);
  return line ? { method: line[1] ?? '', target: line[2] ?? '' } : null;
}

/** Takes only the first line of such a request; the version is one that needs no Host. */
function bodiless({ method, target }: RequestLine, socket: Socket): RawRequest {
  return {
    method,
    target,
    httpVersion: '1.0',
    rawHeaders: [],
    socketAddress: socket.remoteAddress ?? '',
    body: (async function* () {})(),
    proceed: () => {},
    signal: AbortSignal.timeout(60_000),
  };
}

function refused(refusal: ServiceError, random: RandomSource): RawResponse {
  const correlationId = correlationIdOf(undefined, random);
  const { response } = problemOf(refusal, correlationId);
  return {
    ...response,
    headers: [
      [correlationHeader, correlationId],
      ['Cache-Control', 'no-store'],
      ['X-Content-Type-Options', 'nosniff'],
      ...response.headers,
    ],
  };
}

function serialize({ status, headers, body }: RawResponse): Buffer {
  // No operation answers here, only refusals, and a refusal is a text.
  const content = Buffer.from(body instanceof ByteStream ? '' : (body ?? ''));
  const fields = [...headers, ['Content-Length', String(content.length)], ['Connection', 'close']];
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${fields.map(([n, v]) => `${n}: ${v}\r\n`).join('')}\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), content]);
}
