import {
  type Json,
  nullableBranch,
  referenceName,
  type Schema,
  typesOf,
} from '../../contracts/generate/schema.ts';
import type { SchemaSet } from './schema-set.ts';

/** A legal value at the edge of what a schema allows, at one place of an instance. */
export interface Extreme {
  /** The place and the value, such as `/mutations/0/revision 9007199254740991`. */
  readonly label: string;
  readonly value: Json;
}

/** Puts another value in the place of a member, an item or the whole. */
type Put = (value: Json) => Json;

const LONGEST_TEXT = 5_000;
const SHOWN = 40;
/** Models may hold themselves: what is left out is made so deep. */
const INVENTED_DEPTH = 3;

/** Before 1970, at both ends of what can be written, and finer than a millisecond. */
const moments = [
  '0000-01-01T00:00:00Z',
  '0001-01-01T00:00:00+23:59',
  '1900-02-28T23:59:59.999Z',
  '1969-12-31T23:59:59.999Z',
  '1970-01-01T00:00:00Z',
  '2038-01-19T03:14:08Z',
  '9999-12-31T23:59:59.999999999Z',
];
const texts = [
  '',
  ' ',
  '\u0000',
  '\t\r\n',
  '\u007f',
  '\'"`\\%_',
  'e\u0301',
  '\u2028',
  '\uffff',
  '\u{10ffff}',
];
const numbers = [0, -0, 1e-50, 5e-324, -1.5, 1e21, Number.MAX_VALUE, -Number.MAX_VALUE];
const integers = [0, -0, -1, 2 ** 31, 2 ** 53 - 1, -(2 ** 53 - 1)];
/** For members without a schema. Databases have types of their own for each, and limits of names, of depth and of keys. */
const anything: readonly Json[] = [
  null,
  false,
  ...numbers,
  ...integers,
  ...texts,
  ...moments.slice(0, 1),
  [],
  {},
  [[]],
  [null, [null]],
  { '': '' },
  { 'a.b': { __c__: 1, '`': 2, '\u0000': 3, $set: 4 } },
  { ['n'.repeat(1_600)]: 1 },
  { 10: 'ten', 2: 'two', b: 'b', a: 'a' },
  nested(60),
];

function nested(depth: number): Json {
  return depth === 0 ? 'deep' : { in: [nested(depth - 1)] };
}

/** The instance with each member in turn at each edge of its rules; members that are left out are put in. */
export function extremes(set: SchemaSet, model: string, instance: Json): Extreme[] {
  const found: Extreme[] = [];
  walk({ set, found, invented: 0 }, set.model(model), instance, '', (value) => value);
  return found;
}

interface Search {
  readonly set: SchemaSet;
  readonly found: Extreme[];
  /** Levels of the instance above that were left out. */
  readonly invented: number;
}

function walk(search: Search, written: Schema, instance: Json | undefined, at: string, put: Put): void {
  if (search.invented === INVENTED_DEPTH) return;
  const within = instance === undefined ? { ...search, invented: search.invented + 1 } : search;
  walkWithin(within, written, instance, at, put);
}

function walkWithin(search: Search, written: Schema, instance: Json | undefined, at: string, put: Put): void {
  const schema = search.set.resolve(written);
  // Every sequence of bytes is right, and an answer that is given back has a hash.
  if (schema['x-svc-binary'] === true || written['x-svc-verbatim'] === true) return;
  const add = (value: Json): void => {
    const shown = JSON.stringify(Object.is(value, -0) ? '-0' : value);
    search.found.push({ label: `${at} ${shown.slice(0, SHOWN)}`, value: put(value) });
  };
  const branch = nullableBranch(schema);
  if (branch !== undefined) {
    add(null);
    return walk(search, branch, instance, at, put);
  }
  if (schema.enum !== undefined) return schema.enum.forEach(add);
  if ('const' in schema) return;
  if (schema.oneOf !== undefined) return walkUnion(search, schema, instance, at, put);
  const types = typesOf(schema);
  if (types.length === 0) return anything.forEach(add);
  if (types.includes('null')) add(null);
  if (types.includes('boolean')) [true, false].forEach(add);
  if (types.includes('string')) textsOf(schema).forEach(add);
  if (types.includes('integer')) numbersOf(schema, integers).forEach(add);
  if (types.includes('number')) numbersOf(schema, numbers).forEach(add);
  if (types.includes('array')) walkArray(search, schema, instance, at, put);
  if (types.includes('object')) walkObject(search, schema, instance, at, put);
}

