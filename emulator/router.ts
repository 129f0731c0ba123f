import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connectionLines, endsConnection, type Turn } from '../functions/http/connection-line.ts';
import { isFaultilyFramed } from '../functions/http/headers.ts';

/**
 * The single address in front of all functions, like a load balancer in the cloud: it selects a function by path and
 * streams.
 */
export interface Router {
  readonly url: string;
  /** Before this call the router answers every request with a retryable refusal. */
  open(routes: Routes): void;
  /** Accepts no new requests and resolves when those in progress are answered. */
  stop(): Promise<void>;
}

export interface RouterOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** How long requests under way may take when it stops, in milliseconds; 10 seconds unless given. */
  readonly stopMs?: number;
}

export interface Routes {
  /** Maps the first path segment to a function's port on loopback. */
  readonly bySegment: ReadonlyMap<string, number>;
  /** For first segments that several functions share. The first rule that matches decides. */
  readonly rules?: readonly RouteRule[];
  /** The function for all other paths; it answers with 404. */
  readonly otherwise: number;
}

interface RouteRule {
  /** `/a/*` and `/a/**` as in URL maps: one segment, and all segments below. */
  readonly path: string;
  readonly port: number;
}

/** Fields of one connection only (RFC 9110 section 7.6.1). Node writes new framing for each side. */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
]);

// The limit of the functions, so that they and not the router refuse large headers.
const headerBytesMax = 64 * 1024;
const stopMsDefault = 10_000;

interface State {
  readonly agent: Agent;
  routes: Routes | null;
  /** From now on every answer closes its connection. */
  stopping: boolean;
}

/** A request on its connection. The router forwards its requests one at a time, as the functions process them. */
interface Forwarded extends Turn {
  readonly incoming: IncomingMessage;
  /** The answer closes the connection. */
  last: boolean;
}

export async function startRouter({ host, port, stopMs = stopMsDefault }: RouterOptions): Promise<Router> {
  const agent = new Agent({ keepAlive: true });
  const server = createServer({ maxHeaderSize: headerBytesMax, requireHostHeader: false });
  const state: State = { agent, routes: null, stopping: false };
  const lineOf = connectionLines(() => {});
  const start = (incoming: IncomingMessage, response: ServerResponse, turn: Forwarded): void => {
    const { routes } = state;
    // Forwarded as HTTP/1.1, its faulty framing would be hidden from the function.
    if (isFaultilyFramed(incoming)) return refuseFraming(response);
    if (routes === null) return refuse(response, 'The functions are being started.');
    forward(incoming, response, portOf(routes, incoming.url ?? ''), { state, turn });
  };
  const handle = (incoming: IncomingMessage, response: ServerResponse): void => {
    const line = lineOf(incoming.socket);
    const turn: Forwarded = { incoming, last: endsConnection(incoming) };
    response.once('close', () => line.leave(turn, turn.last));
    line.join(turn);
    line.ready(turn, () => start(incoming, response, turn));
  };
  for (const event of ['request', 'checkContinue'] as const) server.on(event, handle);
  server.on('clientError', (error: ClientError, socket) => {
    const turn = lineOf(socket as Socket).last as Forwarded | undefined;
    // The answers of complete requests before it still go out; the last one closes the connection.
    if (turn?.incoming.complete === true && error.code !== 'ECONNRESET') turn.last = true;
    else refuseBroken(socket, error);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  return {
    url: `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`,
    open(routes) {
      state.routes = routes;
    },
    async stop() {
      state.stopping = true;
      const force = setTimeout(() => server.closeAllConnections(), stopMs);
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      });
      clearTimeout(force);
      agent.destroy();
    },
  };
}

/** Read from the raw path: without decoding here, nothing is decoded twice. */
export function firstSegment(target: string): string {
  return /^\/([^/?]*)/.exec(target)?.[1] ?? '';
}

/**
 * The port of the function that answers the path. Encoded slashes separate nothing.
 * @testonly
 */
export function portOf({ bySegment, rules = [], otherwise }: Routes, target: string): number {
  const [path = ''] = target.split('?', 1);
  return (
    bySegment.get(firstSegment(target)) ?? rules.find((rule) => matches(rule.path, path))?.port ?? otherwise
  );
}

