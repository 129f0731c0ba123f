import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { finish } from '../../../test/support/finish.ts';
import { refusalOf } from '../../../test/support/refusal.ts';
import { readPolicy } from '../../collections/rules/policy.ts';
import type { RecordValue } from '../../collections/rules/record-key.ts';
import { readRecord } from '../../collections/rules/record-text.fixture.ts';
import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import type { GraphScope } from './elements.ts';
import { envelopeOf, graphs } from './graph.fixture.ts';
import { decidePolicy, graphPolicy, missingIndexes } from './graph-policy.ts';
import * as preflight from './preflight.ts';
import * as envelopes from './read-envelope.ts';
import { partitionOf } from './read-scope.ts';
import * as rebuild from './rebuild.ts';
import { envelopeSubject, graphRecordId } from './record-ids.ts';
import { graphRecords } from './record-map.ts';

const inspectEnvelope = (given: JsonObject) => finish(envelopes.inspectEnvelope(given));
const readEnvelope = (given: JsonObject) => finish(envelopes.readEnvelope(given));
const rebuildEnvelope = (records: readonly RecordValue[]) => finish(rebuild.rebuildEnvelope(records));
const preflightImport = (...given: Parameters<typeof preflight.preflightImport>) =>
  finish(preflight.preflightImport(...given));

const recordsOf = (given: object) => [...graphRecords(envelopeOf(given))];
/** The records in the form that a collection returns. */
const stored = (given: object) => JSON.parse(JSON.stringify(recordsOf(given))) as RecordValue[];
const asJson = (value: unknown) => JSON.parse(JSON.stringify(value)) as JsonObject;

const full = {
  scope: { graph_id: ' g ', tenantId: 't' },
  nodes: [
    {
      id: 'n/1',
      type: 'person',
      label: 'Ada',
      source_spans: [{ source_ref: 's', char_start: 1, charEnd: 2, locator: 'l', textHash: 'h' }, {}],
    },
  ],
  edges: [{ id: 'e', source_id: 'n/1', target_id: 'n2', predicate: 'knows' }],
  assertions: [{ id: 'a', subjectId: 'e', subjectKind: 'edge' }],
  reviews: [{ id: 'r', subjectId: 'a', status: 'approved', reviewer: 'bob', notes: 'fine' }],
  projections: [{ id: 'p', profile: { id: 'near' } }],
};

