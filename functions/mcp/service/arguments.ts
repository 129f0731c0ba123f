import type { OperationEntry, OperationRoute } from '../../../contracts/operation.ts';
import type { InProcessInput } from '../../http/in-process.ts';
import type { ParameterValue } from '../../http/parameters.ts';
import type { JsonObject } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { JsonText } from '../../kernel/json-value-text.ts';
import { judgeOf } from '../../kernel/strict-json.ts';
import type { McpContext } from '../catalog.ts';
import { checkArguments } from './check-arguments.ts';
import { checkConditions, checkGroups } from './check-conditions.ts';
import { argumentPointer, mappedRequest, spelledRequest } from './mapped-request.ts';
import { INCLUDE_ARGUMENT, KEY_ARGUMENT, type ToolMap } from './tool-map.ts';

/** Converts arguments of a tool to the input of its operation. Parameters and body members are arguments of one level. */

/** The argument for the offset at which the part of a long answer begins. */
export const OFFSET_ARGUMENT = 'answerOffset';

/** The character at which the caller continues to read; `null` if the argument is absent. */
export function offsetOf(given: JsonObject): number | null {
  const offset = Object.hasOwn(given, OFFSET_ARGUMENT) ? given[OFFSET_ARGUMENT] : undefined;
  if (offset === undefined || offset === null) return null;
  if (typeof offset === 'number' && Number.isSafeInteger(offset) && offset >= 0) return offset;
  throw invalidMember(`/${OFFSET_ARGUMENT}`, 'must be a whole number from 0');
}

/** The schema of a tool, and its map. */
export interface MappedArguments {
  readonly map: ToolMap;
  /** With the whole schema of `advanced`. */
  readonly schema: JsonObject;
}

/**
 * The request of the operation. Throws in the names of the tool for arguments that its schema does not allow, and for numbers that a
 * double would change.
 */
export function mappedInputOf(
  entry: OperationEntry,
  { map, schema }: MappedArguments,
  given: JsonObject,
  { argumentsText, longNumbers }: Pick<McpContext, 'argumentsText' | 'longNumbers'>,
): InProcessInput {
  const [route] = entry.routes;
  const floats = floatsOf(entry, route).flatMap((pointer) => argumentPointer(map, pointer) ?? []);
  judgeOf(longNumbers, { floats })?.run(argumentsText());
  // The schema would refuse the members of a group in a group, and not say why.
  checkGroups(given);
  checkArguments(given, schema);
  checkConditions(given);
  const { body, ...input } = partsOf(entry, route, mappedRequest(map, given));
  if (entry.bodyLimitBytes === null) return input;
  if (entry.keepsText !== true) return { ...input, body };
  return { ...input, body: new JsonText(spelledRequest(map, argumentsText(), Object.keys(body))) };
}

/** The parts of the answer that the caller asks for. */
export function includeOf(given: JsonObject): readonly string[] {
  const include = Object.hasOwn(given, INCLUDE_ARGUMENT) ? given[INCLUDE_ARGUMENT] : [];
  return Array.isArray(include) ? include.map(String) : [];
}

interface RequestParts {
  readonly params: Record<string, string>;
  readonly query: Record<string, ParameterValue>;
  readonly headers: Record<string, string>;
  readonly body: Record<string, unknown>;
}

function partsOf(entry: OperationEntry, route: OperationRoute | undefined, sent: JsonObject): RequestParts {
  const params: Record<string, string> = {};
  const query: Record<string, ParameterValue> = {};
  const headers: Record<string, string> = {};
  const body: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(sent)) {
    if (isOf(route, 'path', name)) params[name] = textOf(name, value);
    else if (isOf(route, 'query', name)) query[name] = plainOf(name, value);
    else if (name === KEY_ARGUMENT && isKeyOfHeader(entry)) headers['idempotency-key'] = keyOf(value);
    else body[name] = value;
  }
  return { params, query, headers, body };
}

function floatsOf({ floats = [] }: OperationEntry, route: OperationRoute | undefined): readonly string[] {
  const ofQuery = route?.query.filter(({ type }) => type === 'number') ?? [];
  return [...floats, ...ofQuery.map(({ name }) => `/${name}`)];
}

function isOf(route: OperationRoute | undefined, place: 'path' | 'query', name: string): boolean {
  return route?.[place].some((parameter) => parameter.name === name) === true;
}

/** Whether the argument replaces the header `Idempotency-Key`, because the body has no member for the key. */
function isKeyOfHeader({ idempotency: { location } }: OperationEntry): boolean {
  return location?.in === 'header' && location.pointer === undefined;
}

function textOf(name: string, value: unknown): string {
  if (typeof value !== 'string') throw invalidMember(`/${name}`, 'must be of the type string');
  return value;
}

/** A blank header is an absent one, so a blank key would start the work again. */
function keyOf(value: unknown): string {
  const key = textOf(KEY_ARGUMENT, value);
  if (key.trim() === '') throw invalidMember(`/${KEY_ARGUMENT}`, 'must not be blank');
  return key;
}

function plainOf(name: string, value: unknown): ParameterValue {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  throw invalidMember(`/${name}`, 'must be a string, a number, true or false');
}
