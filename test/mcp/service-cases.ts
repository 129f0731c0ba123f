/** For each operation that the endpoint offers as a tool or a task: a call with valid arguments. */

type Members = Readonly<Record<string, unknown>>;

/** The parts of the request over REST. As arguments of the tool they stand side by side. */
export interface OperationCase {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: Members;
  /** A text that the answer, or the run or job at its end, holds: an empty one does not count. */
  readonly shows: string;
}

/** Resources that the cases refer to: a run that has ended. */
export interface CaseWorld {
  readonly runId: string;
}

export const scope = { productId: 'papers', tenantId: 'acme' };
/** A handler that a worker outside executes. */
export const HANDLER = 'invoice.render';
// A collection with words, one with vectors, and one with a graph.
const WORDS = 'articles';
export const VECTORS = 'manuals';
export const GRAPH = 'people';

const question = { query: 'hello', collections: [WORDS], searchMode: 'lexical', limit: 2 };
const retrievalCase = { name: 'hello', request: question, expected: [{ id: 'a-0' }] };
/** A number that loses its spelling when its value is serialized again. */
const price: unknown = (JSON as unknown as { rawJSON: (text: string) => unknown }).rawJSON('1.50');
/** In the order of the arguments: the service keeps the text of the request. */
const item = { partitionKey: 'p', text: 'Fill the kettle.', documentId: 'kettle', metadata: { price } };

/** The envelope of a small graph. */
export const people = {
  scope: { graphId: 'people' },
  nodes: [
    { id: 'ada', type: 'person' },
    { id: 'bob', type: 'person' },
  ],
  edges: [{ id: 'ab', sourceId: 'ada', targetId: 'bob', predicate: 'knows' }],
};

export function toolCases({ runId }: CaseWorld): Readonly<Record<string, OperationCase>> {
  const articles = { path: { collection: WORDS } };
  const graph = { path: { collection: GRAPH }, body: { anomalyLimit: 1 } };
  const context = { retrieval: question, contentField: 'text' };
  return {
    listCollections: { shows: WORDS },
    getCollection: { ...articles, shows: WORDS },
    inspectCollection: {
      ...articles,
      query: { anomalyLimit: 3 },
      shows: '"recordCount":3',
    },
    getRecord: { path: { collection: WORDS, pk: 'p', id: 'a-1' }, shows: '"id":"a-1"' },
    queryRecords: {
      ...articles,
      body: { filter: { path: '/metadata/at', op: 'gte', value: 1 }, limit: 1 },
      shows: '"id":"a-1"',
    },
    searchRecords: { ...articles, body: { lexical: { query: 'hello' }, limit: 2 }, shows: '"id":"a-0"' },
    getExecutionRun: { path: { runId }, query: { includeResult: true }, shows: '"pages":3' },
    getExecutionRunHistory: { path: { runId }, query: { limit: 2 }, shows: 'lease.acquired' },
    listRetrievalProfiles: { shows: '"id":"evidence"' },
    retrieve: { body: question, shows: '"id":"a-0"' },
    buildRagContext: { body: context, shows: '"id":"a-0"' },
    buildRagPrompt: {
      body: { context, template: { userInstruction: 'Say it in one sentence.' } },
      shows: 'Say it in one sentence.',
    },
    listGraphProviderShapes: { shows: 'svc-collection' },
    getGraphProviderShape: { path: { providerId: 'svc-collection' }, shows: 'svc-collection' },
    traverseGraph: {
      path: { collection: GRAPH },
      body: { graphId: 'people', startNodeIds: ['ada'], profile: { limit: 5 } },
      shows: '"id":"bob"',
    },
    inspectGraphCollection: { ...graph, shows: '"nodeCount":2' },
    doctorGraphCollection: { ...graph, shows: '"graphNodeCount":2' },
  };
}

export const taskCases: Readonly<Record<string, OperationCase>> = {
  startExecutionRun: {
    body: { handlerId: HANDLER, scope, payload: { invoice: 7 }, tags: { kind: 'invoice' } },
    shows: '"tags":{"kind":"invoice"}',
  },
  startCollectionImportJob: {
    path: { collection: 'imported' },
    body: {
      snapshot: {
        policy: { name: 'imported' },
        records: [{ id: 'only', partitionKey: 'p', content: { price } }],
      },
      replaceExisting: true,
    },
    shows: '"id":"only"',
  },
  startRecordBatchUpsertJob: {
    path: { collection: WORDS },
    body: { records: [{ id: 'b-1', partitionKey: 'p', type: 'article', metadata: {}, content: { price } }] },
    shows: '"id":"b-1"',
  },
  startEmbeddingJob: { body: { texts: ['A report'], purpose: 'passage' }, shows: '"purpose":"passage"' },
  startProviderRunJob: {
    path: { provider: 'local-deterministic-ai' },
    body: { capability: 'ai.chat', payload: { messages: [{ role: 'user', content: 'hello' }] } },
    shows: '"role":"assistant"',
  },
  startRetrievalEvaluationJob: { body: { cases: [retrievalCase] }, shows: '"hitCount":1' },
  startRetrievalEvaluationComparisonJob: {
    body: { cases: [retrievalCase], variants: [{ id: 'words' }] },
    shows: '"baselineVariantId":"words"',
  },
  startRagIngestionTextJob: {
    path: { collection: VECTORS },
    body: item,
    shows: '"documentId":"kettle"',
  },
  startRagIngestionBatchJob: {
    path: { collection: VECTORS },
    body: { items: [{ ...item, documentId: 'cup' }] },
    shows: '"documentId":"cup"',
  },
  startGraphImportJob: {
    path: { collection: GRAPH },
    body: {
      envelope: {
        scope: { graphId: 'people' },
        nodes: [{ id: 'cleo', type: 'person', properties: { price } }],
      },
    },
    shows: '"nodeCount":1',
  },
  startGraphInspectionJob: {
    path: { collection: GRAPH },
    body: { anomalyLimit: 1 },
    shows: '"traversalReady":true',
  },
  startGraphDoctorJob: {
    path: { collection: GRAPH },
    body: { anomalyLimit: 1 },
    shows: '"graphReady":true',
  },
};

/** The tools that only the setting for previews offers. */
export const previewCases: Readonly<Record<string, OperationCase>> = {
  exportCollectionBounded: { path: { collection: WORDS }, shows: '"recordCount":3' },
  getEffectiveExecutionRuntime: { query: scope, shows: HANDLER },
  listExecutionRuns: { query: { handlerId: HANDLER }, shows: HANDLER },
  listProviders: { shows: 'local-deterministic-ai' },
};
