import {
  type Json,
  nullableBranch,
  referenceName,
  type Schema,
  typesOf,
} from '../../contracts/generate/schema.ts';
import { hostileTexts } from './scalars.ts';
import type { SchemaSet } from './schema-set.ts';

/** One rule of a model, broken at one place of an instance. */
export interface Violation {
  /** The rule and the place, such as `type /mutations/0/document`. */
  readonly label: string;
  readonly rule: string;
  readonly value: Json;
  /** Whether JSON Schema itself refuses the value; a bound of free JSON is checked in code. */
  readonly bySchema: boolean;
}

/** Puts another value in the place of a member, an item or the whole; `undefined` takes it away. */
type Put = (value: Json | undefined) => Json;

const ofEveryType: readonly (readonly [type: string, value: Json])[] = [
  ['null', null],
  ['boolean', true],
  ['integer', 1],
  ['number', 1.5],
  ['string', 'text'],
  ['array', []],
  ['array', [{}]],
  ['object', {}],
];
const notMoments = [
  '',
  'now',
  '2026-01-02',
  '2026-02-30T00:00:00Z',
  '2026-01-02T24:00:00Z',
  '2026-01-02T03:04:60Z',
];

/** More whole items than this would be more than any body may hold, and be refused for that. */
const ITEMS_SENT_WHOLE = 10_000;
/** By their number: a list of a million is made once. */
const lists = new Map<number, readonly Json[]>();

function manyNulls(count: number): readonly Json[] {
  const list = lists.get(count) ?? repeated(null, count);
  lists.set(count, list);
  return list;
}

function repeated(item: Json, count: number): readonly Json[] {
  return Array.from({ length: count }, () => item);
}

/** Every way in which a rule of the model can be broken in the instance, one rule at a time. */
export function violations(set: SchemaSet, model: string, instance: Json): Violation[] {
  const found: Violation[] = [];
  walk({ set, found }, set.model(model), instance, '', (value) => value ?? null);
  return found;
}

interface Search {
  readonly set: SchemaSet;
  readonly found: Violation[];
}

function walk(
  search: Search,
  written: Schema,
  instance: Json | undefined,
  at: string,
  put: Put,
  nullable = false,
): void {
  const schema = search.set.resolve(written);
  // Every sequence of bytes is right.
  if (schema['x-svc-binary'] === true) return;
  const breaks = (rule: string, value: Json, bySchema = true): void => {
    search.found.push({ label: `${rule} ${at}`, rule, value: put(value), bySchema });
  };
  const branch = nullableBranch(schema);
  if (branch !== undefined) {
    return walk(search, branch, instance, at, put, true);
  }
  if (schema.enum !== undefined || 'const' in schema) {
    const allowed = schema.enum ?? [schema.const ?? null];
    const others = [...ofEveryType.map(([, value]) => value), ...allowed.flatMap(similar)];
    for (const value of others) {
      if (!allowed.includes(value) && !(nullable && value === null)) breaks('enum', value);
    }
    return;
  }
  breakType([...typesOf(schema), ...(nullable ? ['null'] : [])], breaks);
  if (schema.oneOf !== undefined) return breakUnion(search, schema, instance, at, put);
  if (typesOf(schema).includes('string')) breakText(schema, breaks);
  if (typesOf(schema).some((type) => type === 'integer' || type === 'number')) breakNumber(schema, breaks);
  if (Array.isArray(instance)) breakArray(search, schema, instance, at, put);
  else if (isObject(instance)) breakObject(search, schema, instance, at, put);
  const bytes = schema['x-svc-max-bytes'];
  if (bytes !== undefined) breaks('x-svc-max-bytes', { long: 'a'.repeat(bytes) }, false);
}

type Breaks = (rule: string, value: Json) => void;

/** Every JSON type that the schema does not name; an integer is a number too. */
function breakType(types: readonly string[], breaks: Breaks): void {
  if (types.every((type) => type === 'null')) return;
  for (const [type, value] of ofEveryType) {
    const fits = types.includes(type) || (type === 'integer' && types.includes('number'));
    if (!fits) breaks('type', value);
  }
}

function breakText(schema: Schema, breaks: Breaks): void {
  const { minLength = 0, maxLength, pattern, format } = schema;
  if (minLength > 0) breaks('minLength', 'a'.repeat(minLength - 1));
  if (maxLength !== undefined) {
    breaks('maxLength', 'a'.repeat(maxLength + 1));
    breaks('maxLength', '\u{1f600}'.repeat(maxLength + 1));
  }
  if (format === 'date-time') for (const text of notMoments) breaks('format', text);
  if (pattern === undefined) return;
  const form = new RegExp(pattern, 'u');
  for (const text of hostileTexts) {
    if (text.length >= minLength && !form.test(text)) breaks('pattern', text);
  }
}

