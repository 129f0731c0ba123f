import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { type ProblemDetail, pointerTo, ServiceError } from '../../kernel/errors.ts';
import { isJsonObject } from '../../kernel/json-kinds.ts';

/** The most faults in one refusal. */
const FAULTS_MAX = 5;

/**
 * Refuses arguments that the schema of the tool does not allow: unknown and missing members, wrong types, values outside a closed set.
 * The operation checks the bounds. The texts name members and values of the schema alone, never those of the caller.
 */
export function checkArguments(given: JsonObject, schema: JsonObject): void {
  const errors = faultsOf(given, schema, '').slice(0, FAULTS_MAX);
  const [first] = errors;
  if (first === undefined) return;
  throw new ServiceError('validation_failed', `The arguments are not valid: ${first.detail}`, { errors });
}

function faultsOf(value: Json, schema: JsonObject, pointer: string): readonly ProblemDetail[] {
  const { type, enum: values, properties, items } = schema;
  const fault = (detail: string) => [{ pointer, detail }];
  if (Array.isArray(values) && !values.includes(value))
    return fault(`must be one of ${values.map(String).join(', ')}`);
  if (typeof type === 'string' && !isOf(type, value)) return fault(`must be of the type ${type}`);
  if (Array.isArray(value) && isJsonObject(items))
    return value.flatMap((each: Json, at) => faultsOf(each, items, `${pointer}/${at}`));
  if (!isJsonObject(value) || !isJsonObject(properties)) return [];
  return [...membersFaults(value, schema, pointer), ...belowFaults(value, properties, pointer)];
}

/** The missing members, and the members that the schema does not have. */
function membersFaults(value: JsonObject, schema: JsonObject, pointer: string): readonly ProblemDetail[] {
  const { properties, required = [], additionalProperties } = schema;
  const known = Object.keys(properties as object);
  const missing = (required as readonly string[]).filter((name) => isAbsent(value, name));
  const errors: ProblemDetail[] = [];
  if (missing.length > 0) errors.push({ pointer, detail: `must have ${missing.join(', ')}` });
  if (additionalProperties === false && Object.keys(value).some((name) => !known.includes(name)))
    errors.push({ pointer, detail: `may have only ${known.join(', ')}` });
  return errors;
}

function belowFaults(value: JsonObject, properties: JsonObject, pointer: string): readonly ProblemDetail[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const member = isAbsent(value, name) ? undefined : value[name];
    if (member === undefined || !isJsonObject(schema)) return [];
    return faultsOf(member, schema, pointerTo(pointer, name));
  });
}

/** An absent argument means the same as null. */
function isAbsent(value: JsonObject, name: string): boolean {
  return !Object.hasOwn(value, name) || value[name] === null || value[name] === undefined;
}

function isOf(type: string, value: Json): boolean {
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isJsonObject(value);
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
}