function matches(template: string, path: string): boolean {
  const segments = path.split('/');
  const wanted = template.split('/');
  const open = wanted.at(-1) === '**';
  const fixed = open ? wanted.slice(0, -1) : wanted;
  if (open ? segments.length < fixed.length : segments.length !== fixed.length) return false;
  return fixed.every((each, at) => (each === '*' ? segments[at] !== '' : each === segments[at]));
}

function forward(
  incoming: IncomingMessage,
  response: ServerResponse,
  port: number,
  { state, turn }: { readonly state: State; readonly turn: Forwarded },
): void {
  const outgoing = request({
    agent: state.agent,
    host: '127.0.0.1',
    port,
    method: incoming.method,
    path: incoming.url,
    headers: requestHeaders(incoming),
    setHost: false,
  });
  outgoing.on('continue', () => response.writeContinue());
  outgoing.on('response', (answer) => {
    response.sendDate = false;
    const closing = /\bclose\b/i.test(answer.headers.connection ?? '');
    const headers = endToEnd(answer.rawHeaders);
    turn.last ||= closing || state.stopping;
    if (turn.last) headers.push('Connection', 'close');
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage, headers);
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  outgoing.on('error', () => {
    // The function may answer and close before it has read a body that it refuses.
    incoming.unpipe(outgoing);
    incoming.resume();
    if (!response.headersSent) refuse(response, 'The function did not answer.');
  });
  incoming.on('error', () => outgoing.destroy());
  response.on('close', () => {
    if (!response.writableFinished) outgoing.destroy();
  });
  incoming.pipe(outgoing);
}

function requestHeaders(incoming: IncomingMessage): string[] {
  const headers = endToEnd(incoming.rawHeaders, 'x-forwarded-for');
  const framed = ['content-length', 'transfer-encoding'].some((name) => incoming.headers[name] !== undefined);
  // Without a length Node would send a chunked body to the function.
  if (!framed) headers.push('Content-Length', '0');
  const before = incoming.headers['x-forwarded-for'];
  const hops = [
    ...(before === undefined ? [] : [String(before)]),
    incoming.socket.remoteAddress ?? 'unknown',
  ];
  headers.push('X-Forwarded-For', hops.join(', '), 'Connection', 'keep-alive');
  return headers;
}

/** The fields in their original order, without the connection fields and those that they name. */
function endToEnd(rawHeaders: readonly string[], without?: string): string[] {
  const pairs = rawHeaders.flatMap((name, at) =>
    at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ''] as const] : [],
  );
  const named = pairs
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.split(','));
  const dropped = new Set([...hopByHop, ...named.map((name) => name.trim().toLowerCase())]);
  // These two delimit the body: dropping them because `Connection` names them would allow request smuggling.
  for (const framing of ['content-length', 'transfer-encoding']) dropped.delete(framing);
  if (without !== undefined) dropped.add(without);
  return pairs.filter(([name]) => !dropped.has(name.toLowerCase())).flat();
}

interface ClientError extends Error {
  readonly code?: string;
}

const brokenStatus: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** As Node answers bytes that are no request. */
function refuseBroken(socket: Duplex, { code = '' }: ClientError): void {
  if (code !== 'ECONNRESET' && socket.writable)
    socket.write(`HTTP/1.1 ${brokenStatus[code] ?? '400 Bad Request'}\r\nConnection: close\r\n\r\n`);
  socket.destroy();
}

function refuseFraming(response: ServerResponse): void {
  const problem = {
    type: 'urn:svc:problem:malformed_request',
    title: 'Malformed request',
    status: 400,
    detail: 'HTTP/1.0 has no Transfer-Encoding.',
    code: 'malformed_request',
    retryable: false,
  };
  response.writeHead(400, { 'Content-Type': 'application/problem+json', Connection: 'close' });
  response.end(JSON.stringify(problem));
}

function refuse(response: ServerResponse, detail: string): void {
  const problem = {
    type: 'urn:svc:problem:unavailable',
    title: 'Unavailable',
    status: 503,
    detail,
    code: 'unavailable',
    retryable: true,
  };
  response.writeHead(503, {
    'Content-Type': 'application/problem+json',
    'Cache-Control': 'no-store',
    'Retry-After': '1',
  });
  response.end(JSON.stringify(problem));
}
