import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { mappedResult } from './mapped-result.ts';
import { valueAtPath } from './member-paths.ts';
import type { ToolMap } from './tool-map.ts';

const map: ToolMap = {
  takes: {},
  advanced: {},
  defaults: {},
  isList: false,
  answer: {
    items: 'graph/nodes',
    line: ['id', 'label'],
    summary: ['graph/id', 'nodeCount'],
    follows: {
      'graph/edges': {
        members: ['from', 'to'],
        item: 'id',
        line: ['from', 'kind', 'to'],
      },
    },
    include: { diagnostics: ['graph/diagnostics'] },
  },
};

const node = (at: number, label = 'a label '.repeat(40)): JsonObject => ({ id: `n-${at}`, label });
const edge = (from: number, to: number): JsonObject => ({
  id: `e-${from}-${to}`,
  from: `n-${from}`,
  kind: 'knows',
  to: `n-${to}`,
});

function answerOf(nodes: readonly JsonObject[], edges: readonly JsonObject[]): string {
  return JSON.stringify({ graph: { id: 'g', nodes, edges, diagnostics: {} }, nodeCount: nodes.length });
}

function resultFor(text: string, offset: number | null = null) {
  const asked = { operationId: 'traverseGraph', text, include: [], offset };
  const result = mappedResult(map, asked, { lengthMax: 200_000, textContent: 'compact' });
  const values = result.structuredContent as JsonObject;
  const [first] = result.content as readonly { readonly text: string }[];
  const idsAt = (path: string) =>
    (valueAtPath(values, path) as readonly Json[]).map((each) => valueAtPath(each, 'id'));
  const length = JSON.stringify(values).length + JSON.stringify(first?.text).length;
  return { values, idsAt, length, lines: (first?.text ?? '').split('\n') };
}

describe('an answer whose lists stand below a member', () => {
  test('ends at a node, has each edge with the later of its ends, and goes on', () => {
    const nodes = Array.from({ length: 100 }, (_, at) => node(at));
    const edges = nodes.flatMap((_, at) => [edge(0, at), edge(at, (at * 7) % 100)]);
    const seen = new Set<unknown>();
    const met: unknown[] = [];
    for (let offset: number | null = 0; offset !== null; ) {
      const { values, idsAt, length, lines } = resultFor(answerOf(nodes, edges), offset);
      expect(length).toBeLessThanOrEqual(25_000);
      for (const id of idsAt('graph/nodes')) seen.add(id);
      for (const each of valueAtPath(values, 'graph/edges') as readonly JsonObject[])
        expect([seen.has(each['from']), seen.has(each['to'])]).toEqual([true, true]);
      met.push(...idsAt('graph/edges'));
      expect(values).toMatchObject({ graph: { id: 'g' }, nodeCount: 100 });
      offset = (values['nextOffset'] as number | undefined) ?? null;
      expect(lines.at(-1)?.includes(`"answerOffset": ${offset}`)).toBe(offset !== null);
    }
    expect(seen.size).toBe(100);
    expect(met).toHaveLength(edges.length);
    expect(new Set(met)).toEqual(new Set(edges.map(({ id }) => id)));
  });

  test('has the edges of a node below its line', () => {
    const { lines } = resultFor(
      answerOf(
        Array.from({ length: 20 }, (_, at) => node(at)),
        [edge(1, 0), edge(1, 1)],
      ),
    );
    expect(lines.slice(1, 5).map((line) => line.slice(0, 40))).toEqual([
      expect.stringMatching(/^2\. id="n-1" label="a label/),
      '   - from="n-1" kind="knows" to="n-0"',
      '   - from="n-1" kind="knows" to="n-1"',
      expect.stringMatching(/^3\. id="n-2"/),
    ]);
    expect(lines.at(-1)).toBe('id="g" nodeCount=20');
  });

  test('has an edge without a node in it with the first node', () => {
    const { idsAt } = resultFor(answerOf([node(0)], [edge(8, 9)]));
    expect(idsAt('graph/edges')).toEqual(['e-8-9']);
    expect(resultFor(answerOf([], [edge(8, 9)])).idsAt('graph/edges')).toEqual(['e-8-9']);
  });

  test('shortens a node with more edges than a part has room for, and says so', () => {
    const many = Array.from({ length: 2_000 }, () => edge(0, 0));
    const { values, idsAt, length, lines } = resultFor(answerOf([node(0, 'Ada'), node(1)], many));
    expect(length).toBeLessThanOrEqual(25_000);
    expect(values).toMatchObject({ shortened: true, nextOffset: 1, graph: { nodes: [{ label: 'Ada' }] } });
    expect(idsAt('graph/edges').length).toBeGreaterThan(20);
    expect(lines.join('\n')).toContain('too long for a list');
  });
});
