import type { ValidatorFault } from '../../contracts/validator.ts';
import { pointerTo } from '../kernel/errors.ts';
import { nearName } from '../kernel/near-names.ts';

/** A JSON Schema in the words that the contract uses. */
export interface FaultSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly FaultSchema[];
  readonly properties?: Readonly<Record<string, FaultSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | FaultSchema;
  readonly maxProperties?: number;
  readonly items?: FaultSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
}

export type FaultSchemas = Readonly<Record<string, FaultSchema>>;

const REFERENCE = '#/$defs/';

/**
 * The faults of a value that its validator has refused, one by one in the validator's words. Pure. The validator
 * decides; this finds further faults. The validator alone reports the rules that are omitted here (formats, names of
 * members, unique items). Lazy, so that a reader of twenty faults pays for twenty.
 */
export function* schemaFaults(
  schemas: FaultSchemas,
  schema: FaultSchema,
  value: unknown,
  path = '',
): Generator<ValidatorFault> {
  const found = resolved(schemas, schema, value);
  if (found === undefined) return;
  const wrong = ofType(found, value, path);
  if (wrong !== undefined) {
    yield wrong;
    return;
  }
  if (typeof value === 'string') yield* textFaults(found, value, path);
  else if (typeof value === 'number') yield* numberFaults(found, value, path);
  else if (Array.isArray(value)) yield* listFaults(schemas, found, value, path);
  else if (typeof value === 'object' && value !== null) yield* objectFaults(schemas, found, value, path);
}

/** The schema without references; of a nullable one the branch that the value is meant for. */
function resolved(schemas: FaultSchemas, schema: FaultSchema, value: unknown): FaultSchema | undefined {
  let found: FaultSchema | undefined = schema;
  for (let steps = 0; found !== undefined && steps < 8; steps += 1) {
    if (found.$ref !== undefined) found = schemas[found.$ref.slice(REFERENCE.length)];
    else if (found.anyOf !== undefined)
      found = value === null ? undefined : found.anyOf.find(({ type }) => type !== 'null');
    else return found;
  }
  return undefined;
}

function fault(path: string, keyword: string, message: string, params: ValidatorFault['params'] = {}) {
  return { instancePath: path, schemaPath: '', keyword, params, message };
}

function ofType(schema: FaultSchema, value: unknown, path: string): ValidatorFault | undefined {
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length > 0 && !types.some((type) => isOf(type, value)))
    return fault(path, 'type', '', { type: types.join(' or ') });
  if (schema.enum !== undefined && !schema.enum.includes(value))
    return fault(path, 'enum', '', { allowedValues: schema.enum });
  if (schema.const !== undefined && schema.const !== value)
    return fault(path, 'const', '', { allowedValue: schema.const });
  return undefined;
}

function isOf(type: string, value: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}

function* textFaults(
  { minLength, maxLength, pattern }: FaultSchema,
  value: string,
  path: string,
): Generator<ValidatorFault> {
  // Code points, of which a text has at most as many as units and at least half as many.
  const length = maxLength !== undefined && value.length > 2 * maxLength ? value.length : lengthOf(value);
  if (maxLength !== undefined && length > maxLength)
    yield fault(path, 'maxLength', `must NOT have more than ${maxLength} characters`);
  else if (minLength !== undefined && length < minLength)
    yield fault(path, 'minLength', `must NOT have fewer than ${minLength} characters`);
  else if (pattern !== undefined && !new RegExp(pattern, 'u').test(value))
    yield fault(path, 'pattern', `must match pattern "${pattern}"`);
}

function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

function* numberFaults(
  { minimum, maximum, exclusiveMinimum }: FaultSchema,
  value: number,
  path: string,
): Generator<ValidatorFault> {
  if (minimum !== undefined && value < minimum) yield fault(path, 'minimum', `must be >= ${minimum}`);
  if (maximum !== undefined && value > maximum) yield fault(path, 'maximum', `must be <= ${maximum}`);
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum)
    yield fault(path, 'exclusiveMinimum', `must be > ${exclusiveMinimum}`);
}

function* listFaults(
  schemas: FaultSchemas,
  { minItems, maxItems, items }: FaultSchema,
  value: readonly unknown[],
  path: string,
): Generator<ValidatorFault> {
  if (maxItems !== undefined && value.length > maxItems) {
    yield fault(path, 'maxItems', `must NOT have more than ${maxItems} items`);
    return;
  }
  if (minItems !== undefined && value.length < minItems)
    yield fault(path, 'minItems', `must NOT have fewer than ${minItems} items`);
  if (items === undefined) return;
  for (const [index, each] of value.entries()) yield* schemaFaults(schemas, items, each, `${path}/${index}`);
}

function* objectFaults(
  schemas: FaultSchemas,
  { required = [], properties = {}, additionalProperties: further, maxProperties }: FaultSchema,
  value: object,
  path: string,
): Generator<ValidatorFault> {
  const names = Object.keys(value);
  for (const name of required)
    if (!Object.hasOwn(value, name)) yield fault(path, 'required', '', { missingProperty: name });
  if (maxProperties !== undefined && names.length > maxProperties) {
    yield fault(path, 'maxProperties', `must NOT have more than ${maxProperties} properties`);
    return;
  }
  // Values are read one by one, since the reader may stop after some faults.
  for (const name of names) {
    const each = (value as Readonly<Record<string, unknown>>)[name];
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (own !== undefined) yield* schemaFaults(schemas, own, each, pointerTo(path, name));
    else if (further === false)
      yield fault(path, 'additionalProperties', '', {
        additionalProperty: name,
        meant: nearName(name, Object.keys(properties)),
      });
    else if (typeof further === 'object') yield* schemaFaults(schemas, further, each, pointerTo(path, name));
  }
}
