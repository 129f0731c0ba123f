import type { Json } from '../../kernel/canonical-json.ts';
import { parseJson } from '../../kernel/json-text.ts';
import type { ToolResult } from '../catalog.ts';
import { isEarly, type Revision } from '../revisions.ts';
import { answerNotes, answerText } from './answer-text.ts';
import { boundedResult, resultOf } from './bounded-result.ts';
import { itemsName, type ShownItems, shownAnswer, shownItems } from './mapped-answer.ts';
import { withValueAtPath } from './member-paths.ts';
import { shortAnswer } from './short-answer.ts';
import type { ToolMap } from './tool-map.ts';

/** `compact`: lines for a model; `full`: the JSON of the answer. */
export type TextContent = 'compact' | 'full';

/** For the members of a result around its values and texts, and for the names of the next page. */
const WRAPPER_CHARACTERS = 1_000;

/** The most characters of a list in one result: some hosts refuse an answer of 25,000 tokens, and pass its text and its values on. */
export const LIST_CHARACTERS_MAX = 25_000 - WRAPPER_CHARACTERS;

/** An answer below this length is its own shortest text. */
export const PLAIN_CHARACTERS_MAX = 4_000;

/** The most and the fewest characters to which a value is cut. */
const SHORT_MAX = 10_000;
const SHORT_MIN = 10;

/** What a call asks of the answer. */
export interface AskedAnswer {
  readonly operationId: string;
  /** The JSON of the operation's answer. */
  readonly text: string;
  readonly include: readonly string[];
  /** Of a list, the number of items to skip; else of characters. */
  readonly offset: number | null;
}

export interface ResultTerms {
  readonly lengthMax: number;
  readonly textContent: TextContent;
  /** Whether the caller gets the text alone. */
  readonly isTextAlone?: boolean;
}

/** The terms of a result in the revision: without structured content, the text is the JSON of the answer. */
export function termsFor<Terms extends Omit<ResultTerms, 'lengthMax'>>(
  terms: Terms,
  revision: Revision,
): Terms {
  return isEarly(revision) ? { ...terms, textContent: 'full', isTextAlone: true } : terms;
}

/** The answer of an operation as the result of its tool. */
export function mappedResult(map: ToolMap, asked: AskedAnswer, terms: ResultTerms): ToolResult {
  const { operationId, text, include, offset } = asked;
  const answer = shownAnswer(map, parseJson(text) as Json, include);
  const name = itemsName(map);
  if (name === null) return boundedResult(operationId, JSON.stringify(answer), offset, terms.lengthMax);
  const most = Math.min(terms.lengthMax, LIST_CHARACTERS_MAX);
  const lengthOf = lengthsOf(name, most);
  const wordsOf = textsOf(map, include, lengthOf, terms);
  const fits = (candidate: ShownItems): boolean => {
    const values = lengthOf(candidate);
    if (values > most) return false;
    const texts = wordsOf(candidate).reduce((sum, each) => sum + JSON.stringify(each).length, 0);
    return texts + (terms.isTextAlone === true ? 0 : values) <= most;
  };
  let shown = shownItems(map, answer, offset ?? 0, fits);
  // An item that is too long for a list: its values are cut until it fits.
  const candidate = shown;
  for (let cut = SHORT_MAX; cut >= SHORT_MIN && !fits(shown); cut /= 2)
    shown = shortAnswer(map, candidate, cut, include);
  const [first = '', ...further] = wordsOf(shown);
  const result = resultOf(shown.shown, first);
  const notes = further.map((each) => ({ type: 'text', text: each }) as const);
  return { ...result, content: [...result.content, ...notes] };
}

/** The texts of a candidate. */
type Words = (candidate: ShownItems) => readonly string[];

/**
 * Measures the JSON of a candidate, up to a length beyond `most`. Candidates for one result share their items, so an item is written
 * once.
 */
function lengthsOf(name: string, most: number): (candidate: ShownItems) => number {
  const known = new Map<Json, number>();
  const lengthOf = (item: Json): number => {
    const length = known.get(item) ?? JSON.stringify(item).length;
    known.set(item, length);
    return length;
  };
  return ({ shown, items }) => {
    const commas = Math.max(0, items.length - 1);
    let length = JSON.stringify(withValueAtPath(shown, name, [])).length + commas;
    for (const item of items) {
      if (length > most) break;
      length += lengthOf(item);
    }
    return length;
  };
}

/** The texts for a model: lines, or the JSON of a short answer. JSON has the sentences about the answer as a further text. */
function textsOf(
  map: ToolMap,
  include: readonly string[],
  lengthOf: (candidate: ShownItems) => number,
  { textContent }: ResultTerms,
): Words {
  const lines = answerText(map, include);
  const notesOf = answerNotes(map, include);
  return (candidate) => {
    const { parts, goingOn } = notesOf(candidate);
    const { shown, offset } = candidate;
    const isPart = goingOn.length > 0 && (offset > 0 || shown['nextOffset'] !== undefined);
    const isWhole = shown['shortened'] === undefined && !isPart;
    if (textContent === 'compact' && !(isWhole && lengthOf(candidate) < PLAIN_CHARACTERS_MAX))
      return [lines(candidate)];
    // A first page alone needs no words: its token stands in the JSON.
    const notes = [...parts, ...(isPart ? goingOn : [])];
    const json = JSON.stringify(shown);
    return notes.length === 0 ? [json] : [json, notes.join('\n')];
  };
}
