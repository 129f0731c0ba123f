import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type {
  RagContextEnvelope,
  RagContextEvaluationResult,
  RagIngestionJob,
  RagPromptEnvelope,
} from '../../../contracts/generated/models.ts';
import { RecordSpace } from '../../../test/security/record-space.ts';
import { type RunningService, startService } from '../../../test/support/service.ts';
import { envelopeOf } from '../../graph/rules/graph.fixture.ts';
import { graphPolicy } from '../../graph/rules/graph-policy.ts';
import { graphRecords } from '../../graph/rules/record-map.ts';
import { sha256 } from '../../kernel/canonical-json.ts';

/** Contexts and prompts over HTTP. Every answer is checked against its model. */

let service: RunningService;
let space: RecordSpace;

const post = (path: string, body: unknown) => service.call({ method: 'POST', path, body, headers: {} });

async function ingest(body: object): Promise<void> {
  const { id } = (await post('/collections/docs/rag/ingest-text', body)).json<RagIngestionJob>();
  const run = await space.settled(id);
  expect(run.status).toBe('succeeded');
}

const LAKES = 'Lakes store the heat of the summer. A lake [c9] freezes from above.';

const span = { sourceRef: 'https://example.test/atlas', charStart: 0, charEnd: 4 };
const GRAPH = envelopeOf({
  nodes: [
    { id: 'lake', type: 'water', label: 'Lake', sourceSpans: [span] },
    { id: 'sea', type: 'water', label: 'Sea' },
    { id: 'moon', type: 'rock' },
  ],
  edges: [{ id: 'flows', sourceId: 'lake', targetId: 'sea', predicate: 'feeds' }],
});

beforeAll(async () => {
  service = await startService();
  space = new RecordSpace(service.call);
  const vectorPolicies = [{ name: 'v', path: '/vectors/v/values', dimensions: 384 }];
  await space.create({ name: 'docs', vectorPolicies });
  const source = (documentId: string) => ({ documentId, sourceUri: `https://example.test/${documentId}` });
  const metadata = { shelf: 'water', weight: 1, graphNodeId: 'lake' };
  await ingest({ ...source('lakes'), sourceLabel: 'On lakes', partitionKey: 'p', text: LAKES, metadata });
  await ingest({
    documentId: 'rivers',
    partitionKey: 'p',
    text: 'Rivers run from lakes to the sea.',
    metadata: { shelf: 'flow' },
    sources: [
      { id: 'a', kind: 'book', uri: 'https://example.test/a' },
      { id: 'b', kind: 'map', uri: 'https://example.test/b', span: { charStart: 5, charEnd: 9 } },
    ],
  });
  await ingest({ documentId: 'fire', partitionKey: 'p', text: 'Fire needs air.' });
  const { indexedMetadata } = graphPolicy('graph');
  await space.create({ name: 'graph', indexedMetadata });
  for (const record of graphRecords(GRAPH)) {
    const answer = await post('/collections/graph/records', record);
    expect(answer.status, answer.body).toBe(201);
  }
});
afterAll(() => service.close());

const retrieval = (query: string, own: object = {}) => ({ query, collections: ['docs'], ...own });

async function context(body: object): Promise<RagContextEnvelope> {
  const answer = await post('/rag/context', body);
  expect(answer.status, answer.body).toBe(200);
  return answer.json<RagContextEnvelope>();
}

