import type { ProblemCode } from '../../contracts/generated/errors.ts';
import type { Validator } from '../../contracts/validator.ts';
import type { Json, JsonObject } from '../kernel/canonical-json.ts';
import { invalidMember, ServiceError } from '../kernel/errors.ts';
import type { Timers } from '../kernel/world.ts';
import { type BodyPolicy, readBody, refuseBody } from './body.ts';
import { framingOf, type Headers, requireJson } from './headers.ts';
import type { RawRequest } from './message.ts';
import { checkPathParameters, type ParameterValue, readQuery } from './parameters.ts';
import { schemaRefusal } from './problem.ts';
import type { RouteMatch } from './router.ts';
import { parseStrictJson } from './strict-json.ts';

/** What a handler is given: everything read, checked and complete. */
export interface CheckedInput {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, ParameterValue>>;
  readonly body: Json;
}

export interface InputReader {
  readonly timers: Timers;
  readonly bodyPolicy: BodyPolicy;
  /** What the platform in front carries, in bytes; `null` for no bound. */
  readonly messageBytesMax: number | null;
  /** The check of the operation's request model. */
  validatorFor(match: RouteMatch): Promise<Validator | undefined>;
}

/** Reads the parameters and the body of a request whose caller is known and allowed. */
export async function readInput(
  reader: InputReader,
  request: RawRequest,
  headers: Headers,
  match: RouteMatch,
  rawQuery: string,
): Promise<CheckedInput> {
  const { entry, route, params } = match;
  checkPathParameters(route.path, params);
  const query = readQuery(route.query, rawQuery);
  if (entry.bodyLimitBytes === null || route.bodyFromParameters) {
    await refuseBody(request, framingOf(headers), reader.timers);
    if (entry.bodyLimitBytes === null) return { params, query, body: null };
    const given: Readonly<Record<string, ParameterValue>> = { ...params, ...query };
    const members = Object.entries(given).filter(([name]) => route.bodyMembers.includes(name));
    return { params, query: {}, body: await checked(reader, match, Object.fromEntries(members), headers) };
  }
  const sent = await readJson(reader, request, headers, match, entry.bodyLimitBytes);
  return { params, query, body: await checked(reader, match, sent, headers) };
}

async function readJson(
  reader: InputReader,
  request: RawRequest,
  headers: Headers,
  match: RouteMatch,
  limitBytes: number,
): Promise<Json> {
  const framing = framingOf(headers);
  if (framing.length === 0) {
    // Where every member is optional, leaving all of them out needs no braces.
    if ((await reader.validatorFor(match))?.({}) === true) return {};
    throw new ServiceError('malformed_request', 'The operation needs a JSON body.');
  }
  requireJson(headers);
  const most = Math.min(limitBytes, reader.messageBytesMax ?? limitBytes);
  const bytes = await readBody(request, framing, most, reader.timers, reader.bodyPolicy).catch(
    (error: unknown) => {
      throw refusalOf(error, match, most);
    },
  );
  return parseStrictJson(bytes, match.entry.json);
}

/** Where the contract knows what to do with a body that is too large, its sender is told. */
function refusalOf(error: unknown, { entry }: RouteMatch, limitBytes: number): unknown {
  const { overLimit } = entry;
  const tooLarge = error instanceof ServiceError && error.code === 'payload_too_large';
  if (!tooLarge || overLimit === undefined) return error;
  const detail = `The request body is larger than ${limitBytes} bytes. ${overLimit.advice}`;
  return new ServiceError(overLimit.problem as ProblemCode, detail);
}

async function checked(reader: InputReader, match: RouteMatch, sent: Json, headers: Headers): Promise<Json> {
  const body = withIdempotencyKey(sent, match, headers);
  const validator = await reader.validatorFor(match);
  if (validator && !validator(body)) throw schemaRefusal(validator.errors);
  return withRouteMembers(body, match.params);
}

/** The draft header Idempotency-Key says the same as the member of the body, and may stand in for it. */
function withIdempotencyKey(body: Json, { entry, route }: RouteMatch, headers: Headers): Json {
  const { location } = entry.idempotency;
  if (location?.pointer === undefined || route.bodyFromParameters || !isObject(body)) return body;
  const names = location.in === 'header' ? [location.name, ...(location.aliases ?? [])] : ['Idempotency-Key'];
  const header = names.map((name) => headers.get(name.toLowerCase())).find((value) => value !== undefined);
  if (header === undefined) return body;
  // The draft writes a structured-field string; bare text is what most clients send.
  const key = /^"([\x20-\x21\x23-\x5b\x5d-\x7e]{1,255})"$/.exec(header)?.[1] ?? header;
  if (!/^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/.test(key)) {
    throw new ServiceError(
      'malformed_request',
      'The Idempotency-Key is not 1 to 255 visible ASCII characters.',
    );
  }
  const member = location.pointer.slice(1);
  const written = body[member];
  if (written === undefined || written === null) return { ...body, [member]: key };
  const said = typeof written === 'string' ? written.trim() : written;
  if (said !== key) throw invalidMember(location.pointer, 'must equal the header Idempotency-Key.');
  return body;
}

/** What the route says the body may repeat, and must not contradict. */
function withRouteMembers(body: Json, params: Readonly<Record<string, string>>): Json {
  if (!isObject(body)) return body;
  const filled: Record<string, Json> = { ...body };
  for (const name of ['tenantId', 'eventId']) {
    const value = params[name];
    if (value === undefined) continue;
    const written = body[name];
    if (typeof written === 'string' && written.trim() !== value) {
      throw invalidMember(`/${name}`, 'must be the one of the route.', 'tenant_mismatch');
    }
    filled[name] = value;
  }
  return filled;
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
