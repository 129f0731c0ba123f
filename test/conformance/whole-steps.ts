import { artifactForm } from '../support/forms.ts';

/** One request of the whole scenario. Its answer is compared byte by byte. */
export interface ScenarioStep {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /** Sent as JSON, or unchanged for bytes; a function makes it from the answers of earlier steps. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  /** Where the job of a 202 is read until it has ended; `{id}` stands for its id. */
  readonly job?: string;
}

/** Earlier answers by the names of their steps. */
export type Answers = ReadonlyMap<string, unknown>;

const RUNS = '/execution/runs/{id}';
const DIMENSIONS = 32;

const vectorPolicy = {
  name: 'contentEmbedding',
  path: '/vectors/contentEmbedding/values',
  dimensions: DIMENSIONS,
  distanceFunction: 'cosine',
};
const textPolicy = {
  vectorPolicies: [vectorPolicy],
  indexedMetadata: ['/metadata/year', '/metadata/graphNodeId'],
};

const topics = ['rivers and floods', 'banks and money', 'foxes at night', 'storms at sea', 'glaciers'];

const note = (n: number) => ({
  id: `note-${n}`,
  partitionKey: n % 3 === 0 ? 'archive' : 'news',
  type: 'note',
  metadata: { year: 2020 + (n % 5), graphNodeId: `topic-${n % topics.length}` },
  content: { text: `Note ${n} tells of ${topics[n % topics.length]}. It was written in year ${n % 5}.` },
  vectors: {
    contentEmbedding: {
      values: Array.from({ length: DIMENSIONS }, (_, at) => Math.fround(((n * 7 + at * 3) % 11) - 5)),
      distanceFunction: 'cosine',
    },
  },
});

const paper = [
  'The river rises in the hills.\n\nIn spring the snow melts, and the flood reaches the town. The dam holds most of it.',
  'Every bank of the river was raised in 2021! Was it enough? Storms at sea push the water back into the delta.',
  'Foxes moved into the meadows, where the glaciers had left their stones.',
].join('\n\n');

const ingest = (text: string) => ({
  partitionKey: 'news',
  documentId: 'paper',
  text,
  embedding: { field: 'contentEmbedding' },
  metadata: { year: 2026, graphNodeId: 'topic-0' },
  sourceUri: 'https://example.org/paper',
  sourceLabel: 'A paper on rivers',
  options: {
    chunkChars: 120,
    chunkOverlapChars: 20,
    persistManifest: true,
    skipUnchangedChunks: true,
    replaceDocumentChunks: true,
    includeTrace: true,
  },
});

const retrieval = (query: string, more: object = {}) => ({
  query,
  collections: ['notes', 'papers'],
  searchMode: 'hybrid',
  embedding: { field: 'contentEmbedding' },
  limit: 6,
  ...more,
});

const graph = {
  scope: { graphId: 'topics' },
  nodes: topics.map((label, n) => ({
    id: `topic-${n}`,
    type: 'topic',
    label,
    sourceSpans: [{ sourceRef: 'paper', charStart: n, charEnd: n + 9 }],
  })),
  edges: topics.map((_, n) => ({
    id: `edge-${n}`,
    sourceId: `topic-${n}`,
    targetId: `topic-${(n + 1) % topics.length}`,
    predicate: n % 2 === 0 ? 'causes' : 'follows',
  })),
  assertions: [{ id: 'a-1', subjectId: 'edge-0', subjectKind: 'edge', status: 'accepted' }],
  reviews: [{ id: 'r-1', subjectId: 'a-1', status: 'approved', reviewer: 'ada' }],
};

const evaluation = {
  defaultK: 5,
  cases: [
    {
      name: 'rivers',
      request: retrieval('river flood'),
      expected: [{ id: 'note-0' }, { id: 'note-5', relevance: 2 }],
      hardNegatives: [{ id: 'note-1' }],
    },
    { name: 'absent', request: { query: 'x', collections: ['absent'] }, expected: [{ id: 'x' }] },
  ],
};

const context = (query: string) => ({
  retrieval: retrieval(query),
  includeContextText: true,
  maxChars: 600,
  graphExpansion: { collection: 'topics', graphId: 'topics', profile: { maxDepth: 2 } },
});

const form = artifactForm(
  {
    collection: 'papers',
    record: { id: 'scan', partitionKey: 'news', metadata: { year: 2026, file: 'scans/paper.txt' } },
    artifact: { container: 'scans', key: 'paper.txt', metadata: { author: 'ada' } },
  },
  paper,
  'text/plain',
);

const post = (name: string, path: string, body: unknown, more: Partial<ScenarioStep> = {}): ScenarioStep => ({
  name,
  method: 'POST',
  path,
  body,
  status: 200,
  ...more,
});
const get = (name: string, path: string): ScenarioStep => ({ name, method: 'GET', path, status: 200 });
const started = (name: string, path: string, body: unknown, job: string): ScenarioStep =>
  post(name, path, body, { status: 202, job });

