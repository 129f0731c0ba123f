import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The one address before all functions, as a load balancer is in the cloud: it picks a function by the path and streams. */
export interface Router {
  readonly url: string;
  /** Until then every request is refused as one that may be tried again in a moment. */
  open(routes: Routes): void;
  /** Accepts nothing more and resolves when what is under way has been answered. */
  stop(): Promise<void>;
}

export interface RouterOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
}

export interface Routes {
  /** First segment of the path → port of the function on loopback. */
  readonly bySegment: ReadonlyMap<string, number>;
  /** For every other path; that function then says that there is nothing. */
  readonly otherwise: number;
}

/** Of one connection only (RFC 9110 section 7.6.1). The framing is made anew by Node, for either side. */
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

// As much as the functions read, so that they and not the router judge what is too large.
const headerBytesMax = 64 * 1024;
const stopTimeoutMs = 10_000;

interface State {
  readonly agent: Agent;
  routes: Routes | null;
  /** Every answer from now on closes its connection. */
  stopping: boolean;
}

export async function startRouter({ host, port }: RouterOptions): Promise<Router> {
  const agent = new Agent({ keepAlive: true });
  const server = createServer({ maxHeaderSize: headerBytesMax, requireHostHeader: false });
  const state: State = { agent, routes: null, stopping: false };
  const handle = (incoming: IncomingMessage, response: ServerResponse): void => {
    const { routes } = state;
    if (routes === null) return refuse(response, 'The functions are being started.');
    const served = routes.bySegment.get(firstSegment(incoming.url ?? '')) ?? routes.otherwise;
    forward(incoming, response, served, state);
  };
  for (const event of ['request', 'checkContinue'] as const) server.on(event, handle);
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
      const force = setTimeout(() => server.closeAllConnections(), stopTimeoutMs);
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      });
      clearTimeout(force);
      agent.destroy();
    },
  };
}

/** Of the path as it was sent: nothing is decoded here, so that nothing can be decoded twice. */
export function firstSegment(target: string): string {
  return /^\/([^/?]*)/.exec(target)?.[1] ?? '';
}

function forward(incoming: IncomingMessage, response: ServerResponse, port: number, state: State): void {
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
    if (closing || state.stopping) headers.push('Connection', 'close');
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage, headers);
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  outgoing.on('error', () => {
    // The function may answer and hang up before it has read a body that it refuses.
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
  // Without a word about its length Node would send a body in chunks, and the function would have to look for it.
  if (!framed) headers.push('Content-Length', '0');
  const before = incoming.headers['x-forwarded-for'];
  const hops = [
    ...(before === undefined ? [] : [String(before)]),
    incoming.socket.remoteAddress ?? 'unknown',
  ];
  headers.push('X-Forwarded-For', hops.join(', '), 'Connection', 'keep-alive');
  return headers;
}

/** The fields as they were sent, in their order, without those of the connection and those that it names. */
function endToEnd(rawHeaders: readonly string[], without?: string): string[] {
  const pairs = rawHeaders.flatMap((name, at) =>
    at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ''] as const] : [],
  );
  const named = pairs
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.split(','));
  const dropped = new Set([...hopByHop, ...named.map((name) => name.trim().toLowerCase())]);
  // These two say where a body ends; a connection field that names them would make two readings of one request.
  for (const framing of ['content-length', 'transfer-encoding']) dropped.delete(framing);
  if (without !== undefined) dropped.add(without);
  return pairs.filter(([name]) => !dropped.has(name.toLowerCase())).flat();
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
