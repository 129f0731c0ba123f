import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { EMBEDDING_HANDLER } from '../../functions/groups/embeddings/jobs/embedding-jobs.ts';
import { PROVIDER_HANDLER } from '../../functions/groups/providers/jobs/provider-jobs.ts';
import * as rag from '../../functions/groups/rag/jobs/rag-jobs.ts';
import * as retrieval from '../../functions/groups/retrieval/jobs/retrieval-jobs.ts';
import {
  json,
  type ModelServer,
  type Received,
  type Reply,
  startModelServer,
} from '../../functions/providers/outgoing/model-server.fixture.ts';
import { RecordSpace } from '../security/record-space.ts';
import { FREE_HANDLERS } from '../support/free-handlers.ts';
import { builtInHandlers, type RunningService, startService } from '../support/service.ts';

/** A process that begins to drain while a provider answers a job, and the process that goes on with the job. */

const DIMENSIONS = 2_048;
let server: ModelServer;
let folder: string;
let open: RunningService[] = [];
/** Called once, with the first request of a provider. */
let first: (() => void) | null = null;
afterEach(async () => {
  for (const service of open) await service.close();
  open = [];
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const answering: Reply = (response, received) => {
  first?.();
  first = null;
  answerTo(received)(response, received);
};

function answerTo({ url, body }: Received): Reply {
  const { input = [], documents = [] } = JSON.parse(body) as {
    readonly input?: readonly string[];
    readonly documents?: readonly string[];
  };
  const vector = (text: string) => [text.length, ...Array<number>(DIMENSIONS - 1).fill(0.5)];
  if (url.endsWith('/rerank'))
    return json({ results: documents.map((_, index) => ({ index, relevance_score: 1 / (index + 1) })) });
  if (url.endsWith('/embeddings'))
    return json({ data: input.map((text, index) => ({ index, embedding: vector(text) })) });
  return json({ choices: [{ finish_reason: 'stop', message: { content: 'Hi' } }] });
}

async function serve(): Promise<RunningService> {
  const service = await startService({
    folder,
    settings: {
      'Embeddings:Provider': 'mine',
      'Providers:EnableLiveTargets': 'yes',
      'Providers:0:Id': 'mine',
      'Providers:0:Kind': 'openai-compatible',
      'Providers:0:BaseAddress': `http://127.0.0.1:${server.port}/v1`,
      'Providers:0:Model': 'm',
      'Providers:0:Dimensions': String(DIMENSIONS),
      'Providers:0:Capabilities:0': 'ai.chat',
      'Providers:0:Capabilities:1': 'ai.embedding',
      'Providers:0:Capabilities:2': 'ai.rerank',
    },
  });
  open.push(service);
  return service;
}

const vectorPolicies = [
  { name: 'contentEmbedding', path: '/vectors/contentEmbedding/values', dimensions: DIMENSIONS },
];
const sentences = Array.from({ length: 70 }, (_, at) => `Sentence ${at + 100} stands here.`).join(' ');
const document = (documentId: string, text = `The text of ${documentId}.`) => ({
  documentId,
  partitionKey: 'p',
  text,
  options: { chunkChars: 30, chunkOverlapChars: 0 },
});
const caseOf = (query: string) => ({
  request: {
    query,
    collections: ['c'],
    searchMode: 'hybrid',
    rerank: { enabled: true, provider: 'mine' },
  },
  expected: [{ id: 'a' }],
});
const cases = ['fox', 'river', 'bank'].map(caseOf);

interface Job {
  readonly handler: string;
  readonly path: string;
  readonly body: object;
  /** The first reply, where it is no answer. */
  readonly fails?: Reply;
}

const jobs: Readonly<Record<string, Job>> = {
  'embeds texts': {
    handler: EMBEDDING_HANDLER,
    path: '/embeddings/jobs',
    body: { texts: Array.from({ length: 100 }, (_, at) => `text ${at}`) },
  },
  'ingests a text': {
    handler: rag.TEXT_HANDLER,
    path: '/collections/c/rag/ingest-text',
    body: document('d', sentences),
  },
  'ingests texts': {
    handler: rag.BATCH_HANDLER,
    path: '/collections/c/rag/ingest-text/batch',
    body: { items: ['a', 'b', 'c'].map((id) => document(id)) },
  },
  'evaluates retrievals': {
    handler: retrieval.EVALUATION_HANDLER,
    path: '/retrieval/evaluate/jobs',
    body: { cases },
  },
  'compares retrievals': {
    handler: retrieval.COMPARISON_HANDLER,
    path: '/retrieval/evaluate/compare/jobs',
    body: { cases, variants: [{ id: 'v', limit: 5 }] },
  },
  // It makes one call, and another try of it where that fails.
  'runs a capability': {
    handler: PROVIDER_HANDLER,
    path: '/providers/mine/run',
    body: { capability: 'ai.chat', payload: { messages: [{ role: 'user', content: 'hello' }] } },
    fails: json({}, 429, { 'retry-after': '1' }),
  },
};

/** The inputs of each paid request. */
const paid = () =>
  server.received
    .filter(({ url }) => url.endsWith('/embeddings'))
    .flatMap(({ body }) => (JSON.parse(body) as { readonly input: readonly string[] }).input);

describe.each(Object.entries(jobs))('a job that %s', (_, { handler, path, body, fails }) => {
  test('calls no provider once its process drains, and another one pays for the rest alone', async () => {
    folder = mkdtempSync(join(tmpdir(), 'svc-draining-'));
    const failing: Reply = (response, received) => {
      first?.();
      first = null;
      fails?.(response, received);
    };
    server = await startModelServer(...(fails === undefined ? [answering] : [failing, answering]));
    const draining = await serve();
    await draining.start();
    await new RecordSpace(draining.call).create({ name: 'c', vectorPolicies });
    const record = { id: 'a', partitionKey: 'p', content: { text: 'a fox at the river' } };
    await draining.call({ method: 'POST', path: '/collections/c/records', body: record });
    const begun = Promise.withResolvers<void>();
    first = () => {
      draining.drain();
      begun.resolve();
    };
    const admitted = await draining.call({ method: 'POST', path, body });
    expect(admitted.status, admitted.body).toBe(202);
    const run = `/execution/runs/${admitted.json<{ id: string }>().id}`;
    await begun.promise;
    open = [];
    // Its handlers have seconds to go on, which is enough for all calls.
    await draining.close();
    expect(server.received).toHaveLength(1);

    const next = await serve();
    const left = (await next.call({ method: 'GET', path: run })).json<{ handlerId: string }>();
    expect(left).toMatchObject({ handlerId: handler, status: 'queued', failureClass: null });
    await next.start();
    const ended = await next.ended({ method: 'GET', path: run });
    expect(ended.json(), ended.body).toMatchObject({ status: 'succeeded', attempt: 2 });
    expect(server.received.length).toBeGreaterThan(1);
    expect(paid()).toEqual([...new Set(paid())]);
  });
});

test('no job of the service is left out', async () => {
  const paying = Object.values(jobs).map(({ handler }) => handler);
  folder = mkdtempSync(join(tmpdir(), 'svc-draining-'));
  server = await startModelServer(answering);
  expect(await builtInHandlers(await serve())).toEqual(new Set([...paying, ...FREE_HANDLERS]));
});
