import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'vitest';
import type { InjectedRequest, InjectedResponse } from '../../functions/http/host-inject.ts';
import {
  json,
  type ModelServer,
  type Received,
  type Reply,
  startModelServer,
} from '../../functions/providers/outgoing/model-server.fixture.ts';
import type { Canaries } from './canary.ts';

/** A provider with a secret key that repeats it wherever it can, and all calls that reach it. */

export const CANARY_PROVIDER = 'canary-model';
const DIMENSIONS = 2;
const CAPABILITIES = ['ai.chat', 'ai.embedding', 'ai.extract', 'ai.rerank'] as const;

/** How the model answers. Each answer holds the key of its request. */
const replies = {
  well: (response, received) =>
    json(goodAnswer(received), 200, { 'x-said': keyIn(received) })(response, received),
  'with an error': (response, received) => {
    const said = { error: { message: `${keyIn(received)} may not send ${received.body}` } };
    json(said, 401, { 'x-said': keyIn(received) })(response, received);
  },
  'with another address': (response, received) =>
    void response
      .writeHead(302, { location: `http://127.0.0.1/?key=${keyIn(received)}` })
      .end(keyIn(received)),
  'with no JSON': (response, received) =>
    void response.writeHead(200, { 'content-type': 'text/html' }).end(`<p>${keyIn(received)}`),
} satisfies Readonly<Record<string, Reply>>;
type Manner = keyof typeof replies;
const manners = Object.keys(replies) as readonly Manner[];

export interface CanaryModel {
  readonly key: string;
  /** The settings of a service that may call the model, also for its own vectors. */
  readonly settings: Readonly<Record<string, string>>;
  readonly received: readonly (Received & { readonly manner: Manner })[];
  /** A caller may change it between two requests. */
  manner: Manner;
  readonly close: ModelServer['close'];
}

export async function startCanaryModel(canaries: Canaries): Promise<CanaryModel> {
  const key = canaries.make('api-key');
  const received: (Received & { readonly manner: Manner })[] = [];
  const server = await startModelServer((response, one) => {
    received.push({ ...one, manner: model.manner });
    replies[model.manner](response, one);
  });
  const entry = {
    Id: CANARY_PROVIDER,
    Kind: 'openai-compatible',
    BaseAddress: `http://127.0.0.1:${server.port}/v1`,
    Model: 'm',
    Dimensions: String(DIMENSIONS),
    ApiKey: key,
    ...Object.fromEntries(CAPABILITIES.map((name, at) => [`Capabilities:${at}`, name])),
  };
  const own = Object.entries(entry).map(([name, value]) => [`Providers:0:${name}`, value] as const);
  const model: CanaryModel = {
    key,
    settings: {
      'Providers:EnableLiveTargets': 'yes',
      'Embeddings:Provider': CANARY_PROVIDER,
      ...Object.fromEntries(own),
    },
    received,
    manner: 'well',
    close: server.close,
  };
  return model;
}

function keyIn({ headers }: Received): string {
  return (headers.authorization ?? '').replace('Bearer ', '');
}

function goodAnswer(received: Received): object {
  const key = keyIn(received);
  const {
    input = [],
    documents = [],
    response_format: form,
  } = JSON.parse(received.body) as {
    readonly input?: readonly string[];
    readonly documents?: readonly string[];
    readonly response_format?: object;
  };
  const embedding = Array<number>(DIMENSIONS).fill(1);
  const results = documents.map((_, index) => ({ index, relevance_score: index, document: { text: key } }));
  // The text of the JSON escapes the key, and does not hold it.
  const escaped = `\\u${key.charCodeAt(0).toString(16).padStart(4, '0')}${key.slice(1)}`;
  const content = form === undefined ? `The key is ${key}.` : `{"${escaped}":["${escaped}"],"said":"${key}"}`;
  return {
    id: key,
    model: key,
    data: input.map((_, index) => ({ index, embedding, object: key })),
    results,
    choices: [{ finish_reason: 'stop', message: { content, role: key } }],
  };
}

interface Answered {
  readonly operation: string;
  readonly answer: InjectedResponse;
}

interface Asking {
  readonly call: (operation: string, request: InjectedRequest) => Promise<InjectedResponse>;
  readonly canaries: Canaries;
  readonly headers: Readonly<Record<string, string>>;
  /** The query that names the scope of a job. */
  readonly scope: string;
  /** A record with a vector of this name. */
  readonly stored: { readonly collection: string; readonly field: string; readonly text: string };
}

type Step = () => Promise<unknown>;

/** Makes every call that reaches the model, once for each way in which it answers, and leaves it with good answers. */
export async function askModel(model: CanaryModel, asking: Asking): Promise<void> {
  // Each way of answering in turn: so too few failures follow one another to open the circuit.
  for (const step of [...runSteps(asking), ...vectorSteps(asking), ...retrievalSteps(asking)])
    for (const manner of manners) {
      model.manner = manner;
      await step();
    }
  model.manner = 'well';
  const { call, headers } = asking;
  for (const operation of ['provider.run', 'provider.qualification', 'retrieval.search'])
    await call('listTraces', { method: 'GET', path: `/traces?operation=${operation}&limit=200`, headers });
}

