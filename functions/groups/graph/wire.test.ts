import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type {
  GraphJob,
  SvcGraphCollectionExportResult,
  SvcGraphTraversalResult,
} from '../../../contracts/generated/models.ts';
import { RecordSpace } from '../../../test/security/record-space.ts';
import { type RunningService, startService } from '../../../test/support/service.ts';

/** Graphs over HTTP. Every answer is checked against its model. */

let service: RunningService;
beforeAll(async () => {
  service = await startService({ settings: { 'Records:ImportPayloadBytesMax': '4194304' } });
});
afterAll(() => service.close());

const post = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  service.call({ method: 'POST', path, body, headers });
const read = (path: string) => service.call({ method: 'GET', path });

async function ended(path: string): Promise<GraphJob> {
  return (await service.ended({ method: 'GET', path })).json<GraphJob>();
}

async function done(path: string, body: unknown): Promise<GraphJob> {
  const answer = await post(path, body);
  expect(answer.status, answer.body).toBe(202);
  return ended(answer.json<GraphJob>().admission.statusUri);
}

const node = (id: string, more: object = {}) => ({ id, type: 'person', ...more });
const edge = (id: string, sourceId: string, targetId: string, more: object = {}) => ({
  id,
  sourceId,
  targetId,
  predicate: 'knows',
  ...more,
});
const people = {
  scope: { graphId: 'people' },
  metadata: { of: 'a test' },
  nodes: [node('ada', { label: 'Ada' }), node('bob'), node('cleo')],
  edges: [edge('ab', 'ada', 'bob'), edge('bc', 'bob', 'cleo', { assertionIds: ['a1'] })],
  assertions: [{ id: 'a1', subjectId: 'bc', subjectKind: 'edge', status: 'accepted' }],
  reviews: [{ id: 'r1', subjectId: 'a1', status: 'accepted', reviewer: 'dan' }],
};
const at = (name: string, what: string) => `/collections/${name}/graph/${what}`;
const idsOf = (elements: readonly { readonly id: string }[] | null | undefined) =>
  (elements ?? []).map(({ id }) => id);

async function walk(name: string, body: object): Promise<SvcGraphTraversalResult> {
  const answer = await post(at(name, 'traverse'), body);
  expect(answer.status, answer.body).toBe(200);
  return answer.json();
}

async function exported(name: string, body: object = {}): Promise<SvcGraphCollectionExportResult> {
  const answer = await post(at(name, 'export'), body);
  expect(answer.status, answer.body).toBe(200);
  return answer.json();
}

