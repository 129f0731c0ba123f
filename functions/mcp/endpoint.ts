import { readBody } from '../http/body.ts';
import { correlationHeader, correlationIdOf } from '../http/correlation.ts';
import { type Cors, createCors } from '../http/cors.ts';
import { framingOf, type Headers } from '../http/headers.ts';
import type { Chain, RawRequest, RawResponse } from '../http/message.ts';
import { problemOf } from '../http/problem.ts';
import { methodNotAllowed } from '../http/router.ts';
import { sentTrace } from '../http/trace-context.ts';
import type { Caller } from '../identity/caller.ts';
import type { CredentialHeaders } from '../identity/credentials.ts';
import { describeFailure, type Log, type LogEvent, type TraceContext } from '../kernel/log.ts';
import type { PageTokens } from '../kernel/page-token.ts';
import { type StrictJsonLimits, strictJsonLimits } from '../kernel/strict-json.ts';
import { elapsedMs } from '../kernel/timestamp.ts';
import type { World } from '../kernel/world.ts';
import type { McpCaller } from './caller.ts';
import { type EndpointCapacity, RequestCapacity } from './capacity.ts';
import type { McpCatalog } from './catalog.ts';
import { type McpSettings, mcpSettings } from './exchange.ts';
import { challengeOf, METADATA_PATH, metadataAnswer, type ProtectedResource } from './protected-resource.ts';
import { createProtocol, type McpProtocol, type ReplyFacts } from './protocol.ts';
import { correlationOf, judgeHeaders, type ReceiveOptions, receiveHeaders } from './receive.ts';
import { writeReply } from './reply.ts';

export interface McpEndpointOptions extends ReceiveOptions {
  readonly catalog: McpCatalog;
  /** Signs cursors and request states with a key that all instances share. */
  readonly tokens: PageTokens;
  /** Finds the caller from the headers. Throws `unauthenticated`. */
  readonly authenticate: (headers: CredentialHeaders) => Promise<McpCaller>;
  readonly world: Pick<World, 'clock' | 'random' | 'timers'>;
  readonly log: Log;
  readonly bodyBytesMax: number;
  readonly jsonLimits?: StrictJsonLimits;
  readonly settings?: McpSettings;
  /** Absent: no limits apply. */
  readonly capacity?: EndpointCapacity;
  /** Absent: the endpoint does not publish the issuers of tokens. */
  readonly protectedResource?: ProtectedResource;
}

/**
 * The MCP endpoint, at the path where it is mounted. It keeps no state between requests, so any instance answers any request, also
 * those of revisions whose clients begin with `initialize`. HTTP checks refuse with a problem document, all other checks with a JSON-RPC error.
 */
export function createMcpEndpoint(options: McpEndpointOptions): Chain {
  const { catalog, tokens, world, log, settings = mcpSettings, jsonLimits = strictJsonLimits } = options;
  const protocol = createProtocol({ catalog, tokens, clock: world.clock, log, settings }, jsonLimits);
  const cors = createCors({ allowedOrigins: options.allowedOrigins ?? [] });
  return async (request) => {
    const arrivedAt = world.clock.now();
    const correlationId = correlationIdOf(correlationOf(request), world.random);
    const state: State = {
      request,
      correlationId,
      trace: sentTrace(request),
      capacity: options.capacity === undefined ? null : new RequestCapacity(options.capacity, request),
      headers: null,
      caller: null,
    };
    const { response, line } = await serve(state, options, protocol, cors);
    state.capacity?.books.leave();
    // The queue of requests logs the begin and the end of an overload itself.
    if (line.code !== 'overloaded')
      log({
        trace: state.trace,
        ...line,
        correlationId,
        durationMs: elapsedMs(arrivedAt, world.clock.now()),
      });
    return finish(response, state, cors);
  };
}

/** The state of one request. */
interface State {
  readonly request: RawRequest;
  readonly correlationId: string;
  readonly trace: TraceContext | undefined;
  readonly capacity: RequestCapacity | null;
  headers: Headers | null;
  caller: Caller | null;
}

interface Outcome {
  readonly response: RawResponse;
  readonly line: Parameters<Log>[0];
}

