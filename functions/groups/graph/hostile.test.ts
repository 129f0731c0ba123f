import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GraphJob } from '../../../contracts/generated/models.ts';
import {
  edgeClaim,
  GraphClient,
  graphEdge,
  graphNode,
  graphReview,
  inIdOrder,
} from '../../../test/support/graphs.ts';
import { type RunningService, startService } from '../../../test/support/service.ts';

/** Ids that mean something to a language, a path, a database or a page. An id is a text and nothing else. */

let service: RunningService;
let graphs: GraphClient;
beforeAll(async () => {
  service = await startService({ settings: { 'Records:ImportPayloadBytesMax': '4194304' } });
  graphs = new GraphClient(service);
});
afterAll(() => service.close());

const LENGTH_MAX = 2_048;
const words = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'valueOf',
  'then',
  'toJSON',
  'default',
  'null',
];
const spaces = [
  'a',
  ' a',
  'a ',
  'a\tb',
  'a\nb',
  'a\r\nb',
  'a\u2028b',
  'a\u0000b',
  '\u0001',
  '\u0002',
  '\u007f',
];
const paths = [
  '/',
  '.',
  '..',
  '../..',
  'a/../b',
  '%',
  '%2f',
  '%2F..',
  '%00',
  '%zz',
  '?',
  '#',
  '\\',
  'a|b',
  '~0~1',
];
const code = ["'; DROP TABLE records; --", '"', '<script>alert(1)</script>', '#{7*7}', '{{7*7}}', '*', '_'];
const letters = [
  '\u00e9',
  'e\u0301',
  '\ufffd',
  '\ufeffa',
  '\u202e',
  '\u{1f4a5}',
  '\u{10ffff}',
  '\ud7ff\ue000',
];
const longIds = [
  // The record of the first holds its id as it is, and that of the second a hash of it.
  'x'.repeat(675),
  'x'.repeat(676),
  'y'.repeat(LENGTH_MAX),
  `${'y'.repeat(LENGTH_MAX - 1)}z`,
  '\u20ac'.repeat(301),
  '\u20ac'.repeat(LENGTH_MAX),
  '\u{1f4a5}'.repeat(LENGTH_MAX / 2),
];
const ids: readonly string[] = [...words, ...spaces, ...paths, ...code, ...letters, ...longIds];
const idAt = (n: number): string => ids[n % ids.length] ?? '';
const facts = { constructor: { prototype: { polluted: true } }, toString: 'a', score: 0.5 };

const hostile = {
  scope: { graphId: '__proto__', namespace: 'constructor', collection: '..', tenantId: 'a/b' },
  metadata: facts,
  nodes: ids.map((id) => ({ id, type: id, label: id, properties: facts, assertionIds: [id] })),
  edges: ids.flatMap((id, n) => [
    { id, sourceId: id, targetId: idAt(n + 1), predicate: id, assertionIds: [id] },
    { id: `loop ${n}`, sourceId: id, targetId: id, predicate: id },
    { id: `nowhere ${n}`, sourceId: id, targetId: `no node ${n}`, predicate: id },
  ]),
  assertions: ids.map((id) => ({
    id,
    subjectId: id,
    subjectKind: 'edge',
    status: id,
    method: id,
    actor: id,
    properties: facts,
  })),
  reviews: ids.map((id) => ({ id, subjectId: id, subjectKind: 'assertion', status: id, reviewer: id })),
  projections: ids.map((id) => ({ id, startNodeIds: [id] })),
};
const own = {
  graphId: hostile.scope.graphId,
  namespace: hostile.scope.namespace,
  tenantId: hostile.scope.tenantId,
};

/** Members named like those of all objects count, which the matchers of a test leave out. */
const sameAs = (found: unknown, wanted: unknown) => isDeepStrictEqual(found, wanted);

