import type { Json } from '../../kernel/canonical-json.ts';
import { parseJson } from '../../kernel/json-text.ts';
import type { ToolResult } from '../catalog.ts';
import { isEarly, type Revision } from '../revisions.ts';
import { answerText, EXCERPT_MAX } from './answer-text.ts';
import { boundedResult, resultOf } from './bounded-result.ts';
import { itemsName, type ShownItems, shownAnswer, shownItems } from './mapped-answer.ts';
import { withValueAtPath } from './member-paths.ts';
import { shortAnswer } from './short-answer.ts';
import type { ToolMap } from './tool-map.ts';

/** `compact`: lines for a model; `full`: the JSON of the answer. */
export type TextContent = 'compact' | 'full';

/** The most characters of a list in one result: some hosts refuse an answer of 25,000 tokens, and pass its text and its values on. */
export const LIST_CHARACTERS_MAX = 25_000;

/** An answer below this length is its own shortest text. */
export const PLAIN_CHARACTERS_MAX = 4_000;

/** The fewest characters to which a value is cut. */
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
}

/** The terms of a result in the revision: without structured content, the text is the JSON of the answer. */
export function termsFor<Terms extends Pick<ResultTerms, 'textContent'>>(
  terms: Terms,
  revision: Revision,
): Terms {
  return isEarly(revision) ? { ...terms, textContent: 'full' } : terms;
}

/** The answer of an operation as the result of its tool. */
export function mappedResult(map: ToolMap, asked: AskedAnswer, terms: ResultTerms): ToolResult {
  const { operationId, text, include, offset } = asked;
  const answer = shownAnswer(map, parseJson(text) as Json, include);
  const name = itemsName(map);
  if (name === null) return boundedResult(operationId, JSON.stringify(answer), offset, terms.lengthMax);
  const most = Math.min(terms.lengthMax, LIST_CHARACTERS_MAX);
  const lengthOf = lengthsOf(name, most);
  const wordsOf = textsOf(answerText(map, include), lengthOf, terms);
  const fitsWith = (words: Words) => (candidate: ShownItems) => {
    const length = lengthOf(candidate);
    return length <= most && length + JSON.stringify(words(candidate)).length <= most;
  };
  const candidate = shownItems(map, answer, offset ?? 0, fitsWith(wordsOf));
  if (fitsWith(wordsOf)(candidate)) return resultOf(candidate.shown, wordsOf(candidate));
  // An item that is too long for a list: its values are cut until it fits.
  const words = textsOf(answerText(map, []), lengthOf, terms);
  let short = candidate;
  for (let cut = map.answer.excerpt ?? EXCERPT_MAX; cut >= SHORT_MIN && !fitsWith(words)(short); cut /= 2)
    short = shortAnswer(map, candidate, cut);
  return resultOf(short.shown, words(short));
}

/** The text of a candidate. */
type Words = (candidate: ShownItems) => string;

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

/** The text for a model: lines, or the JSON of a short answer. */
function textsOf(
  lines: Words,
  lengthOf: (candidate: ShownItems) => number,
  { textContent }: ResultTerms,
): Words {
  return (candidate) => {
    const { shown } = candidate;
    // A part says in words how to go on.
    const isWhole = shown['nextOffset'] === undefined && shown['shortened'] === undefined;
    const isPlain = textContent === 'full' || (isWhole && lengthOf(candidate) < PLAIN_CHARACTERS_MAX);
    return isPlain ? JSON.stringify(shown) : lines(candidate);
  };
}