describe('importGraphEnvelope and startGraphImportJob: an import', () => {
  test.each(['import', 'import/jobs'])('by %s is a job that makes the collection', async (path) => {
    const name = `made-${path.replace('/', '-')}`;
    const answer = await post(at(name, path), { envelope: people });
    const job = answer.json<GraphJob>();
    expect([answer.status, answer.headers['location']]).toEqual([202, `/graph/jobs/${job.id}`]);
    expect(job).toMatchObject({
      kind: 'import',
      collection: name,
      graphId: 'people',
      partitionKey: 'graph:people',
      requested: 8,
      recordCount: 8,
      nodeCount: 3,
      importResult: null,
    });
    const end = await ended(`/graph/jobs/${job.id}`);
    expect(end).toMatchObject({
      status: 'succeeded',
      succeeded: 8,
      progress: 1,
      warningCount: 0,
      importResult: { policyStatus: 'created', edgeCount: 2, records: { succeeded: 8, failed: 0 } },
    });
    const run = (await read(`/execution/runs/${job.id}`)).json<object>();
    expect(run).toMatchObject({
      handlerId: 'svc.graph.import',
      pluginId: 'svc.graph',
      maxAttempts: 1,
      tags: { 'svc.job': 'graph', 'svc.graph.kind': 'import', 'svc.collection': name },
    });
    const artifacts = (await read(`/execution/runs/${job.id}/artifacts`)).json<{ name: string }[]>();
    expect(artifacts.map((artifact) => artifact.name)).toEqual(['graph-import-result']);
  });

  test('of the same key is the same job, and of another graph a conflict', async () => {
    const key = { 'Idempotency-Key': 'graph-key' };
    const first = (await post(at('keyed', 'import'), { envelope: people }, key)).json<GraphJob>();
    const again = await post(at('keyed', 'import'), { envelope: people }, key);
    expect(again.headers).toMatchObject({ 'idempotency-replayed': 'true' });
    expect(again.json()).toMatchObject({ id: first.id, admission: { replayed: true } });
    const other = await post(at('keyed', 'import'), { envelope: { nodes: [node('x')] } }, key);
    expect([other.status, other.json()]).toMatchObject([409, { code: 'idempotency_conflict' }]);
  });

  test('merges, and replaces where the request says so', async () => {
    await done(at('merged', 'import'), { envelope: people });
    const more = { scope: { graphId: 'people' }, nodes: [node('ada', { label: 'A' }), node('dan')] };
    expect((await done(at('merged', 'import'), { envelope: more })).importResult?.policyStatus).toBe(
      'existing_graph_policy',
    );
    expect(idsOf((await exported('merged')).envelope.nodes).sort()).toEqual(['ada', 'bob', 'cleo', 'dan']);
    const only = await done(at('merged', 'import'), { envelope: more, replaceExisting: true });
    expect([only.importResult?.policyStatus, only.warningCount]).toEqual(['replaced', 1]);
    expect(idsOf((await exported('merged')).envelope.nodes).sort()).toEqual(['ada', 'dan']);
  });

  test('fails where its collection may not hold it', async () => {
    const absent = await done(at('absent', 'import'), { envelope: people, createCollectionIfMissing: false });
    expect(absent).toMatchObject({ status: 'failed', failureClass: 'collection_not_found', succeeded: 0 });
    await new RecordSpace(service.call).create({ name: 'plain' });
    const plain = await done(at('plain', 'import'), { envelope: people });
    expect(plain).toMatchObject({ status: 'failed', failureClass: 'validation' });
    const forced = await done(at('plain', 'import'), { envelope: people, allowNonGraphPolicy: true });
    expect(forced).toMatchObject({
      status: 'succeeded',
      importResult: { policyStatus: 'existing_non_graph_policy_allowed' },
    });
  });

  test.each([
    ['an id twice', { nodes: [node('a'), node('a')] }, '/envelope/nodes/1/id'],
    ['a blank id', { nodes: [node(' ')] }, '/envelope/nodes/0/id'],
    [
      'an edge without an end',
      { edges: [{ id: 'e', predicate: 'p', sourceId: 'a' }] },
      '/envelope/edges/0/targetId',
    ],
    ['a time that is none', { nodes: [node('a', { created_at: 'today' })] }, '/envelope/nodes/0/createdAt'],
    [
      '10,001 entities',
      { nodes: Array.from({ length: 10_001 }, (_, index) => node(`${index}`)) },
      '/envelope',
    ],
  ])('with %s is refused before a job, and a preflight says why', async (_, envelope, pointer) => {
    const refused = await post(at('refused', 'import'), { envelope });
    expect(refused.status).toBe(400);
    expect(refused.json<{ errors: { pointer: string }[] }>().errors.map((each) => each.pointer)).toContain(
      pointer,
    );
    const preflight = await post(at('refused', 'import/preflight'), { envelope });
    expect(preflight.status).toBe(200);
    const { valid, errors } = preflight.json<{ valid: boolean; errors: string[] }>();
    expect([valid, errors.some((each) => each.startsWith(`${pointer} `))]).toEqual([false, true]);
    expect((await read('/collections/refused')).status).toBe(404);
  });

  test('of members that the contract does not name is refused outside the elements', async () => {
    for (const body of [
      { envelope: { ...people, more: 1 } },
      { envelope: people, more: 1 },
      {},
      { envelope: { nodes: [{ id: 'a' }] } },
    ])
      expect((await post(at('refused', 'import'), body)).status).toBe(400);
  });
});

