import { describe, expect, test } from 'vitest';
import type { GraphEdge, GraphNode } from '../../graph/rules/elements.ts';
import { sha256 } from '../../kernel/canonical-json.ts';
import {
  type EvaluatedContext,
  type ExpectedGraph,
  evaluationRates,
  judgeCase,
  queryIdOf,
} from './evaluation.ts';
import { graphText, groundingStatus, limitsHit, provenanceOf } from './graph-context.ts';

const nodes: GraphNode[] = [
  { id: 'a', type: 'person', label: 'Ada', sourceSpans: [{ sourceRef: 's' }] },
  { id: 'b', type: 'place\nEdges:' },
];
const edges: GraphEdge[] = [
  { id: 'e', sourceId: 'a', targetId: 'b', predicate: 'lives in', label: 'since 1830' },
];

test('the text of a graph names seeds, nodes and edges, a line each', () => {
  const text = [
    'Graph context:',
    'Seeds: a, z',
    'Nodes:',
    '- a (person): Ada',
    '- b (place Edges:)',
    'Edges:',
    '- a --lives in--> b (since 1830)',
  ].join('\n');
  expect(graphText(['a', 'z'], { nodes, edges }, 1_200)).toEqual({
    text,
    hash: sha256(text),
    truncated: false,
  });
  expect(graphText(['a'], { nodes, edges }, 10)).toMatchObject({ text: 'Graph c...', truncated: true });
});

test('provenance has nodes before edges, and counts what it leaves out', () => {
  const { items, omitted } = provenanceOf({ nodes, edges }, 2);
  expect([items.map(({ entityKind, entityId }) => `${entityKind} ${entityId}`), omitted]).toEqual([
    ['node a', 'node b'],
    1,
  ]);
  expect(items[0]).toMatchObject({ label: 'Ada', nodeType: 'person', sourceSpans: [{ sourceRef: 's' }] });
  expect(provenanceOf({ nodes: [], edges }, 9).items[0]).toMatchObject({
    predicate: 'lives in',
    sourceId: 'a',
    nodeType: null,
  });
  expect(provenanceOf({ nodes, edges }, 0)).toEqual({ items: [], omitted: 3 });
});

test('a graph is grounded if at least one element has a source', () => {
  expect(groundingStatus({ nodes, edges })).toBe('source_grounded');
  expect(groundingStatus({ nodes: [], edges })).toBe('ungrounded');
  expect(groundingStatus({ nodes: [], edges: [] })).toBe('none');
});

test('limits are listed in a fixed order', () => {
  const none = { maxRecords: false, edgeLimit: false, nodeLimit: false, maxGraphContextChars: false };
  expect(limitsHit({ ...none, maxSeedNodes: true, maxGraphProvenanceItems: true, maxRecords: true })).toEqual(
    ['maxRecords', 'maxGraphProvenanceItems', 'maxSeedNodes'],
  );
});

describe('a case', () => {
  const context: EvaluatedContext = {
    chunkCount: 1,
    graphStatus: 'succeeded',
    nodeIds: new Set(['a']),
    edgeIds: new Set(['e']),
    provenance: new Map([
      ['a', true],
      ['e', false],
    ]),
    graphContextText: true,
    contextTextTruncated: false,
    graphBudgetTruncated: false,
  };

  test.each<[failures: string[], context: Partial<EvaluatedContext>, expected: ExpectedGraph | null]>([
    [[], {}, null],
    [
      [],
      {},
      { nodeIds: ['a'], edgeIds: ['e'], provenanceEntityIds: ['a', 'e'], requireGraphContextText: true },
    ],
    [['retrieval_miss'], { chunkCount: 0 }, null],
    [['expected_node_missing'], {}, { nodeIds: ['a', 'z'] }],
    [['expected_edge_missing'], {}, { edgeIds: ['z'] }],
    [['expected_provenance_missing'], {}, { provenanceEntityIds: ['z'] }],
    [['source_grounding_failed'], {}, { requireSourceGroundedProvenance: true }],
    [['graph_context_text_missing'], { graphContextText: false }, { requireGraphContextText: true }],
    [['context_text_truncated'], { contextTextTruncated: true }, { requireContextTextNotTruncated: true }],
    [['seed_miss', 'expected_node_missing'], { graphStatus: 'no_seeds' }, { nodeIds: ['z'] }],
    [['graph_not_found', 'expected_node_missing'], { graphStatus: 'graph_not_found' }, { nodeIds: ['z'] }],
    [['traversal_empty', 'expected_node_missing'], { nodeIds: new Set() }, { nodeIds: ['a'] }],
    [['expected_node_missing', 'budget_truncated'], { graphBudgetTruncated: true }, { nodeIds: ['z'] }],
    [[], { graphBudgetTruncated: true, graphStatus: 'no_seeds' }, { nodeIds: ['a'] }],
  ])('fails by %j', (failures, given, expected) => {
    const verdict = judgeCase({ ...context, ...given }, expected);
    expect([verdict.failureCategories, verdict.passed]).toEqual([failures, failures.length === 0]);
  });

  test('adds to the rates of its evaluation, which are 1 if no case has expectations', () => {
    const half = judgeCase(context, { nodeIds: ['a', 'z'] });
    expect(evaluationRates([judgeCase(context, null), half, null])).toEqual({
      passedCount: 1,
      passRate: 1 / 3,
      nodeHitRate: 1 / 2,
      edgeHitRate: 1,
      provenanceHitRate: 1,
      failureCategoryCounts: { expected_node_missing: 1, case_error: 1 },
    });
    expect(evaluationRates([])).toMatchObject({ passRate: 1, nodeHitRate: 1 });
  });

  test('is named by its metadata, its name or its index', () => {
    expect([queryIdOf('n', { queryId: 'q' }, 3), queryIdOf('n', {}, 3), queryIdOf(' ', null, 3)]).toEqual([
      'q',
      'n',
      'case-3',
    ]);
  });
});
