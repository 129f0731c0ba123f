import { describe, expect, test } from 'vitest';
import { finish } from '../../../test/support/finish.ts';
import { refusalOf } from '../../../test/support/refusal.ts';
import type { RecordValue } from '../../collections/rules/record-key.ts';
import { coverSeeds, diagnose, type Examined } from './doctor.ts';
import { envelopeOf } from './graph.fixture.ts';
import { type InspectionOptions, inspectGraph } from './inspect.ts';
import { graphRecords } from './record-map.ts';
import { findSeeds, readSeedPointers, SEED_POINTERS } from './seeds.ts';
import { findShape, providerShapes } from './shapes.ts';

const recordsOf = (given: object) =>
  JSON.parse(JSON.stringify([...graphRecords(envelopeOf(given))])) as RecordValue[];
const inspected = (records: readonly RecordValue[], options: Partial<InspectionOptions> = {}) =>
  finish(
    inspectGraph(records, {
      includeAnomalies: true,
      anomalyLimit: 50,
      allowPartialGraph: false,
      truncated: false,
      ...options,
    }),
  );

const odd = {
  nodes: [{ id: 'n', type: 'x', sourceSpans: [{ sourceRef: 's' }], assertionIds: ['a9'] }],
  edges: [{ id: 'e', sourceId: 'n', targetId: 'z', predicate: 'p' }],
  assertions: [
    { id: 'a', subjectId: 'z' },
    { id: 'b', subjectId: 'e', subjectKind: 'claim' },
  ],
  reviews: [{ id: 'r', subjectId: 'q', status: 's', reviewer: 'w' }],
  projections: [{ id: 'p', startNodeIds: ['n', 'y'] }],
};

describe('an inspection', () => {
  test('counts the elements of the graph', () => {
    const found = inspected(recordsOf(odd));
    expect(found).toMatchObject({
      recordCount: 7,
      nodeCount: 1,
      edgeCount: 1,
      assertionCount: 2,
      reviewCount: 1,
    });
    expect(found.recordTypeCounts[0]).toEqual(['graph.assertion', 2]);
    expect(found.tenantIdCounts).toEqual([['(missing)', 7]]);
    expect(found.nodeTypeCounts).toEqual([['x', 1]]);
    expect(found.sourceGrounding).toMatchObject({ nodeCoverage: 1, edgeCoverage: 0, edgeUngroundedCount: 1 });
  });

  test('lists anomalies in the order of their kinds', () => {
    const { anomalies, ...found } = inspected(recordsOf(odd));
    expect(anomalies.map(({ kind, id }) => [kind, id])).toEqual([
      ['danglingEdge', 'e'],
      ['orphanAssertion', 'a'],
      ['orphanReview', 'r'],
      ['danglingAssertionReference', 'a9'],
      ['danglingProjectionStartNode', 'y'],
    ]);
    expect(anomalies[0]?.details).toEqual({
      sourceId: 'n',
      sourceExists: true,
      targetId: 'z',
      targetExists: false,
    });
    expect(anomalies[3]).toMatchObject({ subjectId: 'n', subjectKind: 'node' });
    expect(found).toMatchObject({
      anomalyCount: 5,
      danglingEdgeCount: 1,
      warningCount: 5,
      traversalReady: false,
    });
  });

  test('finds duplicate elements, such as in two partitions', () => {
    const one = recordsOf({ nodes: [{ id: 'n', type: 'x' }] });
    const found = inspected([...one, ...one.map((record) => ({ ...record, partitionKey: 'other' }))]);
    expect(found).toMatchObject({ duplicateNodeIdCount: 1, traversalReady: false });
  });

  test('counts also anomalies that it does not list', () => {
    const some = inspected(recordsOf(odd), { anomalyLimit: 2 });
    expect([some.anomalyCount, some.returnedAnomalyCount, some.anomalies.length]).toEqual([5, 2, 2]);
    expect(inspected(recordsOf(odd), { includeAnomalies: false }).anomalies).toEqual([]);
  });

  test('calls a graph ready whose references alone dangle, and not a part of one', () => {
    const nodes = [{ id: 'n', type: 'x', assertionIds: ['a9'] }];
    const records = recordsOf({ nodes, projections: [{ id: 'p', startNodeIds: ['y'] }] });
    expect(inspected(records).traversalReady).toBe(true);
    expect(inspected(records, { truncated: true }).traversalReady).toBe(false);
    expect(inspected(records, { truncated: true, allowPartialGraph: true }).traversalReady).toBe(true);
    expect(inspected([])).toMatchObject({ traversalReady: false, sourceGrounding: { nodeCoverage: 1 } });
  });
});

