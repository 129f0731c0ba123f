import type { OperationEntry } from '../../contracts/operation.ts';
import type { Validator } from '../../contracts/validator.ts';
import type { Authenticator } from '../identity/authenticator.ts';
import type { Authorizer } from '../identity/authorizer.ts';
import type { Caller } from '../identity/caller.ts';
import { ServiceError } from '../kernel/errors.ts';
import { describeFailure, type Log, type LogEvent } from '../kernel/log.ts';
import type { World } from '../kernel/world.ts';
import { describeStoreFailure } from '../store/describe-failure.ts';
import { type Answer, ContractViolationError, writeAnswer } from './answer.ts';
import { type BodyPolicy, bodyPolicy } from './body.ts';
import { correlationHeader, correlationIdOf } from './correlation.ts';
import { type Cors, type CorsSettings, createCors } from './cors.ts';
import type { CallContext } from './handler.ts';
import { type HeaderLimits, type Headers, headerLimits, readHeaders } from './headers.ts';
import { isLoopbackHost } from './loopback-host.ts';
import type { Chain, RawRequest, RawResponse } from './message.ts';
import { type InputReader, readInput } from './operation-input.ts';
import { splitTarget } from './path.ts';
import { problemOf } from './problem.ts';
import { createRateLimiter, type RateLimiter, type RateLimitSettings } from './rate-limit.ts';
import { createRouter, methodNotAllowed, type RouteMatch } from './router.ts';
import { sourceAddress } from './source-address.ts';

/** The checks of one group of operations, as `contracts/generated/validators` exports them. */
export interface GroupValidators {
  /** By operation id. */
  readonly requestValidators: Readonly<Record<string, Validator>>;
  /** By operation id, colon, status. */
  readonly responseValidators: Readonly<Record<string, Validator>>;
}

/** The handlers of all groups by operation id; `GroupHandlers` checks each group's against the contract. */
export type HandlerMap = Readonly<Record<string, (input: never, context: CallContext) => Promise<Answer>>>;

export interface ChainOptions {
  /** The operations to serve. One without a handler is a fault of the composition, found when the chain is made. */
  readonly operations: Readonly<Record<string, OperationEntry>>;
  readonly handlers: HandlerMap;
  /** By group; loaded with the group's first request, so that a function loads its own only. */
  readonly validators: Readonly<Record<string, () => Promise<GroupValidators>>>;
  readonly world: Pick<World, 'clock' | 'random' | 'timers'>;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly log: Log;
  /** The limit of the canonical routes; `null` for none. */
  readonly rateLimit: RateLimitSettings | null;
  readonly trustedProxyHops?: number;
  readonly cors?: CorsSettings;
  readonly headerLimits?: HeaderLimits;
  /** Refuses whoever calls this machine by another name, where reaching it is all that a caller needs. */
  readonly loopbackHostsOnly?: boolean;
  /** Header fields that may occur once beside the known ones, in lower case: a configured API key header. */
  readonly singleHeaders?: readonly string[];
  readonly bodyPolicy?: BodyPolicy;
  /** The largest request body that the platform in front carries, where that is less than an operation allows. */
  readonly messageBytesMax?: number | null;
  /** Holds every answer against its model: for tests and Development. */
  readonly validateResponses?: boolean;
}

/** The class of operations that the rate limit counts. */
const limitedClass = 'canonical-policy';

/** What every request goes through. Each step can only refuse, and nothing that comes later runs before it. */
export function createChain(options: ChainOptions): Chain {
  const parts = assemble(options);
  return async (request) => {
    const arrivedAt = options.world.clock.now();
    const call: Call = {
      request,
      arrivedAt,
      correlationId: '',
      headers: null,
      extra: [],
      entry: null,
      caller: null,
    };
    let response: RawResponse;
    let failure: Failure | null = null;
    try {
      call.correlationId = correlationIdOf(rawField(request, 'x-correlation-id'), options.world.random);
      response = await serve(options, parts, call);
    } catch (error) {
      const problem = problemOf(error, call.correlationId);
      failure = { code: problem.code, unexpected: problem.unexpected, error };
      ({ response } = problem);
    }
    report(options, call, response, failure);
    return finish(parts.cors, call, response);
  };
}

interface Parts {
  readonly router: ReturnType<typeof createRouter>;
  readonly cors: Cors;
  readonly limiter: RateLimiter | null;
  readonly limitedPaths: ReadonlySet<string>;
  readonly reader: InputReader;
  readonly validatorsOf: (group: string) => Promise<GroupValidators | undefined>;
}

