import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { isJsonList, isJsonObject } from '../../kernel/json-kinds.ts';
import { OFFSET_ARGUMENT } from './arguments.ts';
import type { ToolMap } from './tool-map.ts';

/** The answer of an operation as the object that a tool shows, without the parts that `include` does not name. */
export function shownAnswer(map: ToolMap, answer: Json, include: readonly string[]): JsonObject {
  const whole = map.isList ? { items: answer } : answer;
  if (!isJsonObject(whole)) throw new Error('the answer of a tool is no object');
  const notAsked = Object.entries(map.answer.include ?? {}).flatMap(([name, paths]) =>
    include.includes(name) ? [] : paths,
  );
  const left = [...(map.answer.omits ?? []), ...notAsked].map((path) => path.split('/'));
  const rest = left.length === 0 ? whole : (without(whole, left) as JsonObject);
  const { texts } = map.answer;
  if (texts === undefined || include.includes('texts')) return rest;
  const paths = texts.paths.map((path) => path.split('/'));
  return cutTexts(rest, paths, texts.most) as JsonObject;
}

/** The value with texts of at most `most` characters below the paths. */
function cutTexts(value: Json, paths: readonly (readonly string[])[], most: number): Json {
  if (paths.length === 0) return value;
  const isBelow = paths.some((path) => path.length === 0);
  const pathsTo = (name: string) =>
    isBelow ? [[]] : paths.flatMap(([first, ...rest]) => (first === name ? [rest] : []));
  if (typeof value === 'string') return isBelow ? cut(value, most) : value;
  if (isJsonList(value)) return value.map((item) => cutTexts(item, pathsTo('*'), most));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, cutTexts(member, pathsTo(name), most)]),
  );
}

/** The value without the members at the paths, where `*` stands for each item of a list. */
function without(value: Json, paths: readonly (readonly string[])[]): Json {
  if (paths.length === 0) return value;
  if (isJsonList(value)) {
    const below = paths.flatMap(([first, ...rest]) => (first === '*' ? [rest] : []));
    return value.map((item) => without(item, below));
  }
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      const below = paths.flatMap(([first, ...rest]) => (first === name ? [rest] : []));
      if (below.some((rest) => rest.length === 0)) return [];
      return [[name, without(member, below)] as const];
    }),
  );
}

/** The name of the member that lists the items; `null` for an answer without a list. */
export function itemsName({ isList, answer }: ToolMap): string | null {
  return isList ? 'items' : (answer.items ?? null);
}

/** Items of an answer from an offset, as many as fit. */
export interface ShownItems {
  /** The answer with these items alone. */
  readonly shown: JsonObject;
  readonly items: readonly Json[];
  readonly offset: number;
  /** The number of items of the whole answer. */
  readonly count: number;
}

/**
 * The answer with the items from `offset`, and as many of them as `fits` accepts, but at least one. An answer that ends early has
 * `nextOffset` and no continuation token: the token would skip the items that are left.
 */
export function shownItems(
  map: ToolMap,
  answer: JsonObject,
  offset: number,
  fits: (candidate: ShownItems) => boolean,
): ShownItems {
  const name = itemsName(map) ?? '';
  const all = isJsonList(answer[name]) ? answer[name] : [];
  if (offset > all.length)
    throw invalidMember(`/${OFFSET_ARGUMENT}`, `is after the last item: the answer has ${all.length}`);
  const from = (size: number): ShownItems => {
    const items = all.slice(offset, offset + size);
    const end = offset + items.length;
    const own = { ...answer, ...followers(map, answer, items), [name]: items };
    const { continuationToken: _token, ...rest } = own;
    const shown = end < all.length ? { ...rest, nextOffset: end } : own;
    return { shown, items, offset, count: all.length };
  };
  const rest = all.length - offset;
  if (rest <= 1 || fits(from(rest))) return from(rest);
  // The largest size that fits: more items never make an answer shorter.
  let [most, least] = [rest, 1];
  while (most - least > 1) {
    const middle = Math.floor((least + most) / 2);
    if (fits(from(middle))) least = middle;
    else most = middle;
  }
  return from(least);
}

/** The parts of the other lists that belong to the items. */
function followers(
  { answer: { follows = {} } }: ToolMap,
  answer: JsonObject,
  items: readonly Json[],
): JsonObject {
  return Object.fromEntries(
    Object.entries(follows).flatMap(([list, { member, item }]) => {
      const all = answer[list];
      if (!isJsonList(all)) return [];
      const named = new Set(items.map((each) => (isJsonObject(each) ? each[item] : undefined)));
      return [[list, all.filter((each) => isJsonObject(each) && named.has(each[member]))] as const];
    }),
  );
}

/** The answer with one item, in which no text and no other list or object is longer than `most`. It keeps how to go on. */
export function shortAnswer(map: ToolMap, { shown, ...rest }: ShownItems, most: number): ShownItems {
  const name = itemsName(map) ?? '';
  const { line = [] } = map.answer;
  const items = rest.items.map((item) => shortItem(item, line, most));
  const others = Object.entries(shown).flatMap(([member, value]) => {
    if (member === name || member === 'continuationToken') return [[member, value] as const];
    if (typeof value === 'string') return [[member, cut(value, most)] as const];
    return JSON.stringify(value).length > most ? [] : [[member, value] as const];
  });
  return { ...rest, items, shown: { ...Object.fromEntries(others), [name]: items, shortened: true } };
}

/** A list item that is too long alone, with the values of its line: long texts are cut, and long objects left out. */
function shortItem(item: Json, paths: readonly string[], most: number): Json {
  if (!isJsonObject(item)) return typeof item === 'string' ? cut(item, most) : null;
  let short: JsonObject = {};
  for (const path of paths) short = withValue(short, path.split('/'), { of: item, most });
  return short;
}

interface Source {
  readonly of: Json | undefined;
  readonly most: number;
}

function withValue(
  short: JsonObject,
  [name = '', ...rest]: readonly string[],
  { of, most }: Source,
): JsonObject {
  const value = isJsonObject(of) && Object.hasOwn(of, name) ? of[name] : undefined;
  if (value === undefined) return short;
  if (rest.length > 0) {
    const below = isJsonObject(short[name]) ? short[name] : {};
    return { ...short, [name]: withValue(below, rest, { of: value, most }) };
  }
  if (typeof value === 'string') return { ...short, [name]: cut(value, most) };
  return JSON.stringify(value).length > most ? short : { ...short, [name]: value };
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`;
}
