import type { Caller } from '../identity/caller.ts';
import { type LeaveIn, writeAnswer } from './answer.ts';
import type { Judge } from './body.ts';
import { type BodyReader, readSentBody } from './body-reader.ts';
import { bodyPolicy } from './body-time.ts';
import { selectionOf } from './byte-answer.ts';
import { abandonStreams, streamsOf } from './byte-stream.ts';
import { createPerformCall, type PerformCall } from './call.ts';
import type { RequestLoad } from './class-line.ts';
import { correlationHeader, correlationIdOf } from './correlation.ts';
import { type Cors, createCors } from './cors.ts';
import type { Chain, RawRequest, RawResponse, RequestHead } from './message.ts';
import type { ChainOptions } from './options.ts';
import { problemOf } from './problem.ts';
import { addressOf, createReceive, type Receive, type RequestFacts } from './receive.ts';
import { RequestBooks } from './request-books.ts';
import { type AnsweredRequest, logRequest, type RequestFailure } from './request-log.ts';
import { createRouter } from './router.ts';
import { createSharedCapacity, type SharedCapacity } from './shared-capacity.ts';
import { sourceAddress } from './source-address.ts';
import { sentTrace } from './trace-context.ts';
import { createValidators, type Validators } from './validators.ts';
import { chargeDocument, readFreeOfCharge, weighedRequest } from './weighed.ts';

export type { ChainOptions, HandlerMap } from './options.ts';

/** The path of every request: receive, call, answer. Each step can refuse the request, and then no later step runs. */
export function createChain(options: ChainOptions, shared = createSharedCapacity(options)): Chain {
  const parts = assemble(options, shared);
  return Object.assign(createServe(options, parts), { refuseEarly: createRefuseEarly(options, parts) });
}

/** Refuses early only requests without an Origin: for these no other header decides who may read the answer. */
function createRefuseEarly(options: ChainOptions, { line }: Parts): NonNullable<Chain['refuseEarly']> {
  return (head) => {
    if (!line.mayRefuse('usual') || options.overload?.mayBeServedFirst(head.target) !== false) return null;
    if (rawField(head, 'origin') !== undefined || !head.isSmall()) return null;
    const { trustedProxyHops = 0 } = options;
    const forwarded = trustedProxyHops > 0 ? joinedField(head, 'x-forwarded-for') : undefined;
    const refusal = line.refusalFor('usual', sourceAddress(head.socketAddress, forwarded, trustedProxyHops));
    if (refusal === null) return null;
    const correlationId = correlationIdOf(rawField(head, 'x-correlation-id'), options.world.random);
    const { response } = problemOf(refusal, correlationId, sentTrace(head)?.traceId);
    return { ...response, headers: [...fieldsOfEvery(correlationId, response), ...response.headers] };
  };
}

function createServe(options: ChainOptions, parts: Parts): (request: RawRequest) => Promise<RawResponse> {
  return async (request) => {
    const exchange: RequestFacts = { request, headers: null, entry: null, fields: [] };
    const state: State = {
      exchange,
      arrivedAt: options.world.clock.now(),
      correlationId: '',
      trace: sentTrace(request),
      caller: null,
      books: new RequestBooks(parts, () => addressOf(options, exchange), request.signal),
      streams: [],
      ends: [],
    };
    let response: RawResponse;
    let failure: RequestFailure | null = null;
    try {
      state.correlationId = correlationIdOf(rawField(request, 'x-correlation-id'), options.world.random);
      response = await serve(options, parts, state);
    } catch (error) {
      options.sawFailure?.(error);
      const problem = problemOf(error, state.correlationId, state.trace?.traceId);
      state.books.release();
      state.books.chargeRefusal(error);
      failure = { code: problem.code, unexpected: problem.unexpected, error };
      ({ response } = problem);
    }
    state.books.leave();
    // The overload log has one line for the start and one for the end: a line for each refusal would cost more than the
    // refusal.
    if (failure?.code !== 'overloaded') logRequest(options, state, response, failure);
    return finish(parts.cors, state, response);
  };
}

/** Indexes of the items of a list that break its model, from 0; only where answers are checked. */
const FAULTY_ITEMS = 'Svc-Faulty-Items';

/** The state of one request on its way through the chain. */
interface State extends AnsweredRequest {
  correlationId: string;
  caller: Caller | null;
  readonly books: RequestBooks;
  streams: readonly object[];
  /** Functions of handlers that run when the answer is released. */
  readonly ends: (() => void)[];
}

