import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { isJsonList, isJsonObject } from '../../kernel/json-kinds.ts';
import { OFFSET_ARGUMENT } from './arguments.ts';
import { followersOf } from './followers.ts';
import { valueAtPath, withValueAtPath } from './member-paths.ts';
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

/** The path of the list of items; `null` for an answer without a list. */
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
  const list = valueAtPath(answer, name);
  const all = isJsonList(list) ? list : [];
  if (offset > all.length)
    throw invalidMember(
      `/${OFFSET_ARGUMENT}`,
      `is after the last item: the answer has ${all.length}; leave it out for another page`,
    );
  const withFollowers = followersOf(map.answer.follows ?? {}, answer, all);
  const from = (size: number): ShownItems => {
    const items = all.slice(offset, offset + size);
    const end = offset + items.length;
    const own = withFollowers(withValueAtPath(answer, name, items), offset, end);
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

export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`;
}