describe('buildRagContext', () => {
  test('answers chunks with their citations, and one text of both', async () => {
    const found = await context({ retrieval: retrieval('lakes'), includeContextText: true });
    expect(found.chunks.map(({ metadata }) => (metadata as { documentId: string }).documentId)).toEqual([
      'lakes',
      'rivers',
    ]);
    expect(found.citations.map(({ id, sourceUri, chunkRank }) => [id, sourceUri, chunkRank])).toEqual([
      ['c1', 'https://example.test/lakes', 1],
      ['c2.1', 'https://example.test/a', 2],
      ['c2.2', 'https://example.test/b', 2],
    ]);
    expect(found.chunks.map(({ citationIds }) => citationIds)).toEqual([['c1'], ['c2.1', 'c2.2']]);
    expect(found.contextText).toContain(`[c1] ${LAKES}`);
    expect(found.contextText).toContain('[c1] https://example.test/lakes - On lakes (record: ');
    expect(found.contextTextHash).toBe(sha256(found.contextText ?? ''));
    expect(found).toMatchObject({ graphContext: null, graphExpansion: null, trace: null });
  });

  test('a mark in brackets inside a text is no citation', async () => {
    const { citations, chunks } = await context({ retrieval: retrieval('freezes') });
    expect(chunks[0]?.text).toContain('[c9]');
    expect(citations.map(({ id }) => id)).toEqual(['c1']);
  });

  test('keeps to its budgets, and says what it left out', async () => {
    const body = {
      retrieval: retrieval('lakes'),
      maxCharsPerChunk: 20,
      maxCitationsPerChunk: 1,
      includeTrace: true,
    };
    const found = await context(body);
    expect(found.chunks.map(({ text, truncated, charEnd }) => [text.length, truncated, charEnd])).toEqual([
      [20, true, 17],
      [20, true, 17],
    ]);
    expect(found).toMatchObject({ totalChars: 40, omittedCitationCount: 1 });
    expect(found.citations[0]?.includedSourceSpan).toMatchObject({ charStart: 0, charEnd: 17 });
    expect(found.trace).toMatchObject({
      chunkCount: 2,
      maxCharsPerChunk: 20,
      effectiveSearchMode: 'lexical',
    });
    expect(found.chunks[0]?.retrievalDiagnostics).not.toBeNull();
    const none = await context({ ...body, maxChars: 20 });
    expect(none.chunks).toHaveLength(1);
    expect(none.trace).toMatchObject({ droppedForBudget: 1, budgetExhausted: true });
  });

  test('groups chunks, and refuses a context without what a required group needs', async () => {
    const contextAssembly = {
      groupBy: 'metadata',
      groupByPath: 'shelf',
      groups: [{ key: 'flow', priority: 1, required: true }],
    };
    const found = await context({ retrieval: retrieval('lakes'), contextAssembly });
    expect(found.chunks.map(({ groupKey, rank }) => [groupKey, rank])).toEqual([
      ['flow', 1],
      ['water', 2],
    ]);
    const strict = { ...contextAssembly, failOnUnsatisfiedRequiredGroups: true };
    const answer = await post('/rag/context', { retrieval: retrieval('fire'), contextAssembly: strict });
    expect([answer.status, answer.json()]).toMatchObject([400, { code: 'validation_failed' }]);
  });

  test('finds by vectors too, and shows whole records where they are asked for', async () => {
    const own = { searchMode: 'hybrid', embedding: { field: 'v' }, limit: 2 };
    const found = await context({ retrieval: retrieval('the heat of summer', own), includeRecords: true });
    expect(found.chunks[0]?.record).toMatchObject({ type: 'rag.chunk', revision: 1 });
    expect(found.chunks[0]?.metadata).toMatchObject({ embeddingPurpose: 'passage' });
  });

  test.each([
    ['a blank query', { retrieval: retrieval(' ') }, '/retrieval/query'],
    ['a budget of zero', { retrieval: retrieval('a'), maxChars: 0 }, '/maxChars'],
    [
      'groups without a path',
      { retrieval: retrieval('a'), contextAssembly: { groupBy: 'metadata' } },
      '/contextAssembly/groupByPath',
    ],
    [
      'too many seeds',
      { retrieval: retrieval('a'), graphExpansion: { collection: 'graph', maxSeedNodes: 1_001 } },
      '/graphExpansion/maxSeedNodes',
    ],
  ])('refuses %s', async (_, body, pointer) => {
    const answer = await post('/rag/context', body);
    expect([answer.status, answer.json()]).toMatchObject([400, { errors: [{ pointer }] }]);
  });

  test('a collection that does not exist is 404', async () => {
    const answer = await post('/rag/context', { retrieval: { query: 'a', collections: ['absent'] } });
    expect([answer.status, answer.json()]).toMatchObject([404, { code: 'collection_not_found' }]);
  });
});

describe('a graph beside a context', () => {
  test('adds what lies near the chunks, and says where it comes from', async () => {
    const found = await context({
      retrieval: retrieval('lakes'),
      graphExpansion: { collection: 'graph', profile: { maxDepth: 1 } },
      includeContextText: true,
      includeTrace: true,
    });
    expect(found.graphExpansion).toMatchObject({
      status: 'succeeded',
      expansionAttempted: true,
      seedNodeIds: ['lake', expect.any(String), expect.any(String)],
      nodesAdded: 2,
      edgesAdded: 1,
      groundingStatus: 'source_grounded',
      graphContextInfluencedContextText: true,
    });
    expect(found.graphContext?.provenance?.map(({ entityKind, entityId }) => [entityKind, entityId])).toEqual(
      [
        ['node', 'lake'],
        ['node', 'sea'],
        ['edge', 'flows'],
      ],
    );
    expect(found.contextText).toContain('- lake --feeds--> sea');
    expect(found.trace).toMatchObject({ graphExpansion: { status: 'succeeded', provenanceCount: 3 } });
  });

  test.each([
    [{ collection: 'absent' }, 'graph_not_found'],
    [{ collection: 'graph', seedJsonPointers: ['/metadata/none'] }, 'no_seeds'],
    [{ collection: 'graph', maxRecords: 1 }, 'budget_truncated'],
    [{ collection: 'graph', enabled: false }, 'not_requested'],
  ])('with %j ends as %s, and the context is there all the same', async (graphExpansion, status) => {
    const found = await context({ retrieval: retrieval('lakes'), graphExpansion });
    expect([found.graphExpansion?.status, found.chunks.length]).toEqual([status, 2]);
  });

  test('whose failure is not to be passed over refuses the call', async () => {
    const graphExpansion = { collection: 'absent', fallbackOnFailure: false };
    const answer = await post('/rag/context', { retrieval: retrieval('lakes'), graphExpansion });
    expect([answer.status, answer.json()]).toMatchObject([400, { errors: [{ pointer: '/graphExpansion' }] }]);
  });
});

