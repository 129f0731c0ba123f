import { isDeepStrictEqual } from 'node:util';
import type { Json, JsonObject } from '../../functions/kernel/canonical-json.ts';
import { isJsonList, isJsonObject } from '../../functions/kernel/json-kinds.ts';
import type { Findings } from './model-tasks-types.ts';

/** Looks for what a task needs in an answer: in its values, and in its text alone. */

/** A member of an answer with its value as JSON, as a reader of the text sees it: a long one ends early. */
interface Fact {
  readonly name: string;
  readonly json: string;
}

/** The members of one object or one line. */
export type Group = readonly Fact[];

/** The members of each object, from the outer to the inner. Each item of a list of plain values is a group by itself. */
export function groupsOfValue(given: Json, name = 'items'): readonly Group[] {
  if (isJsonList(given))
    return given.flatMap((item) =>
      isPlain(item) ? [[{ name, json: JSON.stringify(item) }]] : groupsOfValue(item, name),
    );
  if (!isJsonObject(given)) return [];
  const members = Object.entries(given);
  const own = members.filter(([, value]) => !isPlainList(value));
  return [
    own.map(([each, value]) => ({ name: each, json: JSON.stringify(value) })),
    ...members.flatMap(([each, value]) => groupsOfValue(value, each)),
  ];
}

const isPlain = (item: Json) => !isJsonObject(item) && !isJsonList(item);
const isPlainList = (given: Json) => isJsonList(given) && given.length > 0 && given.every(isPlain);

/** The same from a text: its JSON, or its lines `1. name=value name=value`. */
export function groupsOfText(text: string): readonly Group[] {
  const value = jsonOf(text);
  if (value !== undefined) return groupsOfValue(value);
  return text.split('\n').flatMap((line): readonly Group[] => {
    const item = /^\d+\. (.*)/.exec(line)?.[1];
    if (item === undefined) return [factsOfSentence(line)];
    const pairs = [...item.matchAll(/(\w+)=(.*?)(?= \w+=|$)/g)];
    // An item without names is a plain value, or an object whose JSON may end early.
    if (pairs.length === 0)
      return [item.startsWith('{') ? factsOfSentence(item) : [{ name: 'items', json: item }]];
    const facts = pairs.map(([, name = '', json = '']) => ({ name, json }));
    // A value that is whole is read as in JSON.
    const inner = facts.flatMap(({ name, json }) => groupsOfValue(jsonOf(json) ?? null, name));
    return [facts.filter(({ json }) => !isPlainList(jsonOf(json) ?? null)), ...inner];
  });
}

/** The members that a sentence quotes: `"name": value`, or `name=value`. */
function factsOfSentence(line: string): Group {
  const quoted = [
    ...line.matchAll(/"(\w+)": ?("(?:[^"\\]|\\.)*"|\d+|true|false)/g),
    ...line.matchAll(/(\w+)=(.*?)(?= \w+=|$)/g),
  ];
  return quoted.map(([, name = '', json = '']) => ({ name, json }));
}

function jsonOf(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The value of a member that a group states, the last one; with `beside`, of a group that also has this value. */
export function valueIn(groups: readonly Group[], name: string, beside: string | null): Json | undefined {
  const isBeside = (group: Group) => beside === null || group.some((fact) => holdsText(fact.json, beside));
  const found = groups.filter(isBeside).flatMap((group) => group.filter((fact) => fact.name === name));
  return found.map(({ json }) => jsonOf(json)).findLast((value) => value !== undefined && value !== null);
}

/** What an answer lacks of what it has to state. */
export function missingIn(
  groups: readonly Group[],
  { lists = {}, holds = [], without = [], repeats = [] }: Findings,
  earlier: readonly Group[],
): readonly string[] {
  const all = (name: string) => groups.flat().filter((fact) => fact.name === name);
  const listed = Object.entries(lists).flatMap(([name, values]) => {
    const found = all(name).map(({ json }) => jsonOf(json));
    return isDeepStrictEqual(found, values) ? [] : [`${name} is ${JSON.stringify(found)}`];
  });
  const held = holds.flatMap(([name, value]) =>
    all(name).some(({ json }) => isValue(json, value)) ? [] : [`no ${name} is ${JSON.stringify(value)}`],
  );
  const extra = without.flatMap(([name, value]) =>
    all(name).some(({ json }) => isValue(json, value)) ? [`${name} is ${JSON.stringify(value)}`] : [],
  );
  const changed = repeats.filter(
    (name) =>
      valueIn(groups, name, null) === undefined ||
      valueIn(groups, name, null) !== valueIn(earlier, name, null),
  );
  return [...listed, ...held, ...extra, ...changed.map((name) => `${name} is another`)];
}

function isValue(json: string, value: Json): boolean {
  return json === JSON.stringify(value) || (typeof value === 'string' && holdsText(json, value));
}

const holdsText = (json: string, text: string) => json.includes(JSON.stringify(text).slice(1, -1));

/** The object without the member at the place. */
export function withoutPlace(given: JsonObject, [name = '', ...rest]: readonly string[]): JsonObject {
  const value = given[name];
  return Object.fromEntries(
    Object.entries(given).flatMap(([each, member]): [string, Json][] => {
      if (each !== name) return [[each, member]];
      return rest.length === 0 ? [] : [[each, shorter(value as Json, rest)]];
    }),
  );
}

function shorter(value: Json, [name = '', ...rest]: readonly string[]): Json {
  if (!isJsonList(value)) return withoutPlace(value as JsonObject, [name, ...rest]);
  return value.map((item, at) => (String(at) === name ? withoutPlace(item as JsonObject, rest) : item));
}
