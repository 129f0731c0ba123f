import type { Caller } from '../identity/caller.ts';
import { type Json, type JsonObject } from '../kernel/canonical-json.ts';
import { ServiceError } from '../kernel/errors.ts';
import { isJsonObject, type JsonMembers } from '../kernel/json-kinds.ts';
import { parseJson } from '../kernel/json-text.ts';
import { capabilitiesFor, demandCapabilities } from './capabilities.ts';
import type { InputRequired } from './catalog.ts';
import type { McpCall } from './envelope.ts';
import { invalidParams } from './errors.ts';
import type { McpExchange, McpParts } from './exchange.ts';

/** Rounds in which a call asks the client for input before its result. The server keeps no state between them. */

/** The answers and the state that the client sends with a repeated call. */
export interface Round {
  readonly inputResponses: Readonly<Record<string, JsonObject>>;
  readonly requestState: Json;
}

const rounds = new Set(['tools/call', 'resources/read', 'prompts/get']);

/** Throws for answers of a wrong type, and for a state that is unsigned, expired, or made for another call or caller. */
export async function readRound(parts: McpParts, call: McpCall, caller: Caller): Promise<Round> {
  if (!rounds.has(call.method)) return { inputResponses: {}, requestState: null };
  const { inputResponses, requestState } = call.params;
  return {
    inputResponses: inputResponses === undefined ? {} : readInputResponses(inputResponses),
    requestState: requestState === undefined ? null : await readState(parts, call, caller, requestState),
  };
}

export function readInputResponses(value: unknown): Readonly<Record<string, JsonObject>> {
  if (!isJsonObject(value) || !Object.values(value).every(isJsonObject))
    throw invalidParams('Invalid params: the input responses are not an object of objects');
  return value as Readonly<Record<string, JsonObject>>;
}

/** Whether the call repeats an earlier one. A cache must not store its answer. */
export function isRepeated({ params }: McpCall): boolean {
  return params['inputResponses'] !== undefined || params['requestState'] !== undefined;
}

async function readState(parts: McpParts, call: McpCall, caller: Caller, sent: unknown): Promise<Json> {
  const refused = invalidParams('Invalid params: the request state belongs to another call or has expired');
  if (typeof sent !== 'string') throw refused;
  const text = await parts.tokens.read(bindingOf(call, caller), sent).catch((error: unknown) => {
    throw error instanceof ServiceError ? refused : error;
  });
  const { expiresAt, state } = parseJson(text ?? '{}') as { expiresAt: number; state: Json };
  if (!(parts.clock.now() < expiresAt)) throw refused;
  return state;
}

/** A state is valid only for the caller and the call that it was made for. */
function bindingOf({ method, params }: McpCall, { kind, principal }: Caller): object {
  const { name = null, uri = null, arguments: given = {} } = params;
  return { mcp: 'requestState', method, name, uri, arguments: given, kind, principal };
}

/** The input requests as a result. Throws if the client lacks a capability to answer them. */
export async function inputRequiredResult(
  { parts, call, context }: McpExchange,
  { inputRequests, requestState }: InputRequired,
): Promise<JsonMembers> {
  demandCapabilities(capabilitiesFor(inputRequests ?? {}), context.capabilities);
  const sealed = { expiresAt: parts.clock.now() + parts.settings.requestStateMs, state: requestState };
  return {
    resultType: 'input_required',
    ...(inputRequests === undefined ? {} : { inputRequests }),
    ...(requestState === undefined
      ? {}
      : { requestState: await parts.tokens.issue(bindingOf(call, context.caller), JSON.stringify(sealed)) }),
  };
}