const record = (id: string, metadata: object): RecordValue => ({
  id,
  partitionKey: 'p',
  metadata: metadata as never,
});

describe('seeds', () => {
  test('are the named nodes, then those of the records, each once and trimmed', () => {
    const records = [
      record('r1', { graphNodeId: ' b ' }),
      record('r2', { graphNodeIds: ['c', 'a', 7], nodeId: ' ' }),
    ];
    const found = findSeeds(['a'], records, SEED_POINTERS, 16);
    expect(found.nodeIds).toEqual(['a', 'b', 'r1', 'c', '7', 'r2']);
    expect(found).toMatchObject({ candidateCount: 7, droppedCount: 0, omittedDiagnosticCount: 0 });
    expect(found.diagnostics.map(({ skippedReason }) => skippedReason)).toEqual([
      null,
      null,
      'missing',
      'missing',
      null,
      'missing',
      'blank',
      null,
      'duplicate',
      null,
      null,
    ]);
  });

  test('beyond the maximum are counted', () => {
    const found = findSeeds(['a', 'b', 'c', 'b'], [], SEED_POINTERS, 1);
    expect([found.nodeIds, found.droppedCount]).toEqual([['a'], 2]);
    expect(found.diagnostics[1]).toMatchObject({ skippedReason: 'maxSeedNodes', accepted: false });
  });

  test('have at most two hundred diagnostics', () => {
    const many = findSeeds(
      Array.from({ length: 250 }, (_, at) => `n${at}`),
      [],
      SEED_POINTERS,
      300,
    );
    expect([many.diagnostics.length, many.omittedDiagnosticCount]).toEqual([200, 50]);
  });

  test('are read at the pointers of the request', () => {
    expect(readSeedPointers(null)).toBe(SEED_POINTERS);
    expect(readSeedPointers(['/a', '/a'])).toEqual(['/a']);
    expect(refusalOf(() => readSeedPointers(['a']))).toMatchObject({
      errors: [{ pointer: '/seedJsonPointers/0' }],
    });
  });

  test('cover a collection as far as they are nodes', () => {
    const records = [record('r1', { nodeId: 'n' }), record('r2', { nodeId: 'z' }), record('r3', {})];
    expect(finish(coverSeeds(records, ['/metadata/nodeId'], new Set(['n'])))).toMatchObject({
      recordsWithSeedMetadataCount: 2,
      seedCoverage: 2 / 3,
      resolvedSeedCoverage: 1 / 2,
      resolvedSeedNodeIds: ['n'],
      unresolvedSeedNodeIds: ['z'],
    });
  });
});

test.each<[status: string, examined: Partial<Examined>]>([
  ['budget_truncated', { graphTruncated: true, graphReady: false }],
  ['graph_not_ready', { graphReady: false, coverage: null }],
  ['no_seeds', { coverage: { seedValueCount: 0, resolvedSeedNodeCount: 0 } as never }],
  ['seed_node_not_found', { coverage: { seedValueCount: 2, resolvedSeedNodeCount: 0 } as never }],
  ['traversal_empty', { edgeCount: 0 }],
  ['ready', {}],
])('the status of a doctor is %s', (status, given) => {
  const healthy = { graphTruncated: false, graphReady: true, nodeCount: 2, edgeCount: 1, coverage: null };
  const diagnosis = diagnose({ ...healthy, targetTruncated: false, ...given });
  expect(diagnosis).toMatchObject({ status, ready: status === 'ready' });
  const mode = status === 'graph_not_ready' ? 'graph_anomalies' : status;
  expect(diagnosis.failureMode).toBe(status === 'ready' ? null : mode);
  const cut = diagnose({ ...healthy, ...given, targetTruncated: true });
  expect(cut.recommendedActions).toHaveLength(diagnosis.recommendedActions.length + 1);
});

test('provider shapes have a fixed order, and are found by their exact id only', () => {
  expect(providerShapes.map(({ id, kind }) => [id, kind])).toEqual([
    ['local-sqlite', 'local_sqlite'],
    ['svc-collection', 'svc_collection'],
    ['cosmos-gremlin', 'cosmos_gremlin'],
    ['neptune', 'neptune'],
    ['spanner-graph', 'spanner_graph'],
  ]);
  expect(findShape('neptune')).toMatchObject({ graphIdField: 'graphId', metadata: null });
  expect(findShape('Neptune')).toBe(null);
});
