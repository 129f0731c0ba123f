import type { Json, JsonObject } from '../../functions/kernel/canonical-json.ts';
import { isJsonObject } from '../../functions/kernel/json-kinds.ts';

/** From a schema alone: arguments with one fault each, and the words that its refusal needs. */

/** A text that no schema has. */
export const SENTINEL = 'zq9sentinel';

export interface ArgumentFault {
  readonly what: string;
  readonly given: JsonObject;
  readonly words: readonly string[];
}

/** How deep members are looked at. */
const DEPTH = 4;

/** Every fault of one argument beside the other valid ones. */
export function argumentFaults(schema: JsonObject, valid: JsonObject): readonly ArgumentFault[] {
  const properties = schema['properties'] as JsonObject;
  const ofMembers = Object.entries(properties).flatMap(([name, member]) =>
    faultsWithin(member as JsonObject, `/${name}`, (value) => ({ ...valid, [name]: value })),
  );
  return [...ofMembers, ...ofObject({ ...schema, valid }, '', (value) => value)];
}

type Put = (value: Json) => Json;

function faultsWithin(schema: JsonObject, at: string, put: Put, depth = DEPTH): readonly ArgumentFault[] {
  const { items, properties } = schema;
  const own = ofValue(schema, at).map(([what, value, ...words]) => ({
    what: `${at}: ${what}`,
    given: put(value) as JsonObject,
    words: [`${at}: `, ...words],
  }));
  if (depth === 0) return own;
  if (isJsonObject(items))
    return [...own, ...faultsWithin(items, `${at}/0`, (value) => put([value]), depth - 1)];
  if (!isJsonObject(properties)) return own;
  const base = baseOf(schema);
  const below = Object.entries(properties).flatMap(([name, member]) =>
    faultsWithin(
      member as JsonObject,
      `${at}/${name}`,
      (value) => put({ ...base, [name]: value }),
      depth - 1,
    ),
  );
  return [...own, ...below, ...ofObject(schema, at, put)];
}

/** An unknown member, and each missing one. */
function ofObject(schema: JsonObject, at: string, put: Put): readonly ArgumentFault[] {
  const { properties, required = [], additionalProperties } = schema;
  const base = isJsonObject(schema['valid']) ? schema['valid'] : baseOf(schema);
  const place = at === '' ? 'The call' : `${at}:`;
  const known = Object.keys(properties as object).join(', ');
  const unknown = {
    what: `${at}: an unknown member`,
    given: put({ ...base, [SENTINEL]: SENTINEL }) as JsonObject,
    words: [`${place} may have only ${known}`],
  };
  const missing = (required as readonly string[]).map((name) => ({
    what: `${at}: no ${name}`,
    given: put(Object.fromEntries(Object.entries(base).filter(([each]) => each !== name))) as JsonObject,
    words: [`${place} must have ${name}`],
  }));
  return [...(additionalProperties === false ? [unknown] : []), ...missing];
}

/** Values that break one keyword each, with the words that the refusal has beside the place. */
function ofValue(schema: JsonObject, at: string): readonly (readonly [string, Json, ...string[]])[] {
  const { type, enum: values } = schema;
  const other: Json = type === 'string' ? 7 : SENTINEL;
  const faults: (readonly [string, Json, ...string[]])[] = [];
  const list = Array.isArray(values) ? [`must be one of ${values.join(', ')}`] : null;
  if (typeof type !== 'string') return ofBounds(schema);
  // The offset says its bounds in one sentence.
  const ofType = at === '/answerOffset' ? 'must be a whole number from 0' : `must be of the type ${type}`;
  faults.push(['another type', other, ...(list ?? [ofType])]);
  if (list !== null) return [...faults, ['another value', SENTINEL, ...list]];
  return [...faults, ...ofBounds(schema)];
}

function ofBounds(schema: JsonObject): readonly (readonly [string, Json])[] {
  const { minimum, exclusiveMinimum, maximum, minLength, maxLength, pattern } = schema;
  const { minItems, maxItems, items } = schema;
  const faults: (readonly [string, Json])[] = [];
  if (typeof minimum === 'number') faults.push(['minimum', minimum - 1]);
  if (typeof exclusiveMinimum === 'number') faults.push(['exclusiveMinimum', exclusiveMinimum]);
  if (typeof maximum === 'number') faults.push(['maximum', maximum + 1]);
  if (typeof minLength === 'number' && minLength > 0) faults.push(['minLength', '']);
  if (typeof maxLength === 'number') {
    const text = SENTINEL.repeat(Math.ceil((maxLength + 1) / SENTINEL.length));
    if (text.length < 100_000) faults.push(['maxLength', text]);
  }
  if (typeof pattern === 'string') faults.push(['pattern', `?${SENTINEL}`]);
  if (typeof minItems === 'number' && minItems > 0) faults.push(['minItems', []]);
  if (typeof maxItems === 'number' && maxItems <= 200) {
    const item = valueOf(items as JsonObject);
    faults.push(['maxItems', Array.from({ length: maxItems + 1 }, () => item)]);
  }
  return faults;
}

/** The required members of an object, with values that the schema allows. */
function baseOf({ properties, required = [] }: JsonObject): JsonObject {
  return Object.fromEntries(
    (required as readonly string[]).map((name) => [
      name,
      valueOf((properties as JsonObject)[name] as JsonObject),
    ]),
  );
}

function valueOf(schema: JsonObject): Json {
  const { type, enum: values, const: only, minimum } = schema;
  if (only !== undefined) return only;
  if (Array.isArray(values)) return values[0] as Json;
  if (type === 'object') return isJsonObject(schema['properties']) ? baseOf(schema) : {};
  if (type === 'array') return [valueOf(schema['items'] as JsonObject)];
  if (type === 'boolean') return true;
  if (type === 'integer' || type === 'number') return typeof minimum === 'number' ? minimum : 1;
  return 'abc';
}
