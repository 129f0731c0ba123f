import type { OperationEntry } from '../../contracts/operation.ts';
import type { Caller } from '../identity/caller.ts';
import { writeAnswer } from './answer.ts';
import type { Judge } from './body.ts';
import { type BodyReader, readSentBody } from './body-reader.ts';
import { selectionOf } from './byte-answer.ts';
import { abandonStreams, streamsOf } from './byte-stream.ts';
import { type BytesInFlight, createBytesInFlight, type Flight } from './bytes-in-flight.ts';
import { createPerformCall, type PerformCall } from './call.ts';
import type { Load, Slot } from './class-line.ts';
import { correlationHeader, correlationIdOf } from './correlation.ts';
import { type Cors, createCors } from './cors.ts';
import { createLargeAnswers, type LargeAnswers } from './large-answers.ts';
import type { Chain, RawRequest, RawResponse, RequestHead } from './message.ts';
import type { ChainOptions } from './options.ts';
import { bodyPolicy } from './paced-chunks.ts';
import { readQuery } from './parameters.ts';
import { problemOf } from './problem.ts';
import { createRateLimits, type RateLimits } from './rate-limits.ts';
import { addressOf, createReceive, type Exchange, type Receive } from './receive.ts';
import { RequestLine } from './request-line.ts';
import { type Failure, logRequest } from './request-log.ts';
import { createRouter } from './router.ts';
import { sourceAddress } from './source-address.ts';
import { createValidators, type Validators } from './validators.ts';
import { type Charge, chargeDocument, chargeRefusal, readFreeOfCharge, weighedRequest } from './weighed.ts';

export type { ChainOptions, GroupValidators, HandlerMap } from './options.ts';

/** What all requests of a process share, also those that no operation serves. */
export interface SharedCapacity {
  readonly limits: RateLimits;
  readonly bytes: BytesInFlight;
  readonly large: LargeAnswers;
  readonly line: RequestLine;
}

export function createSharedCapacity(options: ChainOptions): SharedCapacity {
  return {
    limits: createRateLimits(options),
    bytes: createBytesInFlight(options.bytesInFlight ?? { perProcess: Infinity, perCaller: Infinity }),
    large: createLargeAnswers(),
    line: new RequestLine(options.world, options.log, options.overload?.atWorkMax ?? Infinity),
  };
}

/** The path of every request: receive, call, answer. Each step can refuse the request, and then no later step runs. */
export function createChain(options: ChainOptions, shared = createSharedCapacity(options)): Chain {
  const parts = assemble(options, shared);
  return Object.assign(createServe(options, parts), { refuseEarly: createRefuseEarly(options, parts) });
}

/** For callers of which no other header decides what they may read of the answer. */
function createRefuseEarly(options: ChainOptions, { line }: Parts): NonNullable<Chain['refuseEarly']> {
  return (head) => {
    if (!line.mayRefuse('usual') || options.overload?.mayBeServedFirst(head.target) !== false) return null;
    if (rawField(head, 'origin') !== undefined) return null;
    const { trustedProxyHops = 0 } = options;
    const forwarded = trustedProxyHops > 0 ? rawField(head, 'x-forwarded-for') : undefined;
    const refusal = line.refusalFor('usual', sourceAddress(head.socketAddress, forwarded, trustedProxyHops));
    if (refusal === null) return null;
    const correlationId = correlationIdOf(rawField(head, 'x-correlation-id'), options.world.random);
    const { response } = problemOf(refusal, correlationId);
    return { ...response, headers: [...fieldsOfEvery(correlationId, response), ...response.headers] };
  };
}

function createServe(options: ChainOptions, parts: Parts): (request: RawRequest) => Promise<RawResponse> {
  return async (request) => {
    const arrivedAt = options.world.clock.now();
    const exchange: Exchange = { request, headers: null, entry: null, fields: [] };
    const state: State = {
      exchange,
      correlationId: '',
      caller: null,
      slot: null,
      flight: null,
      streams: [],
      ends: [],
    };
    let response: RawResponse;
    let failure: Failure | null = null;
    try {
      state.correlationId = correlationIdOf(rawField(request, 'x-correlation-id'), options.world.random);
      response = await serve(options, parts, state, arrivedAt);
    } catch (error) {
      const problem = problemOf(error, state.correlationId);
      state.flight?.release();
      chargeRefusal(error, chargeOf(options, parts, state));
      failure = { code: problem.code, unexpected: problem.unexpected, error };
      ({ response } = problem);
    }
    state.slot?.leave();
    // The line says when an overload begins and ends: a line for each refusal would cost more than the refusal.
    if (failure?.code !== 'overloaded') logRequest(options, { ...state, arrivedAt }, response, failure);
    return finish(parts.cors, state, response);
  };
}

/** The state of one request on its way through the chain. */
interface State {
  readonly exchange: Exchange;
  correlationId: string;
  caller: Caller | null;
  slot: Slot | null;
  flight: Flight | null;
  streams: readonly object[];
  /** What handlers want to run once the answer is held no longer. */
  readonly ends: (() => void)[];
}

interface Parts extends SharedCapacity {
  readonly cors: Cors;
  readonly receive: Receive;
  readonly reader: BodyReader;
  readonly validators: Validators;
  readonly perform: PerformCall;
  /** By operation; of those that are always served, `null`. */
  readonly loads: ReadonlyMap<string, Load | null>;
}

