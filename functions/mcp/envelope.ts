import { traceOf } from '../http/trace-context.ts';
import { ServiceError } from '../kernel/errors.ts';
import { isJsonObject, type JsonMembers } from '../kernel/json-kinds.ts';
import { compactJson, membersOf } from '../kernel/json-slices.ts';
import type { TraceContext } from '../kernel/log.ts';
import {
  type JsonMeasure,
  type LongNumbers,
  parseStrictJson,
  type StrictJsonLimits,
  textOf,
} from '../kernel/strict-json.ts';
import { ErrorCode, invalidMeta, McpError } from './errors.ts';

export type RequestId = string | number;

/** A JSON-RPC request whose parameters are not checked yet. */
export interface McpCall {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonMembers;
  /** The arguments as compact JSON in the spelling of the body. Computed on demand. */
  readonly argumentsText: () => string;
  /** The numbers of the message that a double may change. Those in the arguments are not checked yet. */
  readonly longNumbers: LongNumbers;
}

/** One message of a body: a request, a notification, or a refusal, with the id if it was readable. */
export type ReadMessage =
  | { readonly kind: 'call'; readonly call: McpCall }
  | { readonly kind: 'notification'; readonly notification: Pick<McpCall, 'method' | 'params'> }
  | { readonly kind: 'refusal'; readonly id: RequestId | undefined; readonly error: McpError };

/** The parser skips numbers of the arguments: the tool knows which arguments are floats, and its refusal names the pointer. */
const OF_ARGUMENTS = ['/params/arguments/**'];

/** Reads the only JSON-RPC message of a body (JSON-RPC 2.0 section 4). Refuses a list of messages. */
export function readMessage(body: Uint8Array, limits: StrictJsonLimits): ReadMessage {
  let value: unknown;
  let longNumbers: LongNumbers = { hasLongNumber: false, hasChangedInteger: false, hasOverflow: false };
  const measured = (counts: JsonMeasure): void => {
    longNumbers = counts;
    limits.measured?.(counts);
  };
  try {
    value = parseStrictJson(body, { ...limits, unjudged: OF_ARGUMENTS, measured });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return refusal(undefined, new McpError(ErrorCode.parse, `Parse error: ${error.message}`));
  }
  if (Array.isArray(value))
    return refusal(undefined, invalidRequest('batches are not served; send each message in its own request'));
  if (!isJsonObject(value)) return refusal(undefined, invalidRequest('the body is not one message'));
  const { jsonrpc, id, method, params = {} } = value;
  const isNotification = !Object.hasOwn(value, 'id');
  const known = isRequestId(id) ? id : undefined;
  if (!isNotification && known === undefined)
    return refusal(undefined, invalidRequest('the id is neither a string nor an integer'));
  if (jsonrpc !== '2.0') return refusal(known, invalidRequest('jsonrpc is not 2.0'));
  if (typeof method !== 'string') return refusal(known, invalidRequest('the method is not a string'));
  if (!isJsonObject(params)) return refusal(known, invalidRequest('the params are not an object'));
  if (known === undefined) return { kind: 'notification', notification: { method, params } };
  const argumentsText = (): string => argumentsOf(textOf(body));
  return { kind: 'call', call: { id: known, method, params, argumentsText, longNumbers } };
}

function argumentsOf(message: string): string {
  return memberOf(memberOf(compactJson(message), 'params'), 'arguments');
}

/** The JSON text of a member that is an object; `{}` without such a member. */
function memberOf(object: string, wanted: string): string {
  return membersOf(object).find(({ name }) => name === wanted)?.value ?? '{}';
}

function refusal(id: RequestId | undefined, error: McpError): ReadMessage {
  return { kind: 'refusal', id, error };
}

function invalidRequest(detail: string): McpError {
  return new McpError(ErrorCode.invalidRequest, `Invalid request: ${detail}`);
}

function isRequestId(id: unknown): id is RequestId {
  return typeof id === 'string' || Number.isSafeInteger(id);
}

const prefix = 'io.modelcontextprotocol/';
export const SERVER_INFO = `${prefix}serverInfo`;
export const SUBSCRIPTION_ID = `${prefix}subscriptionId`;
const VERSION = `${prefix}protocolVersion`;

/** The members of `_meta` that the endpoint reads. It ignores all others. */
export interface RequestMeta {
  readonly capabilities: JsonMembers;
  readonly progressToken: string | number | undefined;
}

/** The protocol version in the body; `undefined` if the body names none. */
export function versionOf({ params }: McpCall): string | undefined {
  const meta = params['_meta'];
  if (!isJsonObject(meta) || !Object.hasOwn(meta, VERSION)) return undefined;
  const version = meta[VERSION];
  if (typeof version !== 'string') throw invalidMeta('Invalid _meta: the protocol version is not a string');
  return version;
}

/** The trace in the body; `undefined` also for an invalid one. */
export function traceIn({ params }: McpCall): TraceContext | undefined {
  const meta = params['_meta'];
  return isJsonObject(meta) ? traceOf(meta['traceparent']) : undefined;
}

const logLevels = new Set(['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']);

export function readMeta({ params }: McpCall): RequestMeta {
  const meta = params['_meta'];
  if (!isJsonObject(meta)) throw invalidMeta('Invalid _meta: it is missing');
  const capabilities = meta[`${prefix}clientCapabilities`];
  if (!isJsonObject(capabilities)) throw invalidMeta('Invalid _meta: the client capabilities are missing');
  const client = meta[`${prefix}clientInfo`];
  if (client !== undefined && !isImplementation(client))
    throw invalidMeta('Invalid _meta: the client info has no name or no version');
  const logLevel = meta[`${prefix}logLevel`];
  if (logLevel !== undefined && !(typeof logLevel === 'string' && logLevels.has(logLevel)))
    throw invalidMeta('Invalid _meta: the log level is unknown');
  return { capabilities, progressToken: progressTokenOf(meta) };
}

/** Throws for a token of another type. */
export function progressTokenOf({ progressToken }: JsonMembers): RequestMeta['progressToken'] {
  if (progressToken === undefined || typeof progressToken === 'string' || typeof progressToken === 'number')
    return progressToken;
  throw invalidMeta('Invalid _meta: the progress token is neither a string nor a number');
}

/** Whether the value names a client. */
export function isImplementation(value: unknown): boolean {
  return isJsonObject(value) && typeof value['name'] === 'string' && typeof value['version'] === 'string';
}