describe('buildRagPrompt', () => {
  test('puts the question, the rule of citation and the context together', async () => {
    const body = { context: { retrieval: retrieval('lakes'), includeCitations: false, includeTrace: true } };
    const answer = await post('/rag/prompt', body);
    expect(answer.status, answer.body).toBe(200);
    const { prompt, promptHash, messages, context: built, trace } = answer.json<RagPromptEnvelope>();
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user']);
    expect(prompt).toBe(`SYSTEM:\n${messages[0]?.content}\n\nUSER:\n${messages[1]?.content}`);
    expect(promptHash).toBe(sha256(prompt));
    expect(messages[1]?.content).toContain(built.contextText);
    expect(built.citations).toHaveLength(3);
    expect(trace).toMatchObject({ promptHash, citationCount: 3 });
  });

  test.each([
    [{ maxPromptChars: 10 }, '/template/maxPromptChars', 'lakes'],
    [{ failOnEmptyContext: true }, '/template/failOnEmptyContext', 'volcano'],
  ])('refuses what its template %j does not allow', async (template, pointer, query) => {
    const answer = await post('/rag/prompt', { context: { retrieval: retrieval(query) }, template });
    expect([answer.status, answer.json()]).toMatchObject([400, { errors: [{ pointer }] }]);
  });
});

describe('evaluateRagContext', () => {
  const judge = async (body: object) => {
    const answer = await post('/rag/context/evaluate', body);
    expect(answer.status, answer.body).toBe(200);
    return answer.json<RagContextEvaluationResult>();
  };
  const graphExpansion = { collection: 'graph', profile: { maxDepth: 1 } };

  test('says which contexts are as expected, and why others are not', async () => {
    const result = await judge({
      includeContext: true,
      cases: [
        {
          name: 'found',
          request: { retrieval: retrieval('lakes'), graphExpansion },
          expectedGraph: { nodeIds: ['sea'], edgeIds: ['flows'] },
        },
        { request: { retrieval: retrieval('volcano') }, metadata: { queryId: 'q-2' } },
        {
          request: { retrieval: retrieval('lakes'), graphExpansion },
          expectedGraph: { nodeIds: ['moon'], requireGraphContextText: true },
        },
        { request: { retrieval: { query: 'a', collections: ['absent'] } } },
      ],
    });
    expect(result).toMatchObject({
      requested: 4,
      attempted: 4,
      succeeded: 3,
      failed: 1,
      passedCount: 1,
      passRate: 0.25,
    });
    expect(result).toMatchObject({
      nodeHitRate: 0.5,
      edgeHitRate: 1,
      provenanceHitRate: 1,
      stoppedOnError: false,
    });
    expect(
      result.cases?.map(({ queryId, passed, status, failureCategories }) => [
        queryId,
        passed,
        status,
        failureCategories,
      ]),
    ).toEqual([
      ['found', true, 'succeeded', []],
      ['q-2', false, 'succeeded', ['retrieval_miss']],
      ['case-2', false, 'succeeded', ['expected_node_missing']],
      ['case-3', false, 'failed', ['case_error']],
    ]);
    expect(result.cases?.[0]).toMatchObject({
      lexicalContributionCount: 2,
      vectorContributionCount: 0,
      graphContributionCount: 3,
    });
    expect(result.cases?.[0]?.context?.chunks).toHaveLength(2);
    expect(result.failureCategoryCounts).toEqual({
      retrieval_miss: 1,
      expected_node_missing: 1,
      case_error: 1,
    });
  });

  test('without continueOnError leaves the cases behind an error untried', async () => {
    const cases = ['absent', 'docs'].map((name) => ({
      request: { retrieval: { query: 'lakes', collections: [name] } },
    }));
    expect(await judge({ cases, continueOnError: false })).toMatchObject({
      attempted: 1,
      failed: 1,
      stoppedOnError: true,
    });
  });
});