function assemble(options: ChainOptions, shared: SharedCapacity): Parts {
  const validators = createValidators(options.validators);
  const perform = createPerformCall(options, validators);
  const cors = createCors(options.cors ?? { allowedOrigins: [] });
  const router = createRouter(options.operations);
  return {
    ...shared,
    cors,
    receive: createReceive(options, { router, cors, limits: shared.limits }),
    reader: {
      world: options.world,
      policy: options.bodyPolicy ?? bodyPolicy,
      messageBytesMax: options.messageBytesMax ?? null,
    },
    validators,
    perform,
    loads: new Map(
      Object.values(options.operations).map((entry) => [entry.id, options.overload?.loadOf(entry) ?? null]),
    ),
  };
}

function chargeOf(options: ChainOptions, { limits }: Parts, { exchange }: State): Charge {
  return (permits) =>
    limits.charge(exchange.entry?.rateClass ?? null, () => addressOf(options, exchange), permits);
}

async function serve(
  options: ChainOptions,
  parts: Parts,
  state: State,
  arrivedAt: number,
): Promise<RawResponse> {
  const request = weighedRequest(state.exchange.request, chargeOf(options, parts, state));
  const received = await parts.receive(state.exchange);
  if ('preflight' in received) return received.preflight;
  const { headers, match, query } = received;
  const { entry, route, params } = match;
  const load = parts.loads.get(entry.id) ?? null;
  if (load !== null) {
    const source = addressOf(options, state.exchange);
    const entered = parts.line.enter({ ...load, source, arrivedAt, signal: request.signal });
    state.slot = entered instanceof Promise ? await entered : entered;
  }
  const caller = await options.authenticator.authenticate(headers, entry);
  state.caller = caller;
  const callerName = caller.principal ?? addressOf(options, state.exchange);
  const flight = parts.bytes.open(callerName);
  state.flight = flight;
  const answer = await parts.perform({
    entry,
    route,
    params,
    caller,
    read: async (judge) => {
      const input = readQuery(route.query, query);
      const readFrom = (sent: RawRequest, judged?: Judge) =>
        readSentBody(parts.reader, sent, headers, match, { reserve: flight.take, judge: judged });
      // Workers under leases would be refused their renewals after large artifacts.
      const body = await (judge === undefined
        ? readFrom(request)
        : readFreeOfCharge(state.exchange.request, chargeOf(options, parts, state), judge, readFrom));
      state.streams = streamsOf(body);
      state.slot?.received();
      await parts.large.turnOf(callerName, entry.id);
      return { query: input, body };
    },
    context: {
      correlationId: state.correlationId,
      signal: request.signal,
      method: request.method,
      header: (name) => headers.get(name),
      fields: () => fieldsOf(request),
      settled: (end) => state.ends.push(end),
      hold: (bytes) => {
        flight.take(bytes);
        parts.large.spent(entry.id, bytes);
      },
      grow: flight.take,
      ...(request.draining === undefined ? {} : { draining: request.draining }),
    },
  });
  const check = options.validateResponses === true;
  const validator = check ? await parts.validators.response(entry, answer.status) : undefined;
  const turn = parts.large.turnOf(callerName, entry.id);
  if (turn !== null) await turn;
  // At once, so that no other request has the same turn.
  const response = writeAnswer(entry, answer, validator, selectionOf(request.method, headers));
  parts.large.spent(entry.id, holdAnswer(flight, entry, response));
  chargeDocument(response, chargeOf(options, parts, state));
  return response;
}

/**
 * From now on the request holds its answer alone. Only a read is refused for it: what a write did is done. Returns the bytes
 * that were written for it.
 */
function holdAnswer(flight: Flight, { mutation }: OperationEntry, { body, shared }: RawResponse): number {
  flight.release();
  if (shared === true) return 0;
  const bytes = typeof body === 'string' || body instanceof Uint8Array ? body.length : 0;
  if (mutation === 'read') flight.take(bytes);
  else flight.count(bytes);
  return bytes;
}

/** Adds the fields that every answer carries. */
function finish(cors: Cors, state: State, response: RawResponse): RawResponse {
  const { exchange, correlationId } = state;
  return {
    ...response,
    settled: () => {
      state.flight?.release();
      abandonStreams(state.streams);
      for (const end of state.ends.splice(0)) end();
    },
    headers: [
      ...fieldsOfEvery(correlationId, response),
      ...exchange.fields,
      ...(exchange.headers ? cors.headersFor(exchange.headers) : []),
      ...response.headers,
    ],
  };
}

function fieldsOfEvery(correlationId: string, { headers }: RawResponse): RawResponse['headers'] {
  const named = headers.some(([name]) => name.toLowerCase() === 'cache-control');
  return [
    [correlationHeader, correlationId],
    ...(named ? [] : [['Cache-Control', 'no-store'] as const]),
    ['X-Content-Type-Options', 'nosniff'],
  ];
}

function* fieldsOf({ rawHeaders }: RawRequest): Generator<readonly [string, string], void, undefined> {
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    yield [(rawHeaders[at] ?? '').toLowerCase(), rawHeaders[at + 1] ?? ''];
}

function rawField({ rawHeaders }: RequestHead, name: string): string | undefined {
  const at = rawHeaders.findIndex((field, index) => index % 2 === 0 && field.toLowerCase() === name);
  return at < 0 ? undefined : rawHeaders[at + 1];
}