test('preflightGraphImport says what an import would do, and does nothing', async () => {
  const answer = await post(at('nothing-yet', 'import/preflight'), { envelope: people });
  expect(answer.json()).toMatchObject({
    valid: true,
    readyToImport: true,
    graphId: 'people',
    collectionExists: false,
    collectionPolicyStatus: 'created',
    wouldCreateCollection: true,
    recordCount: 8,
    maxRecords: 10_000,
    errors: [],
  });
  expect((await read('/collections/nothing-yet')).status).toBe(404);
});

describe('exportGraphEnvelope', () => {
  test('gives the graph, which imports elsewhere as it is', async () => {
    await done(at('from', 'import'), { envelope: people });
    const first = await exported('from', { graphId: 'people' });
    expect(first).toMatchObject({ recordCount: 8, truncated: false, continuationToken: null });
    expect(first.envelope).toMatchObject({ schema: 'roman.graph.v1', metadata: { of: 'a test' } });
    await done(at('to', 'import'), { envelope: first.envelope });
    expect((await exported('to')).envelope).toEqual(first.envelope);
  });

  test('of a graph with more records is refused, or cut where the request says so', async () => {
    await done(at('long', 'import'), { envelope: people });
    const refused = await post(at('long', 'export'), { maxRecords: 3 });
    expect([refused.status, refused.json()]).toMatchObject([400, { code: 'limit_exceeded' }]);
    const cut = await exported('long', { maxRecords: 3, failOnLimitExceeded: false });
    expect(cut).toMatchObject({ recordCount: 3, truncated: true, continuationToken: expect.any(String) });
    for (const maxRecords of [0, 10_001, 1.5])
      expect((await post(at('long', 'export'), { maxRecords })).status).toBe(400);
  });

  test('leaves projections out where the request says so', async () => {
    const projections = [{ id: 'p', startNodeIds: ['ada'], nodes: [node('ada')], profile: { max_depth: 2 } }];
    await done(at('kept', 'import'), { envelope: { ...people, projections } });
    const { envelope } = await exported('kept');
    expect(envelope.projections).toEqual([{ ...projections[0], profile: { maxDepth: 2 } }]);
    expect((await exported('kept', { includeProjections: false })).envelope.projections).toEqual([]);
  });
});

describe('traverseGraph', () => {
  test('finds what its profile asks for, and says how', async () => {
    await done(at('walked', 'import'), { envelope: people });
    const found = await walk('walked', { startNodeIds: ['ada', 'eve'], profile: { maxDepth: 2 } });
    expect(idsOf(found.projection.nodes)).toEqual(['ada', 'bob', 'cleo']);
    expect(idsOf(found.projection.edges)).toEqual(['ab', 'bc']);
    expect(found).toMatchObject({
      nodeCount: 3,
      edgeCount: 2,
      sourceRecordCount: 8,
      requestedMaxRecords: 10_000,
    });
    expect(found.projection.diagnostics).toMatchObject({
      missingStartNodeIds: ['eve'],
      availableNodeCount: 3,
      pathExplanations: { ada: [], cleo: [{ edgeId: 'ab' }, { edgeId: 'bc', depth: 2 }] },
    });
    expect((await walk('walked', { startNodeIds: ['ada'] })).projection.profile).toMatchObject({
      direction: 'both',
      maxDepth: 1,
      limit: 100,
      edgeLimit: 100,
      includeStart: true,
      includePathExplanations: true,
    });
    const reviewed = await walk('walked', {
      startNodeIds: ['bob'],
      profile: { review_statuses: ['accepted'], includeStart: false },
    });
    expect(idsOf(reviewed.projection.nodes)).toEqual(['cleo']);
    const again = await walk('walked', { startNodeIds: ['bob'], profile: { direction: 'incoming' } });
    expect(idsOf(again.projection.nodes)).toEqual(['ada', 'bob']);
  });

  test('over a graph with more records is refused, or goes over a part', async () => {
    await done(at('part', 'import'), { envelope: people });
    const body = { startNodeIds: ['ada'], maxRecords: 4 };
    const refused = await post(at('part', 'traverse'), body);
    expect([refused.status, refused.json()]).toMatchObject([400, { code: 'limit_exceeded' }]);
    expect(await walk('part', { ...body, allowPartialGraph: true })).toMatchObject({
      sourceTruncated: true,
      exportedRecordCount: 4,
      estimatedRequiredRecordCount: 5,
      sourceContinuationToken: expect.any(String),
    });
  });

  test.each([
    [{ startNodeIds: [] }],
    [{ startNodeIds: [' '] }],
    [{ startNodeIds: ['a'], profile: { direction: 'up' } }],
    [{ startNodeIds: ['a'], profile: { maxDepth: -1 } }],
    [{ startNodeIds: ['a'], profile: { limit: 0 } }],
    [{ startNodeIds: ['a'], profile: { edge_limit: 0 } }],
    [{ startNodeIds: ['a'], profile: { maxDepth: 1.5 } }],
    [{ startNodeIds: ['a'], more: 1 }],
  ])('of %j is refused', async (body) => {
    expect((await post(at('walked', 'traverse'), body)).status).toBe(400);
  });
});