function breakNumber(schema: Schema, breaks: Breaks): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (minimum !== undefined) for (const step of [1, 2 ** 40]) breaks('minimum', minimum - step);
  if (maximum !== undefined) for (const step of [1, 2 ** 40]) breaks('maximum', maximum + step);
  if (exclusiveMinimum !== undefined) breaks('exclusiveMinimum', exclusiveMinimum);
  if (exclusiveMaximum !== undefined) breaks('exclusiveMaximum', exclusiveMaximum);
}

function breakArray(search: Search, schema: Schema, instance: readonly Json[], at: string, put: Put): void {
  const { items, minItems = 0, maxItems, uniqueItems } = schema;
  const add = (rule: string, value: Json): void => {
    search.found.push({ label: `${rule} ${at}`, rule, value: put(value), bySchema: true });
  };
  if (minItems > 0) add('minItems', instance.slice(0, minItems - 1));
  const [first] = instance;
  if (first === undefined || items === undefined) return;
  if (maxItems !== undefined) {
    add('maxItems', maxItems > ITEMS_SENT_WHOLE ? manyNulls(maxItems + 1) : repeated(first, maxItems + 1));
  }
  if (uniqueItems === true) add('uniqueItems', [...instance, first]);
  for (const [index, item] of instance.entries()) {
    walk(search, items, item, `${at}/${index}`, (value) => put(instance.with(index, value ?? null)));
  }
}

type JsonObject = { readonly [member: string]: Json };

function breakObject(search: Search, schema: Schema, instance: JsonObject, at: string, put: Put): void {
  const {
    properties,
    required = [],
    additionalProperties,
    propertyNames,
    maxProperties,
    minProperties = 0,
  } = schema;
  const add = (rule: string, value: Json, place = at): void => {
    search.found.push({ label: `${rule} ${place}`, rule, value: put(value), bySchema: true });
  };
  const replaced = (name: string) => (value: Json | undefined) => {
    const { [name]: _, ...others } = instance;
    return put(value === undefined ? others : { ...others, [name]: value });
  };
  for (const name of required) {
    const { [name]: _, ...others } = instance;
    add('required', others, `${at}/${name}`);
  }
  if (additionalProperties === false) {
    for (const name of ['unknownMember', 'TenantId', 'constructor', '']) {
      if (!Object.hasOwn(properties ?? {}, name)) add('additionalProperties', { ...instance, [name]: null });
    }
  }
  // A member that is left out has rules too: those of its type, at least.
  for (const [name, member] of Object.entries(properties ?? {})) {
    walk(search, member, instance[name], `${at}/${name}`, replaced(name));
  }
  if (typeof additionalProperties !== 'object') return;
  const [[name, value] = ['a', 'a' as Json]] = Object.entries(instance);
  walk(search, additionalProperties, value, `${at}/*`, replaced(name));
  if (propertyNames?.maxLength !== undefined) {
    add('propertyNames', { ...instance, ['a'.repeat(propertyNames.maxLength + 1)]: value });
  }
  if ((propertyNames?.minLength ?? 0) > 0) add('propertyNames', { ...instance, '': value });
  if (maxProperties !== undefined) {
    add(
      'maxProperties',
      Object.fromEntries(Array.from({ length: maxProperties + 1 }, (_, n) => [`a${n}`, value])),
    );
  }
  if (minProperties > 0) add('minProperties', {});
}

function breakUnion(search: Search, schema: Schema, instance: Json | undefined, at: string, put: Put): void {
  const member = schema.discriminator?.propertyName;
  if (member === undefined || !isObject(instance)) return;
  search.found.push({
    label: `discriminator ${at}/${member}`,
    rule: 'discriminator',
    value: put({ ...instance, [member]: 'no such kind' }),
    bySchema: true,
  });
  const branch = (schema.oneOf ?? []).find((each) => {
    const model = search.set.model(referenceName(each) ?? '');
    return model.properties?.[member]?.const === instance[member];
  });
  if (branch !== undefined) walk(search, branch, instance, at, put);
}

/** Words that are nearly the allowed one. */
function similar(value: Json): Json[] {
  if (typeof value !== 'string') return [];
  return [value.toUpperCase(), `${value} `, `${value}x`, value.slice(1), [value]];
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
