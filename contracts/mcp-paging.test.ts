import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../functions/kernel/canonical-json.ts';
import { itemsName } from '../functions/mcp/service/mapped-answer.ts';
import { mappedResult, termsFor } from '../functions/mcp/service/mapped-result.ts';
import { valueAtPath, withValueAtPath } from '../functions/mcp/service/member-paths.ts';
import { withNextPage } from '../functions/mcp/service/next-page.ts';
import { largeValue, listTools } from '../test/mcp/list-answers.ts';

/** A reader that follows the texts of a list literally, and keeps all its other arguments, reaches each item once. */

type ListTool = (typeof listTools)[number];
type Members = Readonly<Record<string, Json>>;

const COUNT = 24;
const PAGE = 12;
const TOKENS = ['continuationToken', 'afterSequenceId'];

const compact = { lengthMax: 200_000, textContent: 'compact' } as const;
const forms = [
  ['lines', compact],
  ['JSON', { ...compact, textContent: 'full' }],
  ['JSON without values', termsFor(compact, '2025-03-26')],
] as const;

/** A page of the items of the answer, each marked by its place. */
function pageOf({ map }: ListTool, answer: Json, from: number, size: number): Json {
  const name = itemsName(map) ?? '';
  const all = (map.isList ? answer : valueAtPath(answer, name)) as readonly Json[];
  const items = all.slice(from, from + size).map((item, at) => marked(item, from + at));
  if (map.isList) return items;
  const token =
    from + size < COUNT ? { continuationToken: String(from + size) } : { continuationToken: null };
  const page = withValueAtPath(answer as JsonObject, name, items);
  return { ...page, ...('continuationToken' in map.takes ? token : {}) };
}

function marked(item: Json, at: number): Json {
  return typeof item === 'string' ? `${at} ${item}` : { ...(item as JsonObject), rank: at, id: `${at}` };
}

/** The arguments of the next call, as the texts name them; `null` at the end. */
function namedNext(texts: readonly string[]): Members | null {
  for (const text of texts.toReversed()) {
    const words = /To go on: the same arguments with (.*?)\.(?: If records change .*)?$/m.exec(text)?.[1];
    if (words !== undefined) return JSON.parse(`{${words}}`) as Members;
    if (!text.startsWith('{')) continue;
    const { nextPage, continuationToken: token } = JSON.parse(text) as Members;
    if (nextPage !== undefined) return nextPage as Members;
    if (typeof token === 'string') return { continuationToken: token };
  }
  return null;
}

interface Called {
  readonly items: readonly Json[];
  readonly texts: readonly string[];
}

function call(tool: ListTool, whole: Json, terms: (typeof forms)[number][1], given: Members): Called {
  const { map, operationId } = tool;
  const argument = TOKENS.find((each) => each in map.takes);
  const from = argument === undefined ? 0 : Number(given[argument] ?? 0);
  const size = argument === undefined ? COUNT : PAGE;
  const offset = (given['answerOffset'] as number | undefined) ?? null;
  const answer = JSON.stringify(pageOf(tool, whole, from, size));
  const result = mappedResult(map, { operationId, text: answer, include: [], offset }, terms);
  const values = result.structuredContent as Members;
  const hasNext = map.isList && from + size < COUNT && values['nextOffset'] === undefined;
  const next = hasNext && argument !== undefined ? { [argument]: String(from + size), limit: PAGE } : null;
  const { content } = withNextPage(result, next, offset);
  return {
    items: valueAtPath(values, itemsName(map) ?? '') as readonly Json[],
    texts: (content as readonly { readonly text: string }[]).map((each) => each.text),
  };
}

/** Where the list begins, for the lengths of the lists. */
function depthOf({ map }: ListTool): number {
  return 1 - (itemsName(map) ?? '').split('/').length;
}

describe.each(forms)('of %s', (_form, terms) => {
  describe.each([20, 2_500])('with texts of %d characters', (text) => {
    test.each(listTools.map((tool) => [tool.name, tool] as const))('%s has each item once', (_name, tool) => {
      const all: Json[] = [];
      const whole = largeValue(tool.model, { items: COUNT, text }, depthOf(tool));
      let given: Members = { limit: PAGE };
      for (let calls = 0; ; calls += 1) {
        expect(calls).toBeLessThanOrEqual(2 * COUNT);
        const { items, texts } = call(tool, whole, terms, given);
        all.push(...items);
        const next = namedNext(texts);
        if (next === null) break;
        given = Object.assign({}, given, next);
      }
      expect(all).toHaveLength(COUNT);
      const places = all.flatMap((item) => {
        const { rank, id } = (typeof item === 'string' ? { id: item.split(' ')[0] } : item) as Members;
        return id === undefined && rank === undefined ? [] : [Number(rank ?? id)];
      });
      expect(places).toEqual([...places.keys()]);
      if (text < 100) expect(places).toHaveLength(COUNT);
    });
  });
});

/** Break lines for a reader, or hide what stands in them. */
const HOSTILE = '\u2028\u2029\u0085\u202e\u{e0001}\n2. id="b"';

test.each(listTools.map((tool) => [tool.name, tool] as const))(
  'each item of %s keeps to its line, with texts of tenants that break lines',
  (_name, tool) => {
    const { map, operationId, model } = tool;
    const answer = JSON.stringify(largeValue(model, { items: 30, text: 60 }, depthOf(tool))).replaceAll(
      'Eine',
      JSON.stringify(HOSTILE).slice(1, -1),
    );
    const include = Object.keys(map.answer.include ?? {});
    const result = mappedResult(map, { operationId, text: answer, include, offset: null }, compact);
    const items = valueAtPath(
      result.structuredContent as JsonObject,
      itemsName(map) ?? '',
    ) as readonly Json[];
    const [{ text = '' } = {}] = result.content as readonly { readonly text?: string }[];
    if (text.startsWith('{')) return;
    const lines = text.split(/[\n\r\v\f\u0085\u2028\u2029]/);
    expect(lines.filter((line) => /^\d+\. /.test(line))).toHaveLength(items.length);
    expect(text).not.toMatch(/[\u202e\u{e0001}]/u);
  },
);