/** Every changing step has an idempotency key of its own, or may be repeated unchanged. */
export const STEPS: readonly ScenarioStep[] = [
  post('commit', '/canonical/tenants/acme/transactions', {
    idempotencyKey: 'first',
    mutations: [
      {
        document: {
          tenantId: 'acme',
          documentType: 'claim',
          id: '1',
          schemaVersion: '1',
          data: { cents: 7 },
          indexes: { state: 'open' },
        },
        precondition: { mustNotExist: true },
      },
    ],
    outbox: [{ topic: 'claims', key: '1', payload: { id: '1' } }],
  }),
  started('create notes', '/collections', { name: 'notes', ...textPolicy }, RUNS),
  started('create papers', '/collections', { name: 'papers', ...textPolicy }, RUNS),
  started(
    'batch',
    '/collections/notes/records/batch/jobs',
    { records: Array.from({ length: 20 }, (_, n) => note(n)) },
    '/record-import/jobs/{id}',
  ),
  {
    ...started('ingest artifact', '/ingest/record-artifact', form.body, RUNS),
    headers: form.headers,
  },
  get('object', '/objects/scans/paper.txt'),
  started(
    'embed',
    '/embeddings/jobs',
    { texts: topics.slice(0, 3), purpose: 'passage' },
    '/embeddings/jobs/{id}',
  ),
  post('query', '/collections/notes/query', {
    filter: { path: '/metadata/year', op: 'gte', value: 2022 },
    orderBy: [{ path: '/metadata/year', direction: 'desc' }],
    limit: 7,
  }),
  post('search by words', '/collections/notes/search', { lexical: { query: 'river flood night' } }),
  post('search by a vector', '/collections/notes/search', {
    vector: { field: 'contentEmbedding', value: note(3).vectors.contentEmbedding.values, top: 5 },
  }),
  started('ingest a text', '/collections/papers/rag/ingest-text', ingest(paper), '/rag/ingestion/jobs/{id}'),
  started(
    'ingest its second edition',
    '/collections/papers/rag/ingest-text/jobs',
    ingest(`${paper.slice(0, 150)} And it froze. ${paper.slice(150)}`),
    '/rag/ingestion/jobs/{id}',
  ),
  post('a dry run', '/collections/papers/rag/ingest-text', {
    ...ingest(paper),
    options: { ...ingest(paper).options, dryRun: true, includeTrace: false },
  }),
  started(
    'ingest a batch',
    '/collections/papers/rag/ingest-text/batch',
    {
      items: topics.map((topic, n) => ({ ...ingest(`Of ${topic}. ${paper}`), documentId: `essay-${n}` })),
    },
    '/rag/ingestion/jobs/{id}',
  ),
  get('profiles', '/retrieval/profiles'),
  post('retrieve', '/search', retrieval('river flood in spring', { includeTrace: true })),
  post('rerank', '/search', retrieval('foxes at night', { rerank: { enabled: true, candidateLimit: 8 } })),
  post('evaluate', '/retrieval/evaluate', evaluation),
  started('evaluate by a job', '/retrieval/evaluate/jobs', evaluation, '/retrieval/evaluate/jobs/{id}'),
  started(
    'compare',
    '/retrieval/evaluate/compare/jobs',
    {
      ...evaluation,
      variants: [
        { id: 'words', searchMode: 'lexical' },
        { id: 'both', searchMode: 'hybrid' },
      ],
    },
    '/retrieval/evaluate/jobs/{id}',
  ),
  post('preflight of a graph', '/collections/topics/graph/import/preflight', { envelope: graph }),
  started('import a graph', '/collections/topics/graph/import', { envelope: graph }, '/graph/jobs/{id}'),
  post('traverse', '/collections/topics/graph/traverse', {
    graphId: 'topics',
    startNodeIds: ['topic-0'],
    profile: { maxDepth: 2, direction: 'both' },
  }),
  post('inspect a graph', '/collections/topics/graph/inspect', { graphId: 'topics' }),
  started(
    'look for the seeds of a graph',
    '/collections/topics/graph/doctor/jobs',
    { graphId: 'topics', targetCollection: 'notes', seedJsonPointers: ['/metadata/graphNodeId'] },
    '/graph/jobs/{id}',
  ),
  post('context', '/rag/context', context('river flood')),
  post('prompt', '/rag/prompt', { context: context('what holds the flood') }),
  post('evaluate contexts', '/rag/context/evaluate', {
    cases: [{ request: context('river'), expectedGraph: { nodeIds: ['topic-0', 'topic-1'] } }],
  }),
  started(
    'run a capability',
    '/providers/local-deterministic-ai/run',
    { capability: 'ai.chat', payload: { messages: [{ role: 'user', content: 'hello' }] } },
    '/provider-jobs/{id}',
  ),
  get('export of a collection', '/collections/papers/export'),
  get('inspection of a collection', '/collections/papers/inspect'),
  post('export of a graph', '/collections/topics/graph/export', { graphId: 'topics' }),
  started(
    'import elsewhere',
    '/collections/copies/import',
    (answers: Answers) => ({
      snapshot: answers.get('export of a collection'),
      allowCollectionRename: true,
    }),
    '/record-import/jobs/{id}',
  ),
  get('export of the copy', '/collections/copies/export'),
  started(
    'import a graph elsewhere',
    '/collections/topics-copy/graph/import/jobs',
    (answers: Answers) => ({
      envelope: (answers.get('export of a graph') as { readonly envelope: unknown }).envelope,
    }),
    '/graph/jobs/{id}',
  ),
  post('export of the copied graph', '/collections/topics-copy/graph/export', { graphId: 'topics' }),
  get('traces', '/traces?limit=100'),
  get('counts of traces', '/traces/summary'),
  get('collections', '/collections'),
  get('export of a tenant', '/canonical/tenants/acme/export'),
];

/** The reads whose answers must be the same after a killed step as after a completed one. */
export const PROBES: readonly ScenarioStep[] = [
  get('probe: collections', '/collections'),
  ...['notes', 'papers', 'topics', 'copies', 'topics-copy'].map((name) => ({
    ...get(`probe: ${name}`, `/collections/${name}/export`),
    // Also 404, where the step comes before its creation.
    status: 0,
  })),
  get('probe: objects', '/objects/scans'),
  get('probe: traces', '/traces/summary'),
  get('probe: tenant', '/canonical/tenants/acme/export'),
];
