import { created, type RecordBehaviour } from './said-defaults-records.ts';

/** The behaviour of retrievals and evaluations if members of their requests are absent. */

type Call = Parameters<RecordBehaviour['of']>[0];

const filler = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ');

/** The first text is the best by words, another one by vectors. They are more than the least number of candidates. */
const texts = [
  'red apple',
  'red fox apple tree',
  filler,
  ...Array.from({ length: 100 }, (_, at) => `red thing ${at} of ${at % 7} kinds`),
];

const DIMENSIONS = 384;

async function collection(call: Call): Promise<string> {
  const policy = { name: 'v', path: '/vectors/v/values', dimensions: DIMENSIONS };
  const { name } = await created(call, { vectorPolicies: [policy] });
  const embedded = await call('POST', '/embeddings', { texts });
  const { items } = embedded.body as { items: readonly { values: readonly number[] }[] };
  const records = texts.map((text, at) => ({
    id: `r-${String(at).padStart(3, '0')}`,
    partitionKey: 'p',
    content: { title: `apple ${at}`, text: at === 2 ? `${filler} red apple` : text },
    vectors: { v: { values: items[at]?.values ?? [] } },
  }));
  const { body } = await call('POST', `/collections/${name}/records/batch`, { records });
  await ended(call, `/record-import/jobs/${(body as Job).id}`);
  return name;
}

interface Job {
  readonly id: string;
  readonly status: string;
  readonly evaluationResult: object | null;
}

async function ended(call: Call, path: string): Promise<Job> {
  for (;;) {
    const job = (await call('GET', path)).body as Job;
    if (!['queued', 'running'].includes(job.status)) return job;
  }
}

/** One collection serves all of them: they only read. */
let made: Promise<string> | undefined;

async function retrieved(call: Call, request: object): Promise<unknown> {
  made ??= collection(call);
  const { status, body } = await call('POST', '/search', {
    query: 'red apple',
    collections: [await made],
    ...request,
  });
  if (status !== 200) return [status, body];
  const { results, trace } = body as {
    results: readonly { score: number; record: { id: string } }[];
    trace: Readonly<Record<string, unknown>> | null;
  };
  const pools = trace?.['candidatePools'];
  return [
    results.map(({ score, record }) => [record.id, score]),
    pools ?? null,
    trace?.['rerankProvider'] ?? null,
  ];
}

/** A member of the request itself, or of `part` of it. */
function asked(other: unknown, request: object = {}, part?: string): RecordBehaviour {
  return {
    other,
    of: (call, added) => {
      const own = part === undefined ? added : { [part]: { ...(request as Parts)[part], ...added } };
      return retrieved(call, { ...request, ...own });
    },
  };
}

type Parts = Readonly<Record<string, object>>;

const hybrid = (other: unknown, own: object = {}) =>
  asked(other, { searchMode: 'hybrid', includeTrace: true, hybrid: own }, 'hybrid');
const rerank = (other: unknown, own: object = {}) =>
  asked(other, { includeTrace: true, limit: 20, rerank: { enabled: true, ...own } }, 'rerank');

/** Two fields would be one vector, so the collection of the weight has another. */
const weight: RecordBehaviour = {
  other: 0.1,
  async of(call, added) {
    const policies = ['v', 'w'].map((name) => ({
      name,
      path: `/vectors/${name}/values`,
      dimensions: DIMENSIONS,
    }));
    const { name } = await created(call, { vectorPolicies: policies });
    const { body } = await call('POST', '/embeddings', { texts: ['red', 'apple'] });
    const [v, w] = (body as { items: readonly { values: readonly number[] }[] }).items.map(({ values }) => ({
      values,
    }));
    const record = { id: 'a', partitionKey: 'p', vectors: { v, w } };
    await call('POST', `/collections/${name}/records`, record);
    const vectorFields = [{ field: 'v' }, { field: 'w', ...added }];
    return retrieved(call, { query: 'red', collections: [name], vectorFields });
  },
};

async function evaluated(
  call: Call,
  path: string,
  { of: own = {}, body = {} }: { of?: object; body?: object },
) {
  made ??= collection(call);
  const name = await made;
  const caseOf = (id: string, collections: readonly string[]) => ({
    request: { query: 'red apple', collections },
    expected: [{ id, ...own }, { id: 'r-002' }],
  });
  const cases = [caseOf('r-000', ['absent-of-all']), caseOf('r-000', [name])];
  const answer = await call('POST', path, { cases, ...body });
  return JSON.parse(
    JSON.stringify(answer, (member, value: unknown) => (member === 'durationMs' ? 0 : value)),
  ) as unknown;
}

const evaluation = (other: unknown): RecordBehaviour => ({
  other,
  of: (call, body) => evaluated(call, '/retrieval/evaluate', { body }),
});
const comparison = (other: unknown, more: object = {}): RecordBehaviour => ({
  other,
  of: (call, body) =>
    evaluated(call, '/retrieval/evaluate/compare', {
      body: { variants: [{ id: 'a' }, { id: 'b' }], ...more, ...body },
    }),
});

export const retrievalsAsDone: Readonly<Record<string, RecordBehaviour>> = {
  'RetrievalRequest.includeTrace': asked(true),
  'EmbeddingOptions.purpose': asked('magic', { embedding: {} }, 'embedding'),
  'HybridSearchOptions.vectorWeight': hybrid(0.1),
  'HybridSearchOptions.lexicalWeight': hybrid(0.1),
  'HybridSearchOptions.candidateMultiplier': hybrid(1),
  'HybridSearchOptions.fusion': hybrid('rrf'),
  'HybridSearchOptions.rrfK': hybrid(1, { fusion: 'rrf' }),
  'RerankOptions.enabled': asked(true, { includeTrace: true, rerank: {} }, 'rerank'),
  'RerankOptions.mode': rerank('magic', { fallbackOnFailure: false }),
  'RerankOptions.maxCandidateChars': rerank(5),
  'RerankOptions.rerankScoreWeight': rerank(0.5, { originalScoreWeight: 1 }),
  'RerankOptions.originalScoreWeight': rerank(1),
  'RerankOptions.fallbackOnFailure': rerank(false, { provider: 'absent' }),
  'RetrievalVectorFieldQuery.weight': weight,
  'RetrievalEvaluationExpectedMatch.relevance': {
    other: 3,
    of: (call, of) => evaluated(call, '/retrieval/evaluate', { of }),
  },
  'RetrievalEvaluationRequest.continueOnError': evaluation(false),
  'RetrievalEvaluationRequest.includeTopResults': evaluation(false),
  'RetrievalEvaluationComparisonRequest.continueOnError': comparison(false),
  'RetrievalEvaluationComparisonRequest.includeTopResults': comparison(true, { includeCaseResults: true }),
  'RetrievalEvaluationComparisonRequest.includeCaseResults': comparison(true),
  'GET /retrieval/evaluate/jobs includeResult': {
    other: true,
    async of(call, added) {
      const cases = [{ request: { query: 'a', collections: ['absent'] }, expected: [{ id: 'a' }] }];
      const { id } = (await call('POST', '/retrieval/evaluate/jobs', { cases })).body as Job;
      await ended(call, `/retrieval/evaluate/jobs/${id}`);
      const query = Object.entries(added).map(([member, value]) => `&${member}=${String(value)}`);
      const list = await call('GET', `/retrieval/evaluate/jobs?limit=100${query.join('')}`);
      return (list.body as readonly Job[]).find((job) => job.id === id)?.evaluationResult === null;
    },
  },
};