test('inspectGraphCollection and startGraphInspectionJob count, and names what is odd', async () => {
  const odd = {
    ...people,
    edges: [...people.edges, edge('cx', 'cleo', 'nobody')],
    projections: [{ id: 'p', startNodeIds: ['x'] }],
  };
  await done(at('odd', 'import'), { envelope: odd });
  const answer = await post(at('odd', 'inspect'), { graphId: 'people' });
  expect(answer.json()).toMatchObject({
    collection: 'odd',
    graphId: 'people',
    namespace: 'default',
    tenantId: '',
    partitionKey: 'graph:people',
    traversalReady: false,
    nodeCount: 3,
    danglingEdgeCount: 1,
    danglingProjectionStartNodeCount: 1,
    nodeTypeCounts: { person: 3 },
    predicateCounts: { knows: 3 },
    tenantIdCounts: { '(missing)': 10 },
    anomalyCount: 2,
    returnedAnomalyCount: 2,
    anomalies: [
      { kind: 'danglingEdge', details: { targetExists: false } },
      { id: 'x', subjectId: 'p' },
    ],
    sourceGrounding: { nodeCoverage: 0, nodeUngroundedCount: 3 },
  });
  const job = await done(at('odd', 'inspect/jobs'), { graphId: 'people', anomalyLimit: 1 });
  expect(job).toMatchObject({
    kind: 'inspect',
    status: 'succeeded',
    requested: 1,
    succeeded: 1,
    nodeCount: 3,
    anomalyCount: 2,
    inspectionResult: { anomalyCount: 2, returnedAnomalyCount: 1 },
    importResult: null,
  });
  for (const anomalyLimit of [-1, 501])
    expect((await post(at('odd', 'inspect'), { anomalyLimit })).status).toBe(400);
});

test('doctorGraphCollection and startGraphDoctorJob say how records lead into the graph', async () => {
  await done(at('graph', 'import'), { envelope: people });
  expect((await post(at('graph', 'doctor'), {})).json()).toMatchObject({
    ready: true,
    status: 'ready',
    failureMode: null,
    seedCoverage: null,
    recommendedActions: [],
  });
  const record = (id: string, graphNodeId: string) => ({ id, partitionKey: 'p', metadata: { graphNodeId } });
  await new RecordSpace(service.call).create({ name: 'articles' });
  for (const each of [record('1', 'ada'), record('2', 'zoe'), { id: 'bob', partitionKey: 'q' }])
    expect((await post('/collections/articles/records', each)).status).toBe(201);
  const body = { targetCollection: 'articles', seedJsonPointers: ['/metadata/graphNodeId'] };
  const found = (await post(at('graph', 'doctor'), body)).json();
  expect(found).toMatchObject({
    status: 'ready',
    seedCoverage: {
      targetRecordCount: 3,
      recordsWithSeedMetadataCount: 2,
      resolvedSeedNodeIds: ['ada'],
      unresolvedSeedNodeIds: ['zoe'],
      resolvedSeedCoverage: 0.5,
    },
  });
  const other = { ...body, targetPartitionKeys: ['q'], maxTargetRecords: 1 };
  expect((await post(at('graph', 'doctor'), other)).json()).toMatchObject({
    status: 'no_seeds',
    ready: false,
  });
  const job = await done(at('graph', 'doctor/jobs'), body);
  expect(job).toMatchObject({
    kind: 'doctor',
    status: 'succeeded',
    nodeCount: 3,
    doctorResult: { status: 'ready' },
  });
  expect(job.doctorResult?.seedCoverage).toEqual((found as { seedCoverage: object }).seedCoverage);
  for (const wrong of [
    { maxGraphRecords: 0 },
    { maxTargetRecords: 10_001 },
    { seedJsonPointers: ['metadata'] },
    { targetCollection: '../x' },
  ])
    expect((await post(at('graph', 'doctor'), wrong)).status).toBe(400);
});