interface Parts extends SharedCapacity {
  readonly cors: Cors;
  readonly receive: Receive;
  readonly reader: BodyReader;
  readonly validators: Validators;
  readonly perform: PerformCall;
  /** By operation; of those that are always served, `null`. */
  readonly loads: ReadonlyMap<string, RequestLoad | null>;
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

async function serve(options: ChainOptions, parts: Parts, state: State): Promise<RawResponse> {
  const { books } = state;
  const request = weighedRequest(state.exchange.request, books.charge);
  const received = await parts.receive(state.exchange);
  if ('preflight' in received) return received.preflight;
  const { headers, match, query } = received;
  const { entry, route, params } = match;
  books.rateClass = entry.rateClass;
  const load = parts.loads.get(entry.id) ?? null;
  const entered = load === null ? undefined : books.enter(load);
  if (entered !== undefined) await entered;
  const caller = await options.authenticator.authenticate(headers, entry);
  state.caller = caller;
  books.open(caller.principal);
  const answer = await parts.perform({
    entry,
    route,
    params,
    query,
    caller,
    read: async (judge) => {
      const readFrom = (sent: RawRequest, judged?: Judge) =>
        readSentBody(parts.reader, sent, headers, match, { reserve: books.take, judge: judged });
      // Workers under leases would be refused their renewals after large artifacts.
      const body = await (judge === undefined
        ? readFrom(request)
        : readFreeOfCharge(state.exchange.request, books.charge, judge, readFrom));
      state.streams = streamsOf(body);
      const again = books.received();
      if (again !== undefined) await again;
      const turn = books.turnOf(entry.id);
      if (turn !== null) await turn;
      return body;
    },
    context: {
      correlationId: state.correlationId,
      trace: state.trace,
      signal: request.signal,
      method: request.method,
      header: (name) => headers.get(name),
      fields: () => fieldsOf(request),
      settled: (end) => state.ends.push(end),
      ...books.holdsOf(entry.id),
      aside: books.aside,
      crowded: books.crowded,
      ...(request.draining === undefined ? {} : { draining: request.draining }),
    },
  });
  const check = options.validateResponses === true;
  const validator = check ? await parts.validators.response(entry, answer.status) : undefined;
  const turn = books.turnOf(entry.id);
  if (turn !== null) await turn;
  // At once, so that no other request has the same turn.
  const selection = selectionOf(request.method, (name) => headers.get(name));
  const faulty = entry.mutation === 'read' ? faultyLog(options, state, entry.id) : undefined;
  const response = writeAnswer(entry, answer, validator, selection, faulty);
  books.spent(entry.id, books.holdAnswer(response, entry.mutation === 'read'));
  chargeDocument(response, books.charge);
  return response;
}

/** Names the items that break the model of their list: in the log, and in a field of the answer. */
function faultyLog(
  { log }: ChainOptions,
  { correlationId, trace, exchange }: State,
  operation: string,
): LeaveIn {
  return (items) => {
    const named = items.map(
      ({ index, id, rule }) => `item ${index}${id === null ? '' : ` (${id})`}: ${rule}`,
    );
    const message = 'items of a list break their model; they are answered as they are';
    log({
      severity: 'ERROR',
      message,
      operation,
      correlationId,
      trace,
      count: items.length,
      failure: named.join('\n'),
    });
    exchange.fields.push([FAULTY_ITEMS, items.map(({ index }) => index).join(', ')]);
  };
}

/** Adds the fields that every answer carries. */
function finish(cors: Cors, state: State, response: RawResponse): RawResponse {
  const { exchange, correlationId } = state;
  return {
    ...response,
    settled: () => {
      state.books.release();
      abandonStreams(state.streams);
      for (const end of state.ends.splice(0)) end();
    },
    headers: [
      ...fieldsOfEvery(correlationId, response),
      ...exchange.fields,
      ...cors.answered(exchange.headers, response.headers),
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

/** A field that was sent several times is one list. */
function joinedField({ rawHeaders }: RequestHead, name: string): string | undefined {
  const values = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
  return values.length === 0 ? undefined : values.join(',');
}

function rawField({ rawHeaders }: Pick<RequestHead, 'rawHeaders'>, name: string): string | undefined {
  const at = rawHeaders.findIndex((field, index) => index % 2 === 0 && field.toLowerCase() === name);
  return at < 0 ? undefined : rawHeaders[at + 1];
}
