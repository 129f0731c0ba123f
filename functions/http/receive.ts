import type { OperationEntry } from '../../contracts/operation.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Cors } from './cors.ts';
import { refuseForeignOrigin } from './foreign-origin.ts';
import {
  type HeaderLimits,
  type Headers,
  headerLimits,
  readHeaders,
  refuseFaultyFraming,
} from './headers.ts';
import { isLoopbackHost } from './loopback-host.ts';
import type { RawRequest, RawResponse } from './message.ts';
import type { ChainOptions } from './options.ts';
import { type RequestTarget, splitTarget } from './path.ts';
import type { RateLimits } from './rate-limits.ts';
import { methodNotAllowed, type RouteMatch, type Router } from './router.ts';
import { sourceAddress } from './source-address.ts';

/** A request whose headers, target and route were accepted. */
interface Received {
  readonly headers: Headers;
  readonly match: RouteMatch;
  /** Undecoded, without the question mark. */
  readonly query: string;
}

/** The facts of a request as the chain learns them, for the log and the answer. */
export interface RequestFacts {
  readonly request: RawRequest;
  headers: Headers | null;
  entry: OperationEntry | null;
  readonly fields: (readonly [name: string, value: string])[];
}

/** Checks everything of a request but its caller and its input. Answers a CORS preflight itself. */
export type Receive = (exchange: RequestFacts) => Promise<Received | { readonly preflight: RawResponse }>;

export interface ReceiveParts {
  readonly router: Router;
  readonly cors: Cors;
  readonly limits: RateLimits;
}

export function createReceive(options: ChainOptions, { router, cors, limits }: ReceiveParts): Receive {
  const most: HeaderLimits = options.headerLimits ?? headerLimits;
  return async (exchange) => {
    const { request } = exchange;
    const headers = readHeaders(request.rawHeaders, most, options.singleHeaders);
    exchange.headers = headers;
    refuseFaultyFraming(request);
    const limit = (path: string): Promise<void> =>
      limits.acquire(
        limits.classOf(exchange.entry, path),
        () => addressOf(options, exchange),
        request.signal,
        (fields) => exchange.fields.push(...fields),
      );
    const preflight = cors.preflight(request.method, headers);
    if (preflight) {
      // A preflight counts like the request that it announces: the server answers it before it knows the caller.
      await limit(request.target.split('?', 1).join(''));
      return { preflight };
    }
    const target = requireTarget(request, headers, router);
    const matched = attempt(() => router.match(request.method, target.path));
    exchange.entry = 'value' in matched ? matched.value.entry : null;
    await limit(target.path);
    // The limit counts a request before its route is refused: guessing at routes must not be free.
    if ('error' in matched) throw matched.error;
    const match = matched.value;
    if (options.loopbackHostsOnly === true) requireLoopbackHost(match.entry, headers);
    if (options.refuseForeignOrigins === true)
      refuseForeignOrigin(request.method, match.entry, headers, options.cors?.allowedOrigins ?? []);
    return { headers, match, query: target.query };
  };
}

/** The address that the rate limit counts. Without readable headers it is the other end of the connection. */
export function addressOf(
  { trustedProxyHops = 0 }: Pick<ChainOptions, 'trustedProxyHops'>,
  { request, headers }: RequestFacts,
): string {
  return sourceAddress(request.socketAddress, headers?.get('x-forwarded-for'), trustedProxyHops);
}

function requireTarget(request: RawRequest, headers: Headers, router: Router): RequestTarget {
  if (request.httpVersion === '1.1' && headers.get('host') === undefined) {
    throw new ServiceError('malformed_request', 'The request has no Host header.');
  }
  if (!request.target.startsWith('/') && (request.method === 'CONNECT' || request.method === 'OPTIONS')) {
    // Their targets (`host:port`, `*`) are no paths.
    throw methodNotAllowed(router.methods);
  }
  return splitTarget(request.target);
}

/** Open operations answer under any host name: health checks address containers by number. */
function requireLoopbackHost({ authorizationClass }: OperationEntry, headers: Headers): void {
  // Only a client of HTTP/1.0 sends no Host header, and no browser is one.
  const host = headers.get('host');
  if (authorizationClass === 'anonymous' || host === undefined || isLoopbackHost(host)) return;
  throw new ServiceError(
    'permission_denied',
    'Development is open to this machine only: call it as localhost, or set Server:AllowRemoteDevelopment to true.',
  );
}

function attempt<T>(action: () => T): { readonly value: T } | { readonly error: unknown } {
  try {
    return { value: action() };
  } catch (error) {
    return { error };
  }
}