test('operations on a collection that is not there say so', async () => {
  const bodies = { export: {}, traverse: { startNodeIds: ['a'] }, inspect: {}, doctor: {} };
  for (const [what, body] of Object.entries(bodies)) {
    const answer = await post(at('missing', what), body);
    expect([answer.status, answer.json()], what).toMatchObject([404, { code: 'collection_not_found' }]);
  }
  for (const [what, body] of Object.entries({ 'inspect/jobs': {}, 'doctor/jobs': {} }))
    expect(await done(at('missing', what), body)).toMatchObject({
      status: 'failed',
      failureClass: 'collection_not_found',
    });
  await done(at('there', 'import'), { envelope: people });
  const target = await post(at('there', 'doctor'), { targetCollection: 'missing' });
  expect([target.status, target.json()]).toMatchObject([404, { code: 'collection_not_found' }]);
});

test('listGraphJobs is newest first with a next page, and cancelGraphJob leaves what getGraphJob shows as ended', async () => {
  const made: string[] = [];
  for (const id of ['a', 'b', 'c'])
    made.push((await done(at('listed', 'import'), { envelope: { nodes: [node(id)] } })).id);
  const seen: string[] = [];
  let path: string | undefined = '/graph/jobs?limit=2&includeResult=true';
  while (path !== undefined && seen.length < 3) {
    const page = await read(path);
    for (const { id, importResult } of page.json<GraphJob[]>()) {
      seen.push(id);
      if (made.includes(id)) expect(importResult?.records.succeeded).toBe(2);
    }
    path = /<([^>]+)>; rel="next"/.exec(page.headers['link'] ?? '')?.[1];
  }
  expect(seen.slice(0, 3)).toEqual([...made].reverse());
  const [first] = (await read('/graph/jobs?limit=1')).json<GraphJob[]>();
  expect(first).toMatchObject({ importResult: null, nodeCount: 1, recordCount: 2, succeeded: 2 });
  const cancelled = await service.call({ method: 'DELETE', path: `/graph/jobs/${made[0]}` });
  expect([cancelled.status, cancelled.json()]).toMatchObject([200, { status: 'succeeded' }]);
  for (const method of ['GET', 'DELETE'] as const)
    expect((await service.call({ method, path: '/graph/jobs/none' })).status).toBe(404);
  for (const limit of [0, 201]) expect((await read(`/graph/jobs?limit=${limit}`)).status).toBe(400);
});

test('listGraphProviderShapes has an order, and getGraphProviderShape takes an exact id', async () => {
  const shapes = (await read('/graph/provider-shapes')).json<{ id: string }[]>();
  expect(idsOf(shapes)).toEqual([
    'local-sqlite',
    'svc-collection',
    'cosmos-gremlin',
    'neptune',
    'spanner-graph',
  ]);
  expect((await read('/graph/provider-shapes/neptune')).json()).toMatchObject({
    kind: 'neptune',
    metadata: null,
  });
  expect((await read('/graph/provider-shapes/Neptune')).status).toBe(404);
});