describe('the records of a graph', () => {
  const [envelope, node, edge, assertion, review, projection] = recordsOf(full);
  const common = {
    graphId: 'g',
    namespace: 'default',
    scopeCollection: 'default',
    tenantId: 't',
    graphPartitionKey: 'tenant:t',
  };

  test('have ids of their kind and subject, one partition and the schema of the graph', () => {
    const id = (text: string) => Buffer.from(text).toString('base64url');
    expect(recordsOf(full).map((each) => each.id)).toEqual([
      `g:envelope:${id('g|default|default|t|tenant:t')}`,
      `g:node:${id('n/1')}`,
      `g:edge:${id('e')}`,
      `g:assertion:${id('a')}`,
      `g:review:${id('r')}`,
      `g:projection:${id('p')}`,
    ]);
    for (const record of recordsOf(full))
      expect(record).toMatchObject({
        partitionKey: 'tenant:t',
        schemaVersion: 'roman.graph.v1',
        vectors: null,
      });
  });

  test('have metadata by which they are found', () => {
    expect(envelope?.metadata).toEqual({
      graphKind: 'envelope',
      ...common,
      subjectId: 'g|default|default|t|tenant:t',
    });
    expect(node?.metadata).toEqual({
      graphKind: 'node',
      ...common,
      subjectId: 'n/1',
      nodeId: 'n/1',
      nodeType: 'person',
    });
    expect(edge?.metadata).toMatchObject({
      subjectId: 'e',
      sourceId: 'n/1',
      targetId: 'n2',
      predicate: 'knows',
    });
    expect(assertion?.metadata).toMatchObject({
      subjectId: 'e',
      subjectKind: 'edge',
      assertionStatus: 'proposed',
    });
    expect(review?.metadata).toMatchObject({
      subjectId: 'a',
      subjectKind: 'assertion',
      reviewStatus: 'approved',
    });
    expect(projection?.metadata).toMatchObject({ projectionId: 'p', subjectId: 'p' });
  });

  test('have texts by which words find them, and the element with the names of the contract', () => {
    expect(recordsOf(full).map(({ content }) => content['text'])).toEqual([
      'graph envelope g',
      'n/1 person Ada',
      'e n/1 knows n2',
      'a edge e proposed unspecified system',
      'r assertion a approved bob fine',
      'p near',
    ]);
    expect(edge?.content['edge']).toEqual({ id: 'e', sourceId: 'n/1', targetId: 'n2', predicate: 'knows' });
    expect(node?.content['scope']).toMatchObject({ graphId: 'g', partitionKey: '' });
  });

  test('have a source for each span', () => {
    const span = { charStart: 1, charEnd: 2, anchor: 'l', unit: 'utf16', textHash: 'h' };
    expect(node?.sources).toEqual([
      { id: 's', kind: 'graphSourceSpan', uri: 's', label: 'l', span },
      {
        id: 'graph-source',
        kind: 'graphSourceSpan',
        uri: 'graph://source',
        label: null,
        span: { charStart: null, charEnd: null, anchor: null, unit: 'utf16' },
      },
    ]);
  });

  test('are accepted by a collection that is made for them', () => {
    const policy = readPolicy(graphPolicy('graphs'));
    for (const record of recordsOf(full))
      expect(readRecord(JSON.stringify(record), policy).key.id).toBe(record.id);
  });

  test('make the same graph again', () => {
    fc.assert(
      fc.property(graphs, (given) => {
        const whole = envelopeOf({ ...given, metadata: { a: 1 } });
        expect(asJson(rebuildEnvelope(stored({ ...given, metadata: { a: 1 } })))).toEqual(asJson(whole));
      }),
      { numRuns: 300 },
    );
  });

  test('name the graph also without its envelope', () => {
    const { scope } = rebuildEnvelope(stored(full).slice(1));
    expect(scope).toMatchObject({
      graphId: 'g',
      namespace: 'default',
      tenantId: 't',
      partitionKey: 'tenant:t',
    });
  });

  test('without an element are skipped', () => {
    const odd = [{ id: 'x', partitionKey: 'p', type: 'graph.node', content: { node: { id: 7 } } }];
    expect(rebuildEnvelope(odd as unknown as RecordValue[]).nodes).toEqual([]);
    expect(rebuildEnvelope([])).toMatchObject({ schema: 'roman.graph.v1', nodes: [] });
  });
});

test('two scopes have two envelopes, also if a member contains the separator', () => {
  const member = fc.string({ unit: fc.constantFrom('a', '|', '\\', '"', ','), maxLength: 3 });
  const scope = fc.record({
    graphId: member,
    namespace: member,
    collection: member,
    tenantId: member,
    partitionKey: member,
  });
  const named = (each: GraphScope) =>
    JSON.stringify([each.graphId, each.namespace, each.collection, each.tenantId, partitionOf(each)]);
  fc.assert(
    fc.property(scope, scope, (one, other) => {
      const isSame = named(one) === named(other);
      expect(envelopeSubject(one) === envelopeSubject(other)).toBe(isSame);
    }),
  );
  const rest = { collection: 'c', tenantId: '', partitionKey: 'p' };
  expect(envelopeSubject({ graphId: 'g', namespace: 'n', ...rest })).toBe('g|n|c||p');
  expect(envelopeSubject({ graphId: 'g|n', namespace: 'm', ...rest })).not.toBe(
    envelopeSubject({ graphId: 'g', namespace: 'n|m', ...rest }),
  );
});

test('the id of a record stays below the longest that a record may have', () => {
  expect(graphRecordId('node', ' ')).toBe('g:node:default');
  expect(graphRecordId('assertion', 'x'.repeat(675))).toHaveLength('g:assertion:'.length + 900);
  expect(graphRecordId('node', 'x'.repeat(676))).toMatch(/^g:node:sha256-[0-9a-f]{64}$/);
  expect(graphRecordId('node', 'x'.repeat(677))).not.toBe(graphRecordId('node', 'x'.repeat(678)));
});