function textsOf({ minLength = 0, maxLength = LONGEST_TEXT, pattern, format }: Schema): readonly string[] {
  if (format === 'date-time') return moments;
  const form = pattern === undefined ? null : new RegExp(pattern, 'u');
  const longest = ['a', '\u00e9', '\u{1f600}'].map((unit) => unit.repeat(Math.min(maxLength, LONGEST_TEXT)));
  return [...texts, 'a'.repeat(minLength), ...longest].filter((text) => {
    const { length } = Array.from(text);
    return length >= minLength && length <= maxLength && (form?.test(text) ?? true);
  });
}

function numbersOf(schema: Schema, all: readonly number[]): readonly number[] {
  const { minimum, maximum, exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = schema;
  const edges = [minimum, maximum].filter((edge) => edge !== undefined);
  return [...all.filter((each) => !edges.includes(each)), ...edges].filter(
    (each) =>
      each >= (minimum ?? -Infinity) &&
      each <= (maximum ?? Infinity) &&
      each > exclusiveMinimum &&
      each < exclusiveMaximum,
  );
}

function walkArray(search: Search, schema: Schema, instance: Json | undefined, at: string, put: Put): void {
  const { items, minItems = 0 } = schema;
  const list: readonly Json[] = Array.isArray(instance) ? instance : [];
  if (minItems === 0) search.found.push({ label: `${at} []`, value: put([]) });
  const [first] = list;
  if (items === undefined) return;
  walk(search, items, first, `${at}/0`, (value) => put([value, ...list.slice(1)]));
}

function walkObject(search: Search, schema: Schema, instance: Json | undefined, at: string, put: Put): void {
  const { properties, required = [], additionalProperties } = schema;
  const isObject = typeof instance === 'object' && instance !== null && !Array.isArray(instance);
  const whole = isObject ? (instance as Readonly<Record<string, Json>>) : {};
  if (required.length === 0) search.found.push({ label: `${at} {}`, value: put({}) });
  if (properties === undefined) {
    const members = typeof additionalProperties === 'object' ? additionalProperties : {};
    for (const name of ['', '\u0000', 'a.b', '__a__', '`', '0', 'n'.repeat(200)]) {
      search.found.push({ label: `${at} {${name.slice(0, SHOWN)}}`, value: put({ ...whole, [name]: 'a' }) });
    }
    return walk(search, members, 'a', `${at}/a`, (value) => put({ ...whole, a: value }));
  }
  // An absent member that requires others gives no valid values for them.
  if (instance === undefined && required.length > 0) return;
  for (const [name, member] of Object.entries(properties)) {
    const inside = whole[name];
    walk(search, member, inside, `${at}/${name}`, (value) => put({ ...whole, [name]: value }));
  }
}

function walkUnion(search: Search, schema: Schema, instance: Json | undefined, at: string, put: Put): void {
  const member = schema.discriminator?.propertyName;
  if (member === undefined || typeof instance !== 'object' || instance === null) return;
  const kind = (instance as Readonly<Record<string, Json>>)[member];
  const branch = (schema.oneOf ?? []).find(
    (each) => search.set.model(referenceName(each) ?? '').properties?.[member]?.const === kind,
  );
  if (branch !== undefined) walk(search, branch, instance, at, put);
}