describe('a graph of hostile ids', () => {
  beforeAll(async () => {
    expect(await graphs.imported('hostile', hostile)).toMatchObject({
      status: 'succeeded',
      recordCount: 1 + 7 * ids.length,
    });
  });

  test('is exported as it was imported, and imports elsewhere as it is', async () => {
    const { envelope } = await graphs.exported('hostile', own);
    for (const list of ['nodes', 'edges', 'assertions', 'reviews', 'projections'] as const)
      for (const [n, element] of inIdOrder(envelope[list]).entries())
        expect(sameAs(element, inIdOrder(hostile[list])[n]), `${list} ${n}`).toBe(true);
    expect(sameAs(envelope.metadata, facts)).toBe(true);
    expect(envelope.scope).toMatchObject(hostile.scope);
    expect((await graphs.imported('hostile-copy', envelope)).status).toBe('succeeded');
    expect(sameAs((await graphs.exported('hostile-copy')).envelope, envelope)).toBe(true);
  });

  test('is walked alike by indexes and over an export, and each node has its way', async () => {
    for (const [n, id] of ids.entries()) {
      const body = { ...own, startNodeIds: [id] };
      const profile = { direction: 'outgoing', maxDepth: 2 };
      const found = await graphs.walked('hostile', { ...body, profile });
      const inOnePartition = await graphs.walked('hostile', { ...body, profile, partitionKey: 'tenant:a/b' });
      const { nodes, edges, diagnostics } = found.projection;
      const reached = [id, idAt(n + 1), idAt(n + 2)];
      expect(nodes?.map((node) => node.id).toSorted()).toEqual(reached.toSorted());
      const followed = [id, idAt(n + 1), `loop ${n}`, `loop ${(n + 1) % ids.length}`];
      expect(edges?.map((edge) => edge.id).toSorted()).toEqual(followed.toSorted());
      const { pathExplanations } = diagnostics as { pathExplanations: Record<string, unknown[]> };
      const ways = reached.map((each, depth) => [Object.hasOwn(pathExplanations, each), depth]);
      expect(ways).toEqual(reached.map((_, depth) => [true, depth]));
      expect([inOnePartition.projection.nodes, inOnePartition.projection.edges]).toEqual([nodes, edges]);
    }
    // A walk of more nodes than this reads the whole graph.
    const from = (limit: number) =>
      graphs.walked('hostile', { ...own, startNodeIds: ids, profile: { limit, edgeLimit: 1_000 } });
    const [found, whole] = [await from(500), await from(501)];
    expect([found, whole].map(({ projection }) => projection.diagnostics)).toMatchObject([
      { scanMode: 'indexes', edgeCount: 2 * ids.length },
      { scanMode: 'export', edgeCount: 2 * ids.length },
    ]);
    expect([whole.projection.nodes, whole.projection.edges]).toEqual([
      found.projection.nodes,
      found.projection.edges,
    ]);
  });

  test('is walked by what is said of its edges, and by nothing else', async () => {
    for (const [n, id] of ids.entries()) {
      const statuses = {
        predicates: [id],
        assertionStatuses: [id],
        reviewStatuses: [id],
        nodeTypes: [idAt(n + 1)],
      };
      const found = await graphs.walked('hostile', {
        ...own,
        startNodeIds: [id],
        profile: { ...statuses, direction: 'outgoing' },
      });
      expect(found.projection.edges?.map((edge) => edge.id)).toEqual([id]);
    }
  });

  test('is counted', async () => {
    const found = await graphs.inspected('hostile', own);
    expect(found).toMatchObject({
      nodeCount: ids.length,
      danglingEdgeCount: ids.length,
      orphanReviewCount: 0,
    });
    expect(new Map(Object.entries(found.reviewStatusCounts ?? {}))).toEqual(
      new Map(ids.map((id) => [id, 1])),
    );
  });

  test('leaves the objects of the process alone', () => {
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

const tooLong = 'y'.repeat(LENGTH_MAX + 1);
const broken = 'a\ud800';
const sound = Array.from({ length: 400 }, (_, n) => graphNode(`node ${n}`));

describe('an id that no element may have', () => {
  const isRefused = async (envelope: object, wanted: object) => {
    for (const what of ['import', 'import/jobs', 'import/preflight']) {
      const answer = await graphs.post('refused', what, { envelope });
      expect([answer.status, answer.json()], what).toMatchObject([400, wanted]);
    }
    expect((await graphs.get('/collections/refused')).status).toBe(404);
    const jobs = (await graphs.get('/graph/jobs?limit=200')).json<GraphJob[]>();
    expect(jobs.filter(({ collection }) => collection === 'refused')).toEqual([]);
  };

  test.each<readonly [string, object]>([
    ['/envelope/nodes/400/id', { nodes: [...sound, graphNode(tooLong)] }],
    ['/envelope/edges/0/id', { edges: [graphEdge(tooLong, 'a', 'b')] }],
    ['/envelope/edges/0/sourceId', { edges: [graphEdge('e', tooLong, 'b')] }],
    ['/envelope/edges/0/targetId', { edges: [graphEdge('e', 'a', tooLong)] }],
    ['/envelope/assertions/0/id', { assertions: [edgeClaim(tooLong, 'e', 's')] }],
    ['/envelope/assertions/0/subjectId', { assertions: [edgeClaim('a', tooLong, 's')] }],
    ['/envelope/reviews/0/id', { reviews: [graphReview(tooLong, 'a', 's')] }],
    ['/envelope/reviews/0/subjectId', { reviews: [graphReview('r', tooLong, 's')] }],
    ['/envelope/projections/0/id', { projections: [{ id: tooLong }] }],
  ])('is refused where it is too long, and leaves nothing: %s', (pointer, envelope) =>
    isRefused(envelope, { code: 'limit_exceeded', errors: [{ pointer }] }),
  );

  test.each<readonly [string, object]>([
    ['a node', { nodes: [...sound, graphNode(broken)] }],
    ['an edge', { edges: [graphEdge(broken, 'a', 'b')] }],
    ['an end of an edge', { nodes: sound, edges: [graphEdge('e', 'a', broken)] }],
    ['an assertion', { assertions: [edgeClaim(broken, 'e', 's')] }],
    ['a review', { reviews: [graphReview(broken, 'a', 's')] }],
    ['an assertion that a node names', { nodes: [...sound, graphNode('a', { assertionIds: [broken] })] }],
    ['a start of a projection', { nodes: sound, projections: [{ id: 'p', startNodeIds: [broken] }] }],
    ['a graph', { scope: { graphId: broken }, nodes: sound }],
    ['a member', { nodes: [...sound, graphNode('a', { [broken]: 1 })] }],
  ])('is refused with a lone surrogate, and leaves nothing: %s', (_, envelope) =>
    isRefused(envelope, { code: 'malformed_request' }),
  );

  test('is refused as what a walk begins at', async () => {
    const long = await graphs.post('hostile', 'traverse', { startNodeIds: ['a', tooLong] });
    expect([long.status, long.json()]).toMatchObject([400, { errors: [{ pointer: '/startNodeIds/1' }] }]);
    expect((await graphs.post('hostile', 'traverse', { startNodeIds: [broken] })).status).toBe(400);
  });
});
