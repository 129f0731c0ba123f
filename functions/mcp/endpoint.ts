import { readBody } from '../http/body.ts';
import { correlationHeader, correlationIdOf } from '../http/correlation.ts';
import {
  checkHeaderLimits,
  framingOf,
  type HeaderLimits,
  type Headers,
  headerLimits,
  readHeaders,
  requireJson,
} from '../http/headers.ts';
import { isLoopbackHost } from '../http/loopback-host.ts';
import type { Chain, RawRequest, RawResponse } from '../http/message.ts';
import { problemOf } from '../http/problem.ts';
import { methodNotAllowed } from '../http/router.ts';
import { type StrictJsonLimits, strictJsonLimits } from '../http/strict-json.ts';
import type { Caller } from '../identity/caller.ts';
import type { CredentialHeaders } from '../identity/credentials.ts';
import { ServiceError } from '../kernel/errors.ts';
import { describeFailure, type Log } from '../kernel/log.ts';
import type { PageTokens } from '../kernel/page-token.ts';
import type { World } from '../kernel/world.ts';
import type { McpCatalog } from './catalog.ts';
import { type McpSettings, mcpSettings } from './exchange.ts';
import { createProtocol, type McpProtocol } from './protocol.ts';
import { writeReply } from './reply.ts';

export interface McpEndpointOptions {
  readonly catalog: McpCatalog;
  /** Signs cursors and request states, with a key that all instances share. */
  readonly tokens: PageTokens;
  /** Decides from the headers who is calling; throws `unauthenticated`. */
  readonly authenticate: (headers: CredentialHeaders) => Promise<Caller>;
  readonly world: Pick<World, 'clock' | 'random' | 'timers'>;
  readonly log: Log;
  readonly bodyBytesMax: number;
  readonly headerLimits?: HeaderLimits;
  readonly jsonLimits?: StrictJsonLimits;
  readonly settings?: McpSettings;
  /** Origins whose pages may call the endpoint. A program sends no `Origin`. */
  readonly allowedOrigins?: readonly string[];
  /** Refuses callers that address this machine by a foreign host name; pages of this machine may call then. */
  readonly loopbackHostsOnly?: boolean;
}

/**
 * The MCP endpoint of the revision 2026-07-28, at the path where it is mounted. It keeps nothing between requests, so any instance
 * answers any of them. What HTTP decides is refused with a problem document, all else with a JSON-RPC error.
 */
export function createMcpEndpoint(options: McpEndpointOptions): Chain {
  const { catalog, tokens, world, log, settings = mcpSettings, jsonLimits = strictJsonLimits } = options;
  const protocol = createProtocol({ catalog, tokens, clock: world.clock, log, settings }, jsonLimits);
  return async (request) => {
    const arrivedAt = world.clock.now();
    const correlationId = correlationIdOf(correlationOf(request), world.random);
    const outcome = await serve(request, options, protocol, correlationId);
    log({ ...outcome.line, correlationId, durationMs: world.clock.now() - arrivedAt });
    const { response } = outcome;
    const fields = [
      [correlationHeader, correlationId] as const,
      ['X-Content-Type-Options', 'nosniff'] as const,
    ];
    return { ...response, headers: [...fields, ...response.headers] };
  };
}

interface Outcome {
  readonly response: RawResponse;
  readonly line: Parameters<Log>[0];
}

async function serve(
  request: RawRequest,
  options: McpEndpointOptions,
  protocol: McpProtocol,
  correlationId: string,
): Promise<Outcome> {
  let caller: Caller | null = null;
  try {
    const headers = receive(request, options);
    caller = await options.authenticate(headers);
    const body = await readBody(request, framingOf(headers), options.bodyBytesMax, options.world);
    const { rawHeaders, signal } = request;
    const reply = await protocol({ rawHeaders, body, caller, correlationId, signal });
    const response = writeReply(reply);
    return { response, line: { ...lineOf(response, caller), operation: `mcp ${reply.method ?? ''}`.trim() } };
  } catch (error) {
    const { code, response, unexpected } = problemOf(error, correlationId);
    const failure = unexpected ? { failure: describeFailure(error) } : {};
    const headers = [...response.headers, ['Cache-Control', 'no-store'] as const];
    return {
      response: { ...response, headers },
      line: { ...lineOf(response, caller), operation: 'mcp', code, ...failure },
    };
  }
}

/** What the headers alone decide, in the order of the revision. */
function receive(request: RawRequest, options: McpEndpointOptions): Headers {
  if (request.method !== 'POST') throw methodNotAllowed(['POST']);
  checkHeaderLimits(request.rawHeaders, options.headerLimits ?? headerLimits);
  // The protocol refuses a mirrored field that occurs twice, with the id of its request.
  const headers = readHeaders(withoutMirrorFields(request.rawHeaders), options.headerLimits);
  refuseForeignPages(headers, options);
  requireJson(headers);
  return headers;
}

function withoutMirrorFields(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_, at) => !(rawHeaders[at - (at % 2)] ?? '').toLowerCase().startsWith('mcp-'));
}

/** A page of another site must not reach the endpoint, not even by a name of its own that leads to this machine. */
function refuseForeignPages(
  headers: Headers,
  { allowedOrigins = [], loopbackHostsOnly = false }: McpEndpointOptions,
): void {
  const host = headers.get('host');
  if (loopbackHostsOnly && host !== undefined && !isLoopbackHost(host)) throw foreign();
  const origin = headers.get('origin');
  if (origin === undefined || allowedOrigins.includes(origin)) return;
  const [, page = ''] = /^https?:\/\/([^/]*)$/.exec(origin) ?? [];
  if (!(loopbackHostsOnly && isLoopbackHost(page))) throw foreign();
}

function foreign(): ServiceError {
  return new ServiceError('permission_denied', 'A page of this origin may not call the endpoint.');
}

function correlationOf({ rawHeaders }: RawRequest): string | undefined {
  const at = rawHeaders.findIndex(
    (name, index) => index % 2 === 0 && name.toLowerCase() === correlationHeader.toLowerCase(),
  );
  return at < 0 ? undefined : rawHeaders[at + 1];
}

function lineOf({ status }: RawResponse, caller: Caller | null): Parameters<Log>[0] {
  const principal = caller?.principal ?? null;
  return {
    severity: status >= 500 ? 'ERROR' : status >= 400 ? 'WARNING' : 'INFO',
    message: 'a request was answered',
    status,
    ...(principal === null ? {} : { principal }),
  };
}