async function serve(
  state: State,
  options: McpEndpointOptions,
  protocol: McpProtocol,
  cors: Cors,
): Promise<Outcome> {
  const { correlationId, trace } = state;
  try {
    const { response, operation, facts = {} } = await answer(state, options, protocol, cors);
    return {
      response,
      line: { ...lineOf(response, state.caller), ...namesOf(operation, facts), ...outcomeOf(facts, state) },
    };
  } catch (error) {
    state.capacity?.books.release();
    const { code, response, unexpected } = problemOf(error, correlationId, trace?.traceId);
    const failure = unexpected ? { failure: describeFailure(error) } : {};
    const challenge = challengeOf(options.protectedResource ?? null);
    const headers = response.headers.map(([name, value]) =>
      name === 'WWW-Authenticate' ? ([name, challenge] as const) : ([name, value] as const),
    );
    return {
      response: { ...response, headers: [...headers, ['Cache-Control', 'no-store']] },
      line: { ...lineOf(response, state.caller), operation: 'mcp', code, ...failure },
    };
  }
}

async function answer(
  state: State,
  options: McpEndpointOptions,
  protocol: McpProtocol,
  cors: Cors,
): Promise<{ readonly response: RawResponse; readonly operation: string; readonly facts?: ReplyFacts }> {
  const { request, capacity, correlationId, trace } = state;
  const described = options.protectedResource;
  const [path] = request.target.split('?', 1);
  const isMetadata = described !== undefined && path === METADATA_PATH;
  const methods = isMetadata ? ['GET', 'HEAD'] : ['POST'];
  if (![...methods, 'OPTIONS'].includes(request.method)) throw methodNotAllowed(methods);
  const headers = receiveHeaders(request, options);
  state.headers = headers;
  await capacity?.admit();
  const preflight = cors.preflight(request.method, headers);
  if (preflight) return { response: preflight, operation: 'mcp preflight' };
  if (request.method === 'OPTIONS') throw methodNotAllowed(methods);
  if (isMetadata) return { response: metadataAnswer(described), operation: 'mcp metadata' };
  await capacity?.enter();
  judgeHeaders(headers, options);
  const caller = await options.authenticate(headers);
  state.caller = caller;
  capacity?.books.open(caller.principal);
  const sent = capacity?.weighed() ?? request;
  const reserve = capacity === null ? {} : { reserve: capacity.books.take };
  const body = await readBody(sent, framingOf(headers), options.bodyBytesMax, options.world, reserve);
  const { rawHeaders, signal, draining } = request;
  const reply = await protocol({
    rawHeaders,
    body: body.whole(),
    caller,
    correlationId,
    trace,
    signal,
    ...(draining === undefined ? {} : { draining }),
    ...(capacity === null ? {} : { capacity: capacity.ofCall }),
  });
  const { facts } = reply;
  const response = writeReply(reply);
  // Never refuse the answer of a call: a write is done already, and a read has counted its text before.
  capacity?.books.holdAnswer(response, reply.method !== 'tools/call');
  return { response, operation: `mcp ${reply.method ?? ''}`.trim(), facts };
}

/** The operation of the service that executed the message, under the same log members as calls over REST. */
function namesOf(method: string, { operation }: ReplyFacts): Pick<LogEvent, 'operation' | 'method'> {
  return operation === undefined ? { operation: method } : { operation, method };
}

/** Logs a refused call as a refusal, although its status is 200. A client that disconnects is no fault. */
function outcomeOf({ refusal, trace }: ReplyFacts, { request }: State): Partial<LogEvent> {
  const named = trace === undefined ? {} : { trace };
  if (refusal === undefined) return named;
  return request.signal.aborted
    ? { ...named, ...refusal, severity: 'INFO', message: 'the caller has gone' }
    : { ...named, ...refusal };
}

/** Adds the header fields of every answer. */
function finish(response: RawResponse, { capacity, correlationId, headers }: State, cors: Cors): RawResponse {
  return {
    ...response,
    settled: () => {
      capacity?.books.release();
      response.settled?.();
    },
    headers: [
      [correlationHeader, correlationId],
      ['X-Content-Type-Options', 'nosniff'],
      ...(capacity?.fields ?? []),
      ...cors.answered(headers, response.headers),
    ],
  };
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
