import type { JsonObject } from '../kernel/canonical-json.ts';
import { isJsonObject, type JsonMembers } from '../kernel/json-kinds.ts';
import { headerMismatch } from './errors.ts';
import type { FieldValue, MirrorFields } from './header-fields.ts';

const KEYWORD = 'x-mcp-header';
const types = new Set<unknown>(['string', 'integer', 'boolean']);

/** An argument of a tool that the client repeats in the header `Mcp-Param-<name>`. */
interface ParameterHeader {
  readonly name: string;
  /** Names of members, from the arguments to the value. */
  readonly path: readonly string[];
}

export interface ParameterHeaders {
  readonly headers: readonly ParameterHeader[];
  /** Violations of the rules of the keyword, a sentence each. */
  readonly faults: readonly string[];
}

const known = new WeakMap<JsonObject, ParameterHeaders>();

/** The arguments that `inputSchema` marks, found through `properties` only. Computed once for each schema. */
export function parameterHeadersOf(inputSchema: JsonObject): ParameterHeaders {
  const found = known.get(inputSchema) ?? markedIn(inputSchema);
  known.set(inputSchema, found);
  return found;
}

function markedIn(inputSchema: JsonObject): ParameterHeaders {
  const headers: ParameterHeader[] = [];
  const faults: string[] = [];
  const visit = (schema: unknown, path: readonly string[]): void => {
    if (!isJsonObject(schema)) return;
    if (Object.hasOwn(schema, KEYWORD)) {
      const fault = path.length === 0 ? 'stands at the root' : faultOf(schema, headers);
      if (fault === null) headers.push({ name: String(schema[KEYWORD]), path });
      else faults.push(`${KEYWORD} at /${path.join('/')} ${fault}`);
    }
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword !== 'properties' || !isJsonObject(value)) faults.push(...misplaced(value, path));
      else for (const [name, property] of Object.entries(value)) visit(property, [...path, name]);
    }
  };
  visit(inputSchema, []);
  return { headers, faults };
}

function faultOf(schema: JsonMembers, before: readonly ParameterHeader[]): string | null {
  const name = schema[KEYWORD];
  // The characters of a token (RFC 9110 section 5.6.2).
  if (typeof name !== 'string' || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return 'is no field name';
  if (!types.has(schema['type'])) return 'marks a type other than string, integer and boolean';
  if (before.some((other) => other.name.toLowerCase() === name.toLowerCase())) return 'repeats a name';
  return null;
}

/** Finds marks below other keywords, where a client cannot know which value to repeat. */
function misplaced(value: unknown, path: readonly string[]): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = isJsonObject(value) && Object.hasOwn(value, KEYWORD);
  const below = Object.values(value).flatMap((each) => misplaced(each, path));
  return own ? [`${KEYWORD} below /${path.join('/')} is not reached through properties`, ...below] : below;
}

/**
 * Throws if a marked argument and its header differ, or if one of them is absent. `mayLack`: clients of older revisions do not send
 * the headers.
 */
export function checkParameterHeaders(
  headers: readonly ParameterHeader[],
  toolArguments: JsonObject,
  fields: MirrorFields,
  mayLack: boolean,
): void {
  for (const { name, path } of headers) {
    const header = `Mcp-Param-${name}`;
    const field = fields.encoded(header);
    if (mayLack && field === 'absent') continue;
    if (!agrees(valueAtPath(toolArguments, path), field))
      throw headerMismatch(header, field, `the argument ${path.join('.')}`);
  }
}

function valueAtPath(toolArguments: JsonObject, path: readonly string[]): unknown {
  let value: unknown = toolArguments;
  for (const name of path)
    value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

function agrees(value: unknown, field: FieldValue): boolean {
  if (value === undefined || value === null) return field === 'absent';
  if (typeof field === 'string') return false;
  if (typeof value === 'number')
    return /^-?\d+(?:\.\d+)?$/.test(field.value) && Number(field.value) === value;
  return (typeof value === 'string' || typeof value === 'boolean') && String(value) === field.value;
}
