import { randomUUID } from 'node:crypto';
import { envelopeOf } from '../functions/graph/rules/graph.fixture.ts';
import { graphPolicy } from '../functions/graph/rules/graph-policy.ts';
import { graphRecords } from '../functions/graph/rules/record-map.ts';
import { type Call, created, type RecordBehaviour } from './said-defaults-records.ts';

/** The behaviour of ingestions, contexts and prompts if members of their requests are absent. */

interface Job {
  readonly id: string;
  readonly status: string;
  readonly textResult: object | null;
  readonly batchResult: { readonly attempted: number } | null;
}

const vectorPolicies = [{ name: 'v', path: '/vectors/v/values', dimensions: 384 }];
/** More than a chunk of a context holds, and all together more than a context. */
const LONG = 'A lake keeps the heat of the summer. '.repeat(80);
const span = { sourceRef: 'https://example.test/atlas', charStart: 0, charEnd: 4 };
const GRAPH = envelopeOf({
  nodes: [
    { id: 'lake', type: 'water', sourceSpans: [span] },
    ...['sea', 'river'].map((id) => ({ id, type: 'water' })),
  ],
  edges: ['sea', 'river'].map((id) => ({
    id: `to-${id}`,
    sourceId: 'lake',
    targetId: id,
    predicate: 'feeds',
  })),
});

async function ended(call: Call, { id }: Job): Promise<Job> {
  for (;;) {
    const job = (await call('GET', `/rag/ingestion/jobs/${id}`)).body as Job;
    if (!['queued', 'running'].includes(job.status)) return job;
  }
}

async function ingested(call: Call, collection: string, body: object, path = ''): Promise<Job> {
  const answer = await call('POST', `/collections/${collection}/rag/ingest-text${path}`, body);
  return ended(call, answer.body as Job);
}

interface World {
  readonly docs: string;
  readonly graph: string;
}

async function furnish(call: Call): Promise<World> {
  const { name: docs } = await created(call, { vectorPolicies });
  for (let at = 0; at < 8; at += 1) {
    const metadata = { graphNodeIds: ['lake', 'sea'] };
    const options = { chunkChars: 5_000, chunkOverlapChars: 0 };
    await ingested(call, docs, {
      documentId: `d-${at}`,
      partitionKey: 'p',
      text: `${LONG}${at}`,
      metadata,
      options,
    });
  }
  const { indexedMetadata } = graphPolicy('graph');
  const { name: graph } = await created(call, { indexedMetadata });
  for (const record of graphRecords(GRAPH)) await call('POST', `/collections/${graph}/records`, record);
  return { docs, graph };
}

/** One world serves all of them: they only read. */
let made: Promise<World> | undefined;
const world = (call: Call): Promise<World> => (made ??= furnish(call));

/** The hash of a plan, which covers all of the plan. */
async function planned(call: Call, request: object, options: object): Promise<unknown> {
  const { docs } = await world(call);
  const body = {
    documentId: 'd-0',
    partitionKey: 'p',
    text: LONG,
    ...request,
    options: { dryRun: true, ...options },
  };
  const { status, body: plan } = await call('POST', `/collections/${docs}/rag/ingest-text`, body);
  const { planHash, trace } = plan as { readonly planHash: string; readonly trace: object | null };
  return [status, planHash, trace === null];
}

const option = (other: unknown): RecordBehaviour => ({
  other,
  of: (call, added) => planned(call, {}, added),
});
const ofText = (other: unknown): RecordBehaviour => ({
  other,
  of: (call, added) => planned(call, added, {}),
});

/** An answer without the members that differ between calls. */
function lasting(body: unknown): unknown {
  const moving = new Set(['durationMs', 'correlationId', 'instance', 'retrieval', 'traceReferences']);
  return JSON.parse(JSON.stringify(body, (name, value: unknown) => (moving.has(name) ? undefined : value)));
}

async function context(call: Call, request: object): Promise<unknown> {
  const { docs } = await world(call);
  const retrieval = { query: 'lake', collections: [docs] };
  const { status, body } = await call('POST', '/rag/context', { retrieval, ...request });
  return [status, lasting(body)];
}

const ofContext = (other: unknown, request: object = {}): RecordBehaviour => ({
  other,
  of: (call, added) => context(call, { ...request, ...added }),
});
const ofGraph = (other: unknown, own: object = {}): RecordBehaviour => ({
  other,
  async of(call, added) {
    const { graph } = await world(call);
    const graphExpansion = { collection: graph, ...own, ...added };
    return context(call, { graphExpansion, includeContextText: true });
  },
});
const ofAssembly = (other: unknown, assembly: object): RecordBehaviour => ({
  other,
  of: (call, added) => context(call, { contextAssembly: { groupBy: 'collection', ...assembly, ...added } }),
});

async function evaluated(
  call: Call,
  own: { readonly graph?: object; readonly expected?: object },
  more: object,
) {
  const { docs, graph } = await world(call);
  const retrieval = { query: 'lake', collections: [docs], limit: 1 };
  const graphExpansion = { collection: graph, ...own.graph };
  const cases = [
    { request: { retrieval: { ...retrieval, collections: [`absent-${randomUUID()}`] } } },
    { request: { retrieval, graphExpansion }, expectedGraph: own.expected ?? {} },
  ];
  const { body } = await call('POST', '/rag/context/evaluate', { cases, ...more });
  const {
    attempted,
    passedCount,
    cases: outcomes,
  } = body as {
    readonly attempted: number;
    readonly passedCount: number;
    readonly cases: readonly { readonly context: object | null }[];
  };
  return [attempted, passedCount, outcomes.map((each) => each.context === null)];
}

