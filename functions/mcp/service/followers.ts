import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { isJsonList } from '../../kernel/json-kinds.ts';
import { valueAtPath, withValueAtPath } from './member-paths.ts';

/** How the entries of another list of the answer name items. */
export interface Follower {
  /** The members of an entry that name items: one, or the two ends of an edge. */
  readonly members: readonly string[];
  /** The member of an item that they name. */
  readonly item: string;
  /** Paths from an entry to the values of its line of text; absent: it has none. */
  readonly line?: readonly string[];
}

/**
 * By item, the entries that follow it. An entry follows the last item that it names, so a part of an answer has an edge when the caller
 * has seen both its ends. An entry that names no item follows the first one.
 */
export function entriesByItem(
  entries: readonly Json[],
  items: readonly Json[],
  { members, item }: Follower,
): readonly (readonly Json[])[] {
  const places = new Map(items.map((each, at) => [valueAtPath(each, item), at]));
  const followed = items.map((): Json[] => []);
  for (const entry of entries) {
    const named = members.map((member) => places.get(valueAtPath(entry, member)) ?? 0);
    followed[Math.max(0, ...named)]?.push(entry);
  }
  return followed;
}

export type Followers = Readonly<Record<string, Follower>>;

/** A part of the answer with the entries that follow its items: those from `begin` up to `end`. */
export function followersOf(
  follows: Followers,
  answer: JsonObject,
  items: readonly Json[],
): (part: JsonObject, begin: number, end: number) => JsonObject {
  const lists = Object.entries(follows).flatMap(([list, follower]) => {
    const entries = valueAtPath(answer, list);
    if (!isJsonList(entries) || items.length === 0) return [];
    return [{ list, byItem: entriesByItem(entries, items, follower) }];
  });
  return (part, begin, end) =>
    lists.reduce(
      (given, { list, byItem }) => withValueAtPath(given, list, byItem.slice(begin, end).flat()),
      part,
    );
}
