import { randomUUID } from 'node:crypto';
import { type Call, created, type RecordBehaviour } from './said-defaults-records.ts';

/** The behaviour of the service if members of requests on graphs are absent. */

interface Job {
  readonly id: string;
  readonly status: string;
  readonly importResult: {
    readonly policyStatus: string;
    readonly records: { readonly attempted: number };
  } | null;
}

const node = (id: string, more: object = {}) => ({ id, type: 'x', ...more });
const edge = (id: string, sourceId: string, targetId: string, more: object = {}) => ({
  id,
  sourceId,
  targetId,
  predicate: 'p',
  ...more,
});

async function imported(call: Call, name: string, envelope: object, more: object = {}): Promise<Job> {
  let { body } = await call('POST', `/collections/${name}/graph/import`, { envelope, ...more });
  const { id } = body as Job;
  while (['queued', 'running'].includes((body as Job).status))
    ({ body } = await call('GET', `/graph/jobs/${id}`));
  return body as Job;
}

async function madeOf(call: Call, envelope: object): Promise<string> {
  const name = `g-${randomUUID()}`;
  await imported(call, name, envelope);
  return name;
}

/** A member of the graph, as an export shows it. */
const shown = (
  envelope: (added: object) => object,
  of: (exported: Exported) => unknown,
  other: unknown = 'other',
) => ({
  other,
  async of(call: Call, added: object) {
    const name = await madeOf(call, envelope(added));
    return of(
      ((await call('POST', `/collections/${name}/graph/export`, {})).body as { envelope: Exported }).envelope,
    );
  },
});

interface Exported {
  readonly schema: string;
  readonly scope: object;
  readonly nodes: readonly object[];
  readonly assertions: readonly object[];
  readonly reviews: readonly object[];
  readonly projections: readonly object[];
}

const ofAssertion = shown(
  (added) => ({ assertions: [{ id: 'a', subjectId: 'n', ...added }] }),
  ({ assertions }) => assertions,
);
const ofScope = shown(
  (scope) => ({ scope, nodes: [node('n')] }),
  ({ scope }) => scope,
);

/** A star around `a` with 101 leaves, and a chain behind one of them. */
const leaves = Array.from({ length: 101 }, (_, at) => node(`l${at}`));
const star = {
  nodes: [node('a'), ...leaves, node('far')],
  edges: [
    ...leaves.map(({ id }) => edge(`a-${id}`, 'a', id)),
    edge('far', 'l0', 'far'),
    edge('in', 'far', 'a'),
  ],
};
const inProfile = (other: unknown, fixed: object = {}): RecordBehaviour => ({
  other,
  async of(call, added) {
    const name = await madeOf(call, star);
    const request = { startNodeIds: ['a'], profile: { ...fixed, ...added } };
    const { body } = await call('POST', `/collections/${name}/graph/traverse`, request);
    const { profile, ...projection } = (body as { projection: { profile: object; id?: string } }).projection;
    return { ...projection, id: null, profile };
  },
});

const importing = (
  other: unknown,
  prepare: (call: Call) => Promise<string>,
  envelope: object,
  fixed: object = {},
) => ({
  other,
  async of(call: Call, added: object) {
    const { status, importResult } = await imported(call, await prepare(call), envelope, {
      ...fixed,
      ...added,
    });
    return [status, importResult?.policyStatus, importResult?.records.attempted];
  },
});
const small = { nodes: [node('a')] };
const fresh = () => Promise.resolve(`g-${randomUUID()}`);
const odd = { nodes: [node('a')], edges: [edge('e', 'a', 'b')] };

/** A graph that is read in part, or has a flaw. */
const reading = (
  path: string,
  envelope: object,
  fixed: object,
  other: unknown,
  of: (body: object) => unknown,
) => ({
  other,
  async of(call: Call, added: object) {
    const name = await madeOf(call, envelope);
    const { status, body } = await call('POST', `/collections/${name}/graph/${path}`, { ...fixed, ...added });
    return [status, of(body as object)];
  },
});
const member = (name: string) => (body: object) => (body as Readonly<Record<string, unknown>>)[name];
const anomalies = (body: object) => (member('anomalies')(body) as readonly object[]).length;
const whole = { nodes: [node('a'), node('b')], edges: [edge('e', 'a', 'b')] };