const ofEvaluation = (other: unknown): RecordBehaviour => ({
  other,
  of: (call, added) => evaluated(call, {}, added),
});
const ofExpected = (other: unknown, graph: object): RecordBehaviour => ({
  other,
  of: (call, expected) => evaluated(call, { graph, expected }, {}),
});

const ofTemplate = (other: unknown, query: string): RecordBehaviour => ({
  other,
  async of(call, template) {
    const { docs } = await world(call);
    const asked = { retrieval: { query, collections: [docs] } };
    const { status, body } = await call('POST', '/rag/prompt', { context: asked, template });
    return [status, (body as { readonly prompt?: string }).prompt];
  },
});

export const ragAsDone: Readonly<Record<string, RecordBehaviour>> = {
  'RagIngestTextRequest.type': ofText('note'),
  'RagIngestTextRequest.contentField': ofText('body'),
  'RagIngestionOptions.chunkChars': option(300),
  'RagIngestionOptions.chunkOverlapChars': option(0),
  'RagIngestionOptions.dryRun': {
    other: true,
    async of(call, options) {
      const { name } = await created(call, { vectorPolicies });
      const body = { partitionKey: 'p', text: 'a', options };
      return (await call('POST', `/collections/${name}/rag/ingest-text`, body)).status;
    },
  },
  'RagIngestionOptions.replaceDocumentChunks': option(true),
  'RagIngestionOptions.skipUnchangedChunks': option(true),
  'RagIngestionOptions.reuseExistingChunkVectors': option(true),
  'RagIngestionOptions.deduplicateExistingChunks': option(true),
  'RagIngestionOptions.persistManifest': option(true),
  'RagIngestionOptions.includeTrace': option(true),
  'RagIngestTextBatchRequest.continueOnError': {
    other: true,
    async of(call, added) {
      const { name } = await created(call, { vectorPolicies });
      const items = [' ', 'a'].map((text) => ({ partitionKey: 'p', text }));
      return (await ingested(call, name, { items, ...added }, '/batch')).batchResult?.attempted;
    },
  },
  'GET /rag/ingestion/jobs includeResult': {
    other: true,
    async of(call, added) {
      const { name } = await created(call, { vectorPolicies });
      const { id } = await ingested(call, name, { partitionKey: 'p', text: 'a' });
      const query = Object.entries(added).map(([member, value]) => `&${member}=${String(value)}`);
      const list = await call('GET', `/rag/ingestion/jobs?limit=200${query.join('')}`);
      return (list.body as readonly Job[]).find((job) => job.id === id)?.textResult === null;
    },
  },
  'RagContextRequest.contentField': ofContext('title'),
  'RagContextRequest.maxChars': ofContext(100),
  'RagContextRequest.maxCharsPerChunk': ofContext(100),
  'RagContextRequest.includeRecords': ofContext(true),
  'RagContextRequest.includeCitations': ofContext(false),
  'RagContextRequest.includeContextText': ofContext(true),
  'RagContextRequest.includeTrace': ofContext(true),
  'RagContextAssemblyOptions.failOnUnsatisfiedRequiredGroups': ofAssembly(true, {
    groups: [{ key: 'absent', required: true }],
  }),
  'RagContextGroupBudget.required': {
    other: true,
    of: (call, added) => {
      const groups = [{ key: 'absent', ...added }];
      return context(call, {
        contextAssembly: { groupBy: 'collection', failOnUnsatisfiedRequiredGroups: true, groups },
      });
    },
  },
  'RagContextGraphExpansionOptions.enabled': ofGraph(false),
  'RagContextGraphExpansionOptions.maxSeedNodes': ofGraph(1),
  'RagContextGraphExpansionOptions.allowPartialGraph': ofGraph(true, { maxRecords: 2 }),
  'RagContextGraphExpansionOptions.includeGraphContextText': ofGraph(false),
  'RagContextGraphExpansionOptions.maxGraphContextChars': ofGraph(20),
  'RagContextGraphExpansionOptions.includeGraphProvenance': ofGraph(false),
  'RagContextGraphExpansionOptions.maxGraphProvenanceItems': ofGraph(1),
  'RagContextGraphExpansionOptions.fallbackOnFailure': ofGraph(false, { collection: 'absent' }),
  'RagContextEvaluationRequest.continueOnError': ofEvaluation(false),
  'RagContextEvaluationRequest.includeContext': ofEvaluation(true),
  'RagContextExpectedGraph.requireSourceGroundedProvenance': ofExpected(true, {}),
  'RagContextExpectedGraph.requireGraphContextText': ofExpected(true, { includeGraphContextText: false }),
  'RagContextExpectedGraph.requireContextTextNotTruncated': ofExpected(true, { maxGraphContextChars: 20 }),
  'RagPromptTemplateOptions.includeCitationInstruction': ofTemplate(false, 'lake'),
  'RagPromptTemplateOptions.failOnEmptyContext': ofTemplate(true, 'volcano'),
};
