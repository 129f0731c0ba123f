import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { parseJson } from '../../kernel/json-text.ts';
import type { ToolResult } from '../catalog.ts';
import { answerText, EXCERPT_MAX } from './answer-text.ts';
import { boundedResult, resultOf } from './bounded-result.ts';
import { itemsName, type ShownItems, shortItem, shownAnswer, shownItems } from './mapped-answer.ts';
import type { ToolMap } from './tool-map.ts';

/** `compact`: lines for a model; `full`: the JSON of the answer. */
export type TextContent = 'compact' | 'full';

/** The most characters of a list in one result: some hosts refuse an answer of 25,000 tokens, and pass its text and its values on. */
const LIST_CHARACTERS_MAX = 25_000;

/** An answer below this length is its own shortest text. */
const PLAIN_CHARACTERS_MAX = 4_000;

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

/** The answer of an operation as the result of its tool. */
export function mappedResult(map: ToolMap, asked: AskedAnswer, terms: ResultTerms): ToolResult {
  const { operationId, text, include, offset } = asked;
  const answer = shownAnswer(map, parseJson(text) as Json, include);
  const name = itemsName(map);
  if (name === null) return boundedResult(operationId, JSON.stringify(answer), offset, terms.lengthMax);
  const most = Math.min(terms.lengthMax, LIST_CHARACTERS_MAX);
  const fits = (candidate: ShownItems) => {
    const [values, words] = textsOf(map, candidate, include, terms);
    return values.length + JSON.stringify(words).length <= most;
  };
  const candidate = shownItems(answer, name, offset ?? 0, fits);
  if (fits(candidate)) return resultOf(candidate.shown, textsOf(map, candidate, include, terms)[1]);
  const { line = [], excerpt = EXCERPT_MAX } = map.answer;
  const items = candidate.items.map((item) => shortItem(item, line, excerpt));
  const short = { ...candidate, items, shown: { ...candidate.shown, [name]: items, shortened: true } };
  const [, words] = textsOf(map, short, [], terms);
  return resultOf(
    short.shown,
    `${words}\nThe item is too long for a list, so its long members are cut or left out.`,
  );
}

/** The values as JSON, and the text for a model. */
function textsOf(
  map: ToolMap,
  candidate: ShownItems,
  include: readonly string[],
  { textContent }: ResultTerms,
): readonly [values: string, words: string] {
  const values = JSON.stringify(candidate.shown satisfies JsonObject);
  const isPlain = textContent === 'full' || values.length < PLAIN_CHARACTERS_MAX;
  return [values, isPlain ? values : answerText(candidate, map, include)];
}
