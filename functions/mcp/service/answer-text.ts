import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { isJsonList, isJsonObject } from '../../kernel/json-kinds.ts';
import { OFFSET_ARGUMENT } from './arguments.ts';
import { entriesByItem } from './followers.ts';
import { lineJson } from './line-json.ts';
import { itemsName, type ShownItems } from './mapped-answer.ts';
import { valueAtPath } from './member-paths.ts';
import type { ToolMap } from './tool-map.ts';

/** The most characters of a value in a line, where the map states no other number. */
const EXCERPT_MAX = 300;

const SHORTENED = 'The item is too long for a list, so its long members are cut or left out.';

/** Each part comes from a call of its own. */
const CHANGES = 'If records change meanwhile, items may repeat or be missing.';

/**
 * Writes one line for each item with ids, score, excerpt and the parts that `include` adds; then such parts of the answer, and how to go
 * on. Candidates for one result share their items, so the line of an item is written once.
 */
export function answerText(map: ToolMap, include: readonly string[]): (candidate: ShownItems) => string {
  const { line = [], summary = [], excerpt = EXCERPT_MAX } = map.answer;
  const added = addedPaths(map, include);
  const notesOf = answerNotes(map, include);
  // A caller that asks for the whole texts gets them.
  const most = include.includes('texts') ? Number.POSITIVE_INFINITY : excerpt;
  const written = new Map<Json, string>();
  const lineOfItem = (item: Json): string => {
    const known = written.get(item);
    if (known !== undefined) return known;
    const own = line.length === 0 || !isJsonObject(item) ? excerptOf(item, most) : lineOf(item, line, most);
    const parts = [own, lineOf(item, added.ofItem, Number.POSITIVE_INFINITY)];
    const text = parts.filter((part) => part !== '').join(' ');
    written.set(item, text);
    return text;
  };
  return (candidate) => {
    const { shown, items, offset, count } = candidate;
    const below = followingLines(map, shown, items);
    const lines = items.flatMap((item, at) => [
      `${offset + at + 1}. ${lineOfItem(item)}`,
      ...(below[at] ?? []),
    ]);
    const further = [
      lineOf(shown, summary, excerpt),
      lineOf(shown, added.ofAnswer, Number.POSITIVE_INFINITY),
    ];
    const { parts, goingOn: onward } = notesOf(candidate);
    return [
      ...(count === 0 ? ['No items.'] : lines),
      ...further.filter((text) => text !== ''),
      ...parts,
      ...onward,
    ].join('\n');
  };
}

/** By item, a line for each entry of other lists that follows it. */
function followingLines(
  { answer: { follows = {}, excerpt = EXCERPT_MAX } }: ToolMap,
  shown: JsonObject,
  items: readonly Json[],
): readonly (readonly string[])[] {
  const lists = Object.entries(follows).flatMap(([list, follower]) => {
    const { line } = follower;
    const entries = valueAtPath(shown, list);
    if (line === undefined || !isJsonList(entries)) return [];
    const byItem = entriesByItem(entries, items, follower);
    return [byItem.map((own) => own.map((entry) => `   - ${lineOf(entry, line, excerpt)}`))];
  });
  return items.map((_, at) => lists.flatMap((byItem) => byItem[at] ?? []));
}

/** Sentences about an answer: texts and items that are not whole, and how to go on. */
export interface AnswerNotes {
  readonly parts: readonly string[];
  readonly goingOn: readonly string[];
}

export function answerNotes(
  map: ToolMap,
  include: readonly string[],
): (candidate: ShownItems) => AnswerNotes {
  const { whole, texts } = map.answer;
  const excerpts = texts === undefined || include.includes('texts') ? null : new Map<Json, boolean>();
  const isExcerpt = (item: Json): boolean => {
    const known = excerpts?.get(item) ?? JSON.stringify(item).includes('…"');
    excerpts?.set(item, known);
    return known;
  };
  const orWhole = whole === undefined ? '' : ` or ${whole}`;
  return ({ shown, items, offset, count }) => ({
    parts: [
      ...(shown['shortened'] === true
        ? [whole === undefined ? SHORTENED : `${SHORTENED} ${whole} has all of it.`]
        : []),
      ...(excerpts !== null && items.some(isExcerpt)
        ? [`Texts that end with … are excerpts: "include": ["texts"]${orWhole} has them whole.`]
        : []),
    ],
    goingOn: goingOn(shown, { offset, end: offset + items.length, count }),
  });
}

/** The paths of the parts that the caller asks for: those from an item, and those from the answer. */
function addedPaths(map: ToolMap, include: readonly string[]) {
  const ofItems = `${itemsName(map)}/*/`;
  const paths = include.flatMap((name) => map.answer.include?.[name] ?? []);
  return {
    ofItem: paths.flatMap((path) => (path.startsWith(ofItems) ? [path.slice(ofItems.length)] : [])),
    ofAnswer: paths.filter((path) => !path.startsWith(ofItems)),
  };
}

/** The values of an item by the last names of their paths. Each value is JSON, so that a text of a tenant keeps to its line. */
function lineOf(item: Json, paths: readonly string[], most: number): string {
  return paths
    .flatMap((path) => {
      const value = valueAtPath(item, path);
      if (value === undefined || value === null || isEmpty(value)) return [];
      return [`${path.split('/').at(-1)}=${excerptOf(value, most)}`];
    })
    .join(' ');
}

function isEmpty(value: Json): boolean {
  return isJsonList(value) ? value.length === 0 : isJsonObject(value) && Object.keys(value).length === 0;
}

/** A text is cut before it becomes JSON, so that its quotation marks close; JSON of another value is cut as text. */
function excerptOf(value: Json, most: number): string {
  if (typeof value === 'string') {
    if (value.length <= most) return lineJson(value);
    return `${lineJson(value.slice(0, most).toWellFormed())}…`;
  }
  const text = lineJson(value);
  return text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`;
}

interface Place {
  readonly offset: number;
  readonly end: number;
  readonly count: number;
}

/** A reader keeps its other arguments, so an offset into this page must not reach the next one. */
function goingOn(shown: ShownItems['shown'], { offset, end, count }: Place): readonly string[] {
  if (end < count)
    return [
      `${end} of ${count} items so far. To go on: the same arguments with "${OFFSET_ARGUMENT}": ${end}. ${CHANGES}`,
    ];
  const token = shown['continuationToken'];
  if (typeof token !== 'string') return [];
  const start = offset === 0 ? '' : `, "${OFFSET_ARGUMENT}": 0`;
  const argument = `"continuationToken": ${lineJson(token)}${start}`;
  return [`There may be more. To go on: the same arguments with ${argument}.`];
}