function runSteps(asking: Asking): readonly Step[] {
  const secret = () => asking.canaries.make('payload');
  const own = `/providers/${CANARY_PROVIDER}`;
  const payloads: Readonly<Record<(typeof CAPABILITIES)[number], () => object>> = {
    'ai.chat': () => ({ messages: [{ role: 'user', content: secret() }] }),
    'ai.embedding': () => ({ texts: [secret()] }),
    'ai.extract': () => ({ text: secret() }),
    'ai.rerank': () => ({ query: secret(), candidates: [{ id: secret(), text: secret() }] }),
  };
  const starts = { runProviderCapability: `${own}/run`, startProviderRunJob: `${own}/jobs` };
  // A space has 60 runs a minute: each way starts two capabilities, and one is qualified.
  const runs = Object.entries(starts).flatMap(([operation, path], way) =>
    CAPABILITIES.slice(2 * way, 2 * way + 2).map((capability) => async () => {
      const body = { capability, payload: payloads[capability]() };
      const started = await post(asking, operation, `${path}?${asking.scope}`, body);
      await ended(asking, 'getProviderRunJob', '/provider-jobs', started);
    }),
  );
  return [...runs, () => post(asking, 'qualifyProvider', `${own}/qualify`, { capability: 'ai.extract' })];
}

function vectorSteps(asking: Asking): readonly Step[] {
  // A text that is new: vectors that were paid for are kept.
  const body = () => ({ text: asking.canaries.make('payload') });
  return [
    () => post(asking, 'generateEmbeddings', '/embeddings', body()),
    async () => {
      const started = await post(asking, 'startEmbeddingJob', `/embeddings/jobs?${asking.scope}`, body());
      await ended(asking, 'getEmbeddingJob', '/embeddings/jobs', started);
    },
  ];
}

/** By words with the model as the reranker, whose failure is part of the answer or the refusal, and by vectors. */
function retrievalSteps(asking: Asking): readonly Step[] {
  const { collection, field, text } = asking.stored;
  const secret = () => asking.canaries.make('payload');
  const common = { collections: [collection], includeTrace: true };
  const rerank = { enabled: true, provider: CANARY_PROVIDER };
  const ranked = () => ({ ...common, query: text, searchMode: 'lexical', rerank });
  const strict = () => ({ ...ranked(), rerank: { ...rerank, fallbackOnFailure: false } });
  const near = () => ({ ...common, query: secret(), searchMode: 'vector', embedding: { field } });
  const search = (question: object) => post(asking, 'retrieve', '/search', question);
  const judge = (request: object) => {
    const cases = [{ request, expected: [{ id: secret() }] }];
    return post(asking, 'evaluateRetrieval', '/retrieval/evaluate', { cases });
  };
  const context = (retrieval: object) => post(asking, 'buildRagContext', '/rag/context', { retrieval });
  const judgeContext = (retrieval: object) =>
    post(asking, 'evaluateRagContext', '/rag/context/evaluate', { cases: [{ request: { retrieval } }] });
  const all = [search, judge, context, judgeContext];
  return [
    () => search(ranked()),
    ...all.map((ask) => () => ask(strict())),
    ...all.map((ask) => () => ask(near())),
  ];
}

function post({ call, headers }: Asking, operation: string, path: string, body: object) {
  const sent = { ...headers, 'Content-Type': 'application/json' };
  return call(operation, { method: 'POST', path, headers: sent, body });
}

/** Reads the job until it has ended. */
async function ended({ call, headers }: Asking, operation: string, path: string, started: InjectedResponse) {
  const { id } = started.json<{ id: string }>();
  for (;;) {
    const job = await call(operation, { method: 'GET', path: `${path}/${id}`, headers });
    if (job.status !== 200) throw new Error(`there is no job: ${started.body} ${job.body}`);
    if (job.json<{ completedAt: string | null }>().completedAt !== null) return;
    await nextTurn();
  }
}

const URLS = ['/v1/chat/completions', '/v1/embeddings', '/v1/rerank'];
const READS = ['listProviderModels', 'getProviderDoctor', 'getProviderReadiness', 'getProviderQuota'];

/** Checks that the model was called in every way, and that callers received its answers and failures. */
export function expectAsked({ received, key }: CanaryModel, spoken: readonly Answered[]): void {
  const calls = new Set(received.map(({ manner, url }) => `${url} ${manner}`));
  expect(calls).toEqual(new Set(URLS.flatMap((url) => manners.map((manner) => `${url} ${manner}`))));
  expect(new Set(received.map((each) => keyIn(each)))).toEqual(new Set([key]));
  const holding = (operation: string, words: string) =>
    spoken.filter((each) => each.operation === operation && each.answer.body.includes(words)).length;
  const statuses = (operation: string) =>
    spoken.filter((each) => each.operation === operation).map(({ answer }) => answer.status);
  // A chat, a structured answer with an escaped key, and failures that the key was part of.
  for (const words of ['The key is [key].', '"said":"[key]"', '"http_401"', '"http_302"'])
    expect(holding('getProviderRunJob', words), words).toBeGreaterThan(0);
  for (const operation of ['retrieve', 'buildRagContext', 'evaluateRetrieval', 'evaluateRagContext'])
    expect(holding(operation, 'http_401'), operation).toBeGreaterThan(0);
  for (const operation of ['generateEmbeddings', 'retrieve'])
    for (const status of [200, 502]) expect(statuses(operation), operation).toContain(status);
  for (const operation of ['qualifyProvider', 'getEmbeddingJob', ...READS])
    expect(statuses(operation), operation).toContain(200);
  for (const operation of ['provider.run', 'provider.qualification', 'retrieval.search'])
    expect(holding('listTraces', `"${operation}"`), operation).toBeGreaterThan(0);
}