export const graphAsDone: Readonly<Record<string, RecordBehaviour>> = {
  'SvcGraphScopeInput.graphId': ofScope,
  'SvcGraphScopeInput.namespace': ofScope,
  'SvcGraphScopeInput.collection': ofScope,
  'SvcGraphEnvelopeInput.schema': shown(
    (added) => ({ ...small, ...added }),
    ({ schema }) => schema,
  ),
  'SvcGraphAssertionInput.subjectKind': ofAssertion,
  'SvcGraphAssertionInput.status': ofAssertion,
  'SvcGraphAssertionInput.method': ofAssertion,
  'SvcGraphAssertionInput.actor': ofAssertion,
  'SvcGraphReviewEventInput.subjectKind': shown(
    (added) => ({ reviews: [{ id: 'r', subjectId: 'n', status: 's', reviewer: 'x', ...added }] }),
    ({ reviews }) => reviews,
  ),
  'SvcGraphTraversalProfileInput.id': inProfile('other'),
  'SvcGraphTraversalProfileInput.direction': inProfile('incoming'),
  'SvcGraphTraversalProfileInput.maxDepth': inProfile(2, { edgeLimit: 1_000, limit: 1_000 }),
  'SvcGraphTraversalProfileInput.limit': inProfile(2),
  'SvcGraphTraversalProfileInput.edgeLimit': inProfile(2),
  'SvcGraphTraversalProfileInput.includeStart': inProfile(false),
  'SvcGraphTraversalProfileInput.requireSourceGrounding': inProfile(true),
  'SvcGraphTraversalProfileInput.includePathExplanations': inProfile(false),
  'SvcGraphCollectionImportRequest.createCollectionIfMissing': importing(false, fresh, small),
  'SvcGraphCollectionImportRequest.replaceExisting': importing(true, (call) => madeOf(call, small), small),
  'SvcGraphCollectionImportRequest.continueOnError': importing(true, fresh, {
    // No record can hold the first of them.
    nodes: [{ ...node('0'), properties: { of: 'x'.repeat(910_000) } }, node('a')],
  }),
  'SvcGraphCollectionImportRequest.allowNonGraphPolicy': importing(
    true,
    async (call) => (await created(call)).name,
    small,
  ),
  'SvcGraphCollectionExportRequest.includeProjections': reading(
    'export',
    { projections: [{ id: 'p' }] },
    {},
    false,
    member('recordCount'),
  ),
  'SvcGraphCollectionExportRequest.failOnLimitExceeded': reading(
    'export',
    whole,
    { maxRecords: 1 },
    false,
    member('truncated'),
  ),
  'SvcGraphTraversalRequest.allowPartialGraph': reading(
    'traverse',
    whole,
    { startNodeIds: ['a'], maxRecords: 1 },
    true,
    member('sourceTruncated'),
  ),
  'SvcGraphCollectionInspectionRequest.allowPartialGraph': reading(
    'inspect',
    { nodes: [node('a'), node('b')] },
    { maxRecords: 2 },
    true,
    member('traversalReady'),
  ),
  'SvcGraphCollectionInspectionRequest.includeAnomalies': reading('inspect', odd, {}, false, anomalies),
  'SvcGraphDoctorRequest.allowPartialGraph': reading(
    'doctor',
    whole,
    { maxGraphRecords: 3 },
    true,
    member('status'),
  ),
  'SvcGraphDoctorRequest.includeAnomalies': reading('doctor', odd, {}, false, (body) =>
    anomalies(member('inspection')(body) as object),
  ),
  'GET /graph/jobs includeResult': {
    other: true,
    async of(call, added) {
      const { id } = await imported(call, await fresh(), small);
      const query = Object.entries(added).map(([name, value]) => `&${name}=${String(value)}`);
      const list = (await call('GET', `/graph/jobs?limit=200${query.join('')}`)).body as readonly Job[];
      return list.find((job) => job.id === id)?.importResult?.records.attempted;
    },
  },
};