/** What becomes known of a request on its way. */
interface Call {
  readonly request: RawRequest;
  readonly arrivedAt: number;
  correlationId: string;
  headers: Headers | null;
  entry: OperationEntry | null;
  caller: Caller | null;
  readonly extra: (readonly [string, string])[];
}

function assemble(options: ChainOptions): Parts {
  const entries = Object.values(options.operations);
  for (const { id } of entries)
    if (!Object.hasOwn(options.handlers, id)) throw new Error(`no handler serves ${id}`);
  const loaded = new Map<string, Promise<GroupValidators>>();
  const validatorsOf = async (group: string): Promise<GroupValidators | undefined> => {
    const load = options.validators[group];
    if (!load) return undefined;
    const validators = loaded.get(group) ?? load();
    loaded.set(group, validators);
    return validators;
  };
  return {
    router: createRouter(options.operations),
    cors: createCors(options.cors ?? { allowedOrigins: [] }),
    limiter: options.rateLimit && createRateLimiter('canonical', options.rateLimit, options.world),
    limitedPaths: limitedPaths(entries),
    reader: {
      timers: options.world.timers,
      bodyPolicy: options.bodyPolicy ?? bodyPolicy,
      messageBytesMax: options.messageBytesMax ?? null,
      async validatorFor({ entry }) {
        if (entry.requestSchema === null) return undefined;
        const validator = (await validatorsOf(entry.group))?.requestValidators[entry.id];
        // Letting a body pass unchecked would be worse than not serving it.
        if (!validator) throw new ContractViolationError(entry.id, 'no validator');
        return validator;
      },
    },
    validatorsOf,
  };
}

async function serve(options: ChainOptions, parts: Parts, call: Call): Promise<RawResponse> {
  const { request } = call;
  const headers = readHeaders(
    request.rawHeaders,
    options.headerLimits ?? headerLimits,
    options.singleHeaders,
  );
  call.headers = headers;
  const preflight = parts.cors.preflight(request.method, headers);
  if (preflight) {
    // Counted like the request that it announces: it costs less, but it is answered before anybody is known.
    await limit(options, parts, call, headers, request.target.split('?', 1).join(''));
    return preflight;
  }
  if (request.httpVersion === '1.1' && headers.get('host') === undefined) {
    throw new ServiceError('malformed_request', 'The request has no Host header.');
  }
  if (!request.target.startsWith('/') && (request.method === 'CONNECT' || request.method === 'OPTIONS')) {
    // Their targets (`host:port`, `*`) are no paths.
    throw methodNotAllowed(parts.router.methods);
  }
  const target = splitTarget(request.target);
  const matched = attempt(() => parts.router.match(request.method, target.path));
  call.entry = 'value' in matched ? matched.value.entry : null;
  await limit(options, parts, call, headers, target.path);
  // Told after the limit has counted the request: guessing at routes is not free.
  if ('error' in matched) throw matched.error;
  const match = matched.value;
  if (options.loopbackHostsOnly === true) requireLoopbackHost(match.entry, headers);
  const caller = await options.authenticator.authenticate(headers, match.entry);
  call.caller = caller;
  const { tenantId } = match.params;
  const now = options.world.clock.now();
  options.authorizer.authorize(caller, match.entry, { ...(tenantId === undefined ? {} : { tenantId }), now });
  const input = await readInput(parts.reader, request, headers, match, target.query);
  const answer = await handlerOf(options, match)(input as never, {
    caller,
    correlationId: call.correlationId,
    // Not when its first byte came: who sends slowly must not act in the past, on a lease that has expired since.
    now: options.world.clock.now(),
    signal: request.signal,
    header: (name) => headers.get(name),
    ...(request.draining === undefined ? {} : { draining: request.draining }),
  });
  const checks = options.validateResponses === true ? await parts.validatorsOf(match.entry.group) : undefined;
  return writeAnswer(match.entry, answer, checks?.responseValidators[`${match.entry.id}:${answer.status}`]);
}

/** What is open to everybody may be asked under any name: health checks come by addresses of containers. */
function requireLoopbackHost({ authorizationClass }: OperationEntry, headers: Headers): void {
  // Only a client of HTTP/1.0 comes without one, and no browser is one.
  const host = headers.get('host');
  if (authorizationClass === 'anonymous' || host === undefined || isLoopbackHost(host)) return;
  throw new ServiceError(
    'permission_denied',
    'Development is open to this machine only: call it as localhost, or set Server:AllowRemoteDevelopment to true.',
  );
}

