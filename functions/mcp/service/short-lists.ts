import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { isJsonList, isJsonObject } from '../../kernel/json-kinds.ts';

/** A list that has fewer items than before. */
export interface ShortList {
  /** JSON Pointer of the list. */
  readonly list: string;
  readonly shown: number;
  readonly count: number;
}

export interface ShortLists {
  readonly values: JsonObject;
  readonly shortened: readonly ShortList[];
}

/** Lists deeper than this belong to an item, and end with it. */
const DEPTH_MAX = 3;

/**
 * The object with at most `most` characters of JSON: its longest lists end early, at an item. A list keeps its first item, so the
 * object stays longer than that where the rest of it is.
 */
export function withShortLists(whole: JsonObject, most: number): ShortLists {
  let values = whole;
  const shortened: ShortList[] = [];
  const lists = listsIn(whole, '', DEPTH_MAX).toSorted((one, other) => other.length - one.length);
  let excess = JSON.stringify(whole).length - most;
  for (const { pointer, items, lengths, length } of lists) {
    const shown = countWithin(lengths, length - excess);
    if (shown === items.length) continue;
    values = withList(values, pointer.split('/').slice(1), items.slice(0, shown));
    shortened.push({ list: pointer, shown, count: items.length });
    excess -= lengths.slice(shown).reduce((sum, each) => sum + each + 1, 0);
  }
  return { values, shortened };
}

interface FoundList {
  readonly pointer: string;
  readonly items: readonly Json[];
  readonly lengths: readonly number[];
  readonly length: number;
}

function listsIn(value: Json, pointer: string, depth: number): readonly FoundList[] {
  if (isJsonList(value)) {
    const lengths = value.map((item) => JSON.stringify(item).length);
    const length = lengths.reduce((sum, each) => sum + each + 1, 1);
    return value.length < 2 ? [] : [{ pointer, items: value, lengths, length }];
  }
  if (!isJsonObject(value) || depth === 0) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    // A name of the service has no character that a pointer escapes.
    listsIn(member, `${pointer}/${name}`, depth - 1),
  );
}

/** How many items have at most `most` characters together; at least one. */
function countWithin(lengths: readonly number[], most: number): number {
  let sum = 1;
  const beyond = lengths.findIndex((each) => (sum += each + 1) > most);
  return beyond === -1 ? lengths.length : Math.max(1, beyond);
}

function withList(
  value: JsonObject,
  [name = '', ...rest]: readonly string[],
  items: readonly Json[],
): JsonObject {
  const below = value[name];
  return { ...value, [name]: isJsonObject(below) ? withList(below, rest, items) : items };
}
