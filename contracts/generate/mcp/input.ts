import type { CatalogOperation } from '../catalog.ts';
import { type Json, type Schema, typesOf } from '../schema.ts';
import type { ContractSource } from '../source.ts';
import { membersOf, modelNameOf, type RequestMember, requestMembers, resolved } from './members.ts';
import {
  type AnswerMap,
  type Arguments,
  argumentOf,
  pointerOf,
  type ToolArgument,
  type ToolMap,
} from './types.ts';

/** The schema of the arguments that a map makes of the request of an operation. */

/** The argument of a tool that reads on in a long answer. */
const OFFSET_ARGUMENT = 'answerOffset';

export interface ToolInput {
  readonly inputSchema: Json;
  /** The whole schema of the argument `advanced`, of which the list has names and types. `null` without such an argument. */
  readonly advanced: Json | null;
}

export function toolInput(
  source: ContractSource,
  operation: CatalogOperation,
  map: ToolMap,
  isList: boolean,
): ToolInput {
  const members = requestMembers(source, operation);
  const taken = argumentsSchema(source, members, map.takes);
  const advanced = map.advanced === undefined ? null : argumentsSchema(source, members, map.advanced);
  const { name, exposure } = operation.mcp;
  const properties = {
    ...taken.properties,
    ...(advanced === null ? {} : { advanced: outline(advanced, name ?? '') }),
    ...includeArgument(map.answer ?? {}),
    ...(exposure !== 'task' ? { [OFFSET_ARGUMENT]: offsetSchema(isList) } : {}),
  };
  return {
    inputSchema: { ...taken, properties } as unknown as Json,
    advanced: advanced as unknown as Json | null,
  };
}

interface ObjectSchema extends Schema {
  readonly properties: Readonly<Record<string, Schema>>;
}

function argumentsSchema(
  source: ContractSource,
  members: Readonly<Record<string, RequestMember>>,
  taken: Arguments,
): ObjectSchema {
  const all = Object.entries(taken).map(([name, written]) => {
    const own = argumentOf(written);
    const { schema, required } = memberAt(source, members, pointerOf(name, written));
    const isRequired = own.default === undefined && (required || own.required === true);
    return { name, isRequired, schema: argumentSchema(source, schema, own) };
  });
  return closed(
    Object.fromEntries(all.map(({ name, schema }) => [name, schema])),
    all.filter(({ isRequired }) => isRequired).map(({ name }) => name),
  );
}