async function limit(
  options: ChainOptions,
  parts: Parts,
  call: Call,
  headers: Headers,
  path: string,
): Promise<void> {
  if (!parts.limiter) return;
  const first = path.split('/', 2)[1] ?? '';
  if (call.entry?.authorizationClass !== limitedClass && !parts.limitedPaths.has(first)) return;
  const address = addressOf(options, call.request, headers);
  // Kept for the answer also where the permit is refused.
  await parts.limiter.acquire(address, call.request.signal, (fields) => call.extra.push(...fields));
}

/** Without readable headers it is the other end of the connection, which may be a proxy. */
function addressOf(
  { trustedProxyHops = 0 }: ChainOptions,
  request: RawRequest,
  headers: Headers | null,
): string {
  return sourceAddress(request.socketAddress, headers?.get('x-forwarded-for'), trustedProxyHops);
}

function handlerOf(options: ChainOptions, { entry }: RouteMatch): HandlerMap[string] {
  const handler = options.handlers[entry.id];
  if (!handler) throw new Error(`no handler serves ${entry.id}`);
  return handler;
}

/** The fields that every answer carries. */
function finish(cors: Cors, call: Call, response: RawResponse): RawResponse {
  return {
    ...response,
    headers: [
      [correlationHeader, call.correlationId],
      ...(response.headers.some(([name]) => name.toLowerCase() === 'cache-control')
        ? []
        : [['Cache-Control', 'no-store'] as const]),
      ['X-Content-Type-Options', 'nosniff'],
      ...call.extra,
      ...(call.headers ? cors.headersFor(call.headers) : []),
      ...response.headers,
    ],
  };
}

interface Failure {
  readonly code: string;
  readonly unexpected: boolean;
  readonly error: unknown;
}

function report(options: ChainOptions, call: Call, { status }: RawResponse, failure: Failure | null): void {
  // What breaks off because nobody waits for it any more is no fault.
  const gone = call.request.signal.aborted;
  const unexpected = failure?.unexpected === true && !gone;
  const reason = unexpected ? failureText(failure?.error) : describeStoreFailure(failure?.error);
  options.log({
    severity: gone ? 'INFO' : status >= 500 ? 'ERROR' : status >= 400 ? 'WARNING' : 'INFO',
    message: gone ? 'the caller has gone' : unexpected ? 'a request failed' : 'a request was answered',
    // A method that no operation has is the caller's own word.
    ...(call.entry ? { operation: call.entry.id, method: call.request.method } : {}),
    status,
    ...(failure ? { code: failure.code } : {}),
    durationMs: options.world.clock.now() - call.arrivedAt,
    correlationId: call.correlationId,
    ...audit(options, call),
    ...(reason === undefined ? {} : { failure: reason }),
  });
}

/** Who called, and from where: a stolen token is noticed by the address that it is used from, and guessing by its own. */
function audit(options: ChainOptions, { caller, headers, request }: Call): Partial<LogEvent> {
  const principal = caller?.principal ?? null;
  return {
    ...(principal === null ? {} : { principal }),
    sourceAddress: addressOf(options, request, headers),
  };
}

/** Which rule of our own contract an answer broke holds no value, so it may be told whole. */
function failureText(error: unknown): string {
  const described = describeFailure(error);
  return error instanceof ContractViolationError ? `${error.message}\n${described}` : described;
}

/** The first path segments under which operations are limited: paths there that do not exist are limited as well. */
function limitedPaths(entries: readonly OperationEntry[]): ReadonlySet<string> {
  const limited = new Set<string>();
  for (const { authorizationClass, routes } of entries) {
    if (authorizationClass !== limitedClass) continue;
    for (const { segments } of routes)
      if (segments[0] && 'literal' in segments[0]) limited.add(segments[0].literal);
  }
  return limited;
}

function rawField(request: RawRequest, name: string): string | undefined {
  const at = request.rawHeaders.findIndex((field, index) => index % 2 === 0 && field.toLowerCase() === name);
  return at < 0 ? undefined : request.rawHeaders[at + 1];
}

function attempt<T>(action: () => T): { readonly value: T } | { readonly error: unknown } {
  try {
    return { value: action() };
  } catch (error) {
    return { error };
  }
}
