import { describe, expect, test } from 'vitest';
import { fallbackOf, type Given } from '../functions/config/setting.ts';
import { mcp } from '../functions/config/settings/mcp.ts';
import type { Json as AnswerJson, JsonObject } from '../functions/kernel/canonical-json.ts';
import { itemsName, shownAnswer } from '../functions/mcp/service/mapped-answer.ts';
import { mappedResult } from '../functions/mcp/service/mapped-result.ts';
import { valueAtPath } from '../functions/mcp/service/member-paths.ts';
import type { ToolMap } from '../functions/mcp/service/tool-map.ts';
import { largeValue, listTools as lists, readTools, type Size } from '../test/mcp/list-answers.ts';

/** The default answer of each list fits the hosts, however large the answer of its operation is. */

/** Of the values, the text and their wrapper together, as many hosts pass both on. */
const CHARACTERS_MAX = 25_000;

/** Their answers come whole, or in parts of their text. */
const others = readTools.filter(({ map }) => itemsName(map) === null);

interface Part {
  readonly values: JsonObject;
  readonly characters: number;
}

/** The results of the calls that go on until the end of the answer. */
function partsOf(map: ToolMap, operationId: string, text: string): readonly Part[] {
  const parts: Part[] = [];
  for (let offset: number | null = null; ; ) {
    const asked = { operationId, text, include: [], offset };
    const terms = { lengthMax: 200_000, textContent: 'compact' } as const;
    const result = mappedResult(map, asked, terms);
    const { content, structuredContent } = result;
    const values = structuredContent as JsonObject;
    const characters = JSON.stringify(result).length;
    parts.push({ values, characters });
    const next = values['nextOffset'];
    if (typeof next !== 'number') return parts;
    expect(next).toBeGreaterThan(offset ?? 0);
    expect(content[0]?.text).toContain(`"answerOffset": ${next}`);
    offset = next;
  }
}

function listAt(values: JsonObject, path: string): readonly AnswerJson[] {
  return valueAtPath(values, path) as readonly AnswerJson[];
}

/** Each part has the entries of other lists that belong to its items, and no others. */
function expectFollowers(map: ToolMap, parts: readonly Part[]): void {
  const name = itemsName(map) ?? '';
  for (const [list, { members, item }] of Object.entries(map.answer.follows ?? {}))
    for (const { values } of parts.filter(({ values: each }) => each['shortened'] === undefined)) {
      const ids = listAt(values, name).map((each) => valueAtPath(each, item));
      for (const member of members)
        expect([...new Set(listAt(values, list).map((each) => valueAtPath(each, member)))]).toEqual(ids);
    }
}

describe('the default answer of a list', () => {
  test('is looked at for every list, previews included', () => {
    expect(lists.map(({ name }) => name).sort()).toEqual([
      'svc_collections_list_v1',
      'svc_execution_get_run_history_v1',
      'svc_execution_list_handlers_v1',
      'svc_execution_list_runs_v1',
      'svc_graph_list_provider_shapes_v1',
      'svc_graph_traverse_v1',
      'svc_providers_list_v1',
      'svc_rag_build_context_v1',
      'svc_records_query_v1',
      'svc_records_search_v1',
      'svc_retrieval_list_profiles_v1',
      'svc_retrieval_retrieve_v1',
    ]);
  });

  const sizes: readonly (readonly [string, Size])[] = [
    ['many short items', { items: 400, text: 20 }],
    ['items of middle length', { items: 60, text: 300 }],
    ['items that are each too long', { items: 8, text: 9_000 }],
  ];
  describe.each(sizes)('of %s', (_, size) => {
    test.each(lists.map((each) => [each.name, each] as const))('fits %s', (_name, list) => {
      const { map, operationId, model } = list;
      // The list may stand a level deeper.
      const answer = largeValue(model, size, 1 - (itemsName(map) ?? '').split('/').length);
      const parts = partsOf(map, operationId, JSON.stringify(answer));
      const name = itemsName(map) ?? '';
      const whole = listAt(shownAnswer(map, answer, []), name);
      for (const { characters } of parts) expect(characters).toBeLessThanOrEqual(CHARACTERS_MAX);
      const items = parts.flatMap(({ values }) => listAt(values, name));
      expect(items).toHaveLength(whole.length);
      const isWhole = parts.every(({ values }) => values['shortened'] === undefined);
      if (size.text < 100) expect(isWhole).toBe(true);
      if (isWhole) expect(items).toEqual(whole);
      expectFollowers(map, parts);
    });
  });
});

describe('the default answer of a tool that reads one thing', () => {
  test('is looked at for each such tool', () => {
    expect(others.map(({ name }) => name).sort()).toEqual([
      'svc_collections_get_v1',
      'svc_collections_inspect_v1',
      'svc_execution_get_run_v1',
      'svc_graph_doctor_collection_v1',
      'svc_graph_get_provider_shape_v1',
      'svc_graph_inspect_collection_v1',
      'svc_rag_build_prompt_v1',
      'svc_records_count_v1',
      'svc_records_get_v1',
    ]);
  });

  const size = { items: 100, text: 300 };
  const given: Given = { environment: 'production', host: 'embedded' };
  test.each(others.map((each) => [each.name, each] as const))(
    'comes in bounded parts: %s',
    (_name, other) => {
      const { map, operationId, model } = other;
      const answer = largeValue(model, size);
      const text = JSON.stringify(answer);
      const terms = {
        lengthMax: fallbackOf(mcp.resultCharactersMax, given),
        textContent: 'compact',
      } as const;
      let joined = '';
      for (let offset: number | null = null; ; ) {
        const { content, structuredContent } = mappedResult(
          map,
          { operationId, text, include: [], offset },
          terms,
        );
        const sent = JSON.stringify(structuredContent).length + JSON.stringify(content[0]?.text).length;
        // The values and the text, each within the bound of the setting.
        expect(sent).toBeLessThanOrEqual(2 * terms.lengthMax);
        const { part } = structuredContent as { part?: { text: string; nextOffset: number | null } };
        joined += part?.text ?? JSON.stringify(structuredContent);
        if (part === undefined || part.nextOffset === null) break;
        expect(part.nextOffset).toBeGreaterThan(offset ?? 0);
        offset = part.nextOffset;
      }
      expect(JSON.parse(joined)).toEqual(shownAnswer(map, answer, []));
    },
  );
});
