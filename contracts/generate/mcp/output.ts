import type { Json, Schema } from '../schema.ts';
import { nullableBranch, typesOf } from '../schema.ts';
import type { ContractSource } from '../source.ts';
import { resolved } from './members.ts';
import type { AnswerMap } from './types.ts';

/**
 * The first two levels of an answer. Its root is an object, so a list stands in the member `items`. No member is required, because
 * `include` decides about some, and a long answer comes in parts.
 */
export function toolOutput(source: ContractSource, model: Schema, answer: AnswerMap, exposure: string): Json {
  const omitted = new Set([...(answer.omits ?? []), ...Object.values(answer.include ?? {}).flat()]);
  const whole = resolved(source, model);
  const isList = typesOf(whole).includes('array');
  const root: Schema = isList ? { type: 'object', properties: { items: model } } : whole;
  const { type = 'object', properties = {} } = levelOf(source, root, { depth: 2, at: '', omitted });
  const ofOthers = exposure === 'task' ? {} : { part };
  const cut = isList || answer.items !== undefined ? { nextOffset: { type: 'integer' } } : ofOthers;
  return { type, properties: { ...properties, ...cut } } as unknown as Json;
}

/** A part of a long answer as text: text, offset, nextOffset, length and hash. The result of a task has no parts. */
const part: Schema = { type: 'object' };

interface Place {
  /** Levels of members still to describe. */
  readonly depth: number;
  /** Path from the answer, with `*` for items. */
  readonly at: string;
  readonly omitted: ReadonlySet<string>;
}

function levelOf(source: ContractSource, schema: Schema, place: Place): Schema {
  const whole = resolved(source, schema);
  const types = typesOf(whole).length > 0 ? typesOf(whole) : typesOfValues(whole);
  const isNullable = nullableBranch(schema) !== undefined || types.includes('null');
  const plain = types.find((each) => each !== 'null');
  const type = plain === undefined ? {} : { type: isNullable ? [plain, 'null'] : plain };
  if (place.depth === 0) return type;
  const { properties, items, enum: values } = whole;
  if (items !== undefined) {
    const below = levelOf(source, items, { ...place, at: path(place.at, '*') });
    return { ...type, ...(Object.keys(below).length > 0 ? { items: below } : {}) };
  }
  if (properties === undefined) return { ...type, ...(values === undefined ? {} : { enum: values }) };
  const members = Object.entries(properties)
    .map(([name, member]) => ({ name, member, at: path(place.at, name) }))
    .filter(({ at }) => !place.omitted.has(at))
    .map(({ name, member, at }) => [name, levelOf(source, member, { ...place, depth: place.depth - 1, at })]);
  return { ...type, properties: Object.fromEntries(members) as Readonly<Record<string, Schema>> };
}

function path(at: string, name: string): string {
  return at === '' ? name : `${at}/${name}`;
}

function typesOfValues({ enum: values, const: value, properties }: Schema): readonly string[] {
  const all = values ?? (value === undefined ? [] : [value]);
  if (all.length === 0) return properties === undefined ? [] : ['object'];
  return [...new Set(all.map((each) => (each === null ? 'null' : typeof each)))];
}