describe('an envelope is refused', () => {
  const element = (list: string, ...elements: Json[]): JsonObject => ({ [list]: elements });
  test.each<[why: string, given: JsonObject, pointer: string]>([
    ['with an element that is no object', element('nodes', 7), '/nodes/0'],
    ['with a node without an id', element('nodes', { type: 't' }), '/nodes/0/id'],
    ['with a blank id', element('nodes', { id: ' ', type: 't' }), '/nodes/0/id'],
    ['with half a code point', element('nodes', { id: '\ud800', type: 't' }), '/nodes/0/id'],
    ['with an id twice', element('nodes', { id: 'n', type: 't' }, { id: 'n', type: 't' }), '/nodes/1/id'],
    [
      'with an edge without an end',
      element('edges', { id: 'e', sourceId: 's', predicate: 'p' }),
      '/edges/0/targetId',
    ],
    [
      'with a review without a reviewer',
      element('reviews', { id: 'r', subjectId: 's', status: 's' }),
      '/reviews/0/reviewer',
    ],
    [
      'with spans that are no objects',
      element('nodes', { id: 'n', type: 't', sourceSpans: ['s'] }),
      '/nodes/0/sourceSpans/0',
    ],
    [
      'with ids that are no texts',
      element('nodes', { id: 'n', type: 't', assertionIds: [1] }),
      '/nodes/0/assertionIds',
    ],
    ['with a partition that no record may have', { scope: { partitionKey: '..' } }, '/scope/partitionKey'],
    ['with an id of NUL for its tenant', { scope: { tenantId: 'a\0' } }, '/scope/partitionKey'],
  ])('%s', (_, given, pointer) => {
    expect(inspectEnvelope(given).faults.map((fault) => fault.pointer)).toContain(pointer);
    expect(refusalOf(() => readEnvelope(given)).code).toBe('validation_failed');
  });

  test('with 10,001 entities, but not with entities for exactly 10,000 records', () => {
    const nodes = Array.from({ length: 10_000 }, (_, at) => ({ id: `n${at}`, type: 't' }));
    expect(inspectEnvelope({ nodes: nodes.slice(1) }).faults).toEqual([]);
    expect(inspectEnvelope({ nodes }).faults).toMatchObject([{ pointer: '' }]);
  });

  test('and lists at most a hundred faults', () => {
    expect(inspectEnvelope({ nodes: Array.from({ length: 500 }, () => 1) }).faults).toHaveLength(100);
  });
});

const options = { createCollectionIfMissing: true, replaceExisting: false, allowNonGraphPolicy: false };

test('an import accepts a collection of graphs, or another one that the caller allows', () => {
  const other = readPolicy({ name: 'c' });
  expect(missingIndexes(graphPolicy('c'))).toEqual([]);
  expect(graphPolicy('c').indexedMetadata).toHaveLength(20);
  expect(decidePolicy(null, options)).toEqual({ status: 'created' });
  expect(decidePolicy(null, { ...options, createCollectionIfMissing: false })).toEqual({
    fault: 'collection_missing',
  });
  expect(decidePolicy(other, options)).toEqual({ fault: 'non_graph_policy' });
  expect(decidePolicy(other, { ...options, replaceExisting: true })).toEqual({ status: 'replaced' });
  expect(decidePolicy(graphPolicy('c'), options)).toEqual({ status: 'existing_graph_policy' });
  expect(decidePolicy(other, { ...options, allowNonGraphPolicy: true })).toEqual({
    status: 'existing_non_graph_policy_allowed',
  });
});

test('a preflight reports all effects of an import, and why it would be refused', () => {
  const good = preflightImport(full, options, 'c', null);
  expect(good).toMatchObject({
    valid: true,
    wouldCreateCollection: true,
    recordCount: 6,
    graphId: 'g',
    errors: [],
  });
  const bad = preflightImport({ nodes: [{}] }, options, 'c', readPolicy({ name: 'c' }));
  expect(bad).toMatchObject({
    valid: false,
    readyToImport: false,
    collectionPolicyStatus: 'non_graph_policy',
  });
  expect(bad.errors[0]).toContain('/metadata/graphId');
  expect(bad.errors[1]).toMatch(/^\/envelope\/nodes\/0\/id /);
  const replacing = preflightImport({}, { ...options, replaceExisting: true }, 'c', graphPolicy('c'));
  expect([replacing.valid, replacing.warningCount]).toEqual([true, 1]);
});
