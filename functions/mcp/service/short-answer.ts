import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { isJsonList, isJsonObject } from '../../kernel/json-kinds.ts';
import { cut, itemsName, type ShownItems } from './mapped-answer.ts';
import { valueAtPath, withValueAtPath } from './member-paths.ts';
import type { ToolMap } from './tool-map.ts';

/** Of a list that follows the item, one entry stays for so many characters. */
const CHARACTERS_OF_ENTRY = 4;

/**
 * The answer with one item, in which no value of its line and of the parts that the caller asks for is longer than about `most`, and no
 * other list or object. It keeps how to go on.
 */
export function shortAnswer(
  map: ToolMap,
  { shown, ...rest }: ShownItems,
  most: number,
  include: readonly string[] = [],
): ShownItems {
  const name = itemsName(map) ?? '';
  const { line = [], follows = {} } = map.answer;
  const ofItems = `${name}/*/`;
  const asked = include.flatMap((part) => map.answer.include?.[part] ?? []);
  const shownPaths = [
    ...line,
    ...asked.flatMap((path) => (path.startsWith(ofItems) ? [path.slice(ofItems.length)] : [])),
  ];
  const items = rest.items.map((item) => shortItem(item, shownPaths, most));
  const lists = Object.keys(follows).filter((list) => isJsonList(valueAtPath(shown, list)));
  let short: JsonObject = { ...shortMembers(shown, [name, ...lists], most), shortened: true };
  for (const list of lists) {
    const entries = valueAtPath(shown, list) as readonly Json[];
    const few = entries.slice(0, Math.floor(most / CHARACTERS_OF_ENTRY));
    const paths = follows[list]?.line;
    const isShort = JSON.stringify(entries).length <= most;
    // An entry without a line has no shorter form.
    const kept = paths === undefined ? [] : few.map((entry) => shortItem(entry, paths, most));
    short = withValueAtPath(short, list, isShort ? entries : kept);
  }
  return { ...rest, items, shown: withValueAtPath(short, name, items) };
}

/** The object without long lists and objects, and with short texts. Those at the paths have other rules. */
function shortMembers(whole: JsonObject, paths: readonly string[], most: number): JsonObject {
  const members = Object.entries(whole).flatMap(([member, value]) => {
    if (paths.includes(member) || member === 'continuationToken') return [[member, value] as const];
    const below = paths.flatMap((path) =>
      path.startsWith(`${member}/`) ? [path.slice(member.length + 1)] : [],
    );
    if (below.length > 0 && isJsonObject(value)) return [[member, shortMembers(value, below, most)] as const];
    if (typeof value === 'string') return [[member, cut(value, most)] as const];
    return JSON.stringify(value).length > most ? [] : [[member, value] as const];
  });
  return Object.fromEntries(members);
}

/** A list item that is too long alone, with the values at the paths: long ones are cut. */
function shortItem(item: Json, paths: readonly string[], most: number): Json {
  if (!isJsonObject(item)) return shortValue(item, most);
  return paths.reduce<JsonObject>((short, path) => {
    const value = valueAtPath(item, path);
    return value === undefined ? short : withValueAtPath(short, path, shortValue(value, most));
  }, {});
}

/** The value with as many members and items, from the first, as `most` characters have room for. Its texts are cut. */
function shortValue(value: Json, most: number): Json {
  if (typeof value === 'string') return cut(value, most);
  if (value === null || typeof value !== 'object' || JSON.stringify(value).length <= most) return value;
  let left = most;
  const kept: (readonly [string, Json])[] = [];
  for (const [name, member] of Object.entries(value)) {
    left -= name.length + 4;
    if (left <= 0) break;
    const short = shortValue(member, left);
    left -= JSON.stringify(short).length;
    kept.push([name, short]);
  }
  return isJsonList(value) ? kept.map(([, item]) => item) : Object.fromEntries(kept);
}