function closed(properties: Readonly<Record<string, Schema>>, required: readonly string[]): ObjectSchema {
  return {
    type: 'object',
    properties,
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
}

/** The member at a pointer; required if each request has it. */
function memberAt(
  source: ContractSource,
  members: Readonly<Record<string, RequestMember>>,
  pointer: string,
): RequestMember {
  const [, first = '', ...rest] = pointer.split('/');
  const member = members[first];
  if (member === undefined) throw new Error(`the request has no member ${pointer}`);
  if (rest.length === 0) return member;
  const below = memberAt(source, membersOf(resolved(source, member.schema)), `/${rest.join('/')}`);
  return { ...below, required: member.required && below.required };
}

/** The schema of a member as a tool shows it: of one type, without references, with the text and bounds of the map. */
function argumentSchema(source: ContractSource, schema: Schema, own: ToolArgument): Schema {
  const { description, values, maximum, default: value } = own;
  return {
    ...described(plainSchema(source, schema, new Map()), description, values),
    ...(maximum === undefined ? {} : { maximum }),
    ...(value === undefined ? {} : { default: value }),
  };
}

/** The schema with the text and the values that a map gives it. An enum bounds its values itself. */
function described(plain: Schema, description?: string, values?: readonly string[]): Schema {
  const text = description === undefined ? {} : { description };
  if (values === undefined) return { ...plain, ...text };
  if (plain.type === 'array') return exact({ ...plain, ...text, items: { type: 'string', enum: values } });
  const { minLength: _least, maxLength: _most, pattern: _pattern, ...rest } = plain;
  return exact({ ...rest, ...text, type: 'string', enum: values });
}

/** An enum takes its values in this case alone, unlike the member of the operation. */
function exact({ description, ...schema }: Schema): Schema {
  if (description === undefined) return schema;
  return { description: description.replace(/[;,]? ?case-insensitive/i, ''), ...schema };
}

/** Patterns that have the bounds of the length, which tools then leave out. */
const bounded: ReadonlySet<string> = new Set([
  '^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253}[A-Za-z0-9])?$',
  '^[0-9]{20}$',
]);

function isImplied(keyword: string, { pattern }: Schema): boolean {
  return (
    (keyword === 'minLength' || keyword === 'maxLength') && pattern !== undefined && bounded.has(pattern)
  );
}

/** By model, the number of levels above that are of this model. */
type Levels = ReadonlyMap<string, number>;

function plainSchema(source: ContractSource, schema: Schema, levels: Levels): Schema {
  const name = modelNameOf(schema);
  const whole = resolved(source, schema);
  const text = whole.description === undefined ? {} : { description: whole.description };
  if (name !== undefined && whole.properties !== undefined)
    return { ...text, ...modelSchema(source, name, whole, levels) };
  const type = typesOf(whole).find((each) => each !== 'null');
  const { items, additionalProperties, enum: all } = whole;
  const values = all?.filter((each) => each !== null);
  return {
    ...text,
    ...(type === undefined
      ? typeOfValues(values ?? (whole.const === undefined ? [] : [whole.const]))
      : { type }),
    ...(values === undefined ? {} : { enum: values }),
    ...Object.fromEntries(
      KEPT.flatMap((keyword) =>
        whole[keyword] === undefined || isImplied(keyword, whole) ? [] : [[keyword, whole[keyword]]],
      ),
    ),
    ...(items === undefined ? {} : { items: withoutText(plainSchema(source, items, levels)) }),
    ...(typeof additionalProperties === 'object'
      ? { additionalProperties: withoutText(plainSchema(source, additionalProperties, levels)) }
      : {}),
  };
}

/** Keywords with the same meaning in a tool. The others are of this contract, or some hosts refuse them. */
const KEPT = [
  'const',
  'minLength',
  'maxLength',
  'pattern',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'default',
] as const;

function typeOfValues([first]: readonly Json[]): Pick<Schema, 'type'> {
  return typeof first === 'string' ? { type: 'string' } : typeof first === 'number' ? { type: 'number' } : {};
}

function withoutText({ description: _text, ...schema }: Schema): Schema {
  return schema;
}

/** A model as `toolModels` shows it. One that contains itself ends at its last level. */
function modelSchema(source: ContractSource, name: string, model: Schema, levels: Levels): Schema {
  const map = source.tools?.models[name];
  if (map === undefined) throw new Error(`toolModels has no ${name}`);
  const level = (levels.get(name) ?? 0) + 1;
  const { levels: last, lastOmits, lastRequires = [] } = map.recursion ?? { levels: 1, lastOmits: [] };
  if (level > last) throw new Error(`${name} contains itself: toolModels states no last level`);
  const below = new Map([...levels, [name, level]]);
  const taken = Object.entries(map.takes).filter(([member]) => level < last || !lastOmits.includes(member));
  const properties = taken.map(([member, written]) => {
    const { description, values } = argumentOf(written);
    const plain = plainSchema(source, model.properties?.[member] ?? {}, below);
    // The first level has described the members already.
    const text = level > 1 ? undefined : description;
    return [member, described(level > 1 ? withoutText(plain) : plain, text, values)] as const;
  });
  const needed = new Set([...(model.required ?? []), ...(level === last ? lastRequires : [])]);
  const required = taken.flatMap(([member, written]) =>
    needed.has(member) || argumentOf(written).required === true ? [member] : [],
  );
  return closed(Object.fromEntries(properties), required);
}

/** `advanced` in the list: names and types, and the resource with the rest. */
function outline({ properties }: ObjectSchema, tool: string): Schema {
  const outlined = Object.entries(properties).map(([name, { type, enum: values }]) => [
    name,
    { ...(type === undefined ? {} : { type }), ...(values === undefined ? {} : { enum: values }) },
  ]);
  return {
    description: `Rare options: svc://tools/${tool}/v1.`,
    ...closed(Object.fromEntries(outlined) as Readonly<Record<string, Schema>>, []),
  };
}

function includeArgument({ include = {}, texts }: AnswerMap): Readonly<Record<string, Schema>> {
  const values = [...Object.keys(include), ...(texts === undefined ? [] : ['texts'])];
  if (values.length === 0) return {};
  const items: Schema = { type: 'string', enum: values };
  const explained = values.flatMap((value) => partTexts.get(value) ?? []);
  const description = `${['Parts to add', ...explained].join('; ')}.`;
  return { include: { description, type: 'array', items } };
}

/** Parts that are not members of the answer with the same name. */
const partTexts: ReadonlyMap<string, string> = new Map([
  ['details', 'details: rare members'],
  ['diagnostics', 'diagnostics: how it was found'],
  ['texts', 'texts: whole, no excerpts'],
]);

function offsetSchema(isList: boolean): Schema {
  return {
    description: isList ? 'Items to skip, to go on.' : 'To go on: its part.nextOffset.',
    type: 'integer',
    minimum: 0,
  };
}
