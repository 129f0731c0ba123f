import { afterEach, describe, expect, test } from 'vitest';
import { toolsMissing } from '../../../scripts/tools.ts';
import { officialOpenAi } from '../../../test/support/official-openai.ts';
import { ProviderFailure } from '../failure.ts';
import {
  json,
  type ModelServer,
  ModelWorld,
  type Received,
  type Reply,
  startModelServer,
  TIMEOUT_MS,
} from '../outgoing/model-server.fixture.ts';
import { readPayload } from '../rules/payloads.ts';
import type { ChatPrompt } from '../rules/prompts.ts';
import { callModel } from './call-model.ts';
import type { ModelBounds } from './model.ts';
import { openAiModel } from './openai-model.ts';

const KEY = 'sk-canary-4711';
const prompt: ChatPrompt = {
  system: 'Be brief.',
  messages: [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'é😀\u2028"\\' },
    { role: 'user', content: 'Again' },
  ],
  wantsJson: false,
};
const bounds: ModelBounds = {
  timeoutMs: TIMEOUT_MS,
  answerBytesMax: 10_000,
  signal: new AbortController().signal,
};
let server: ModelServer;
afterEach(() => server.close());

async function modelAt(...replies: readonly Reply[]) {
  server = await startModelServer(...replies);
  const baseAddress = `http://127.0.0.1:${server.port}/v1`;
  const apiKey = () => Promise.resolve(KEY);
  return openAiModel(new ModelWorld(), { baseAddress, modelId: 'small', outputTokensMax: 64, apiKey });
}

const completion = (content: unknown, more: object = {}, finish = 'stop') => ({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'small',
  choices: [{ index: 0, finish_reason: finish, message: { role: 'assistant', content, ...more } }],
  usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
});

async function failureOf(work: Promise<unknown>): Promise<ProviderFailure> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ProviderFailure)) throw new Error('the call did not fail');
  expect(JSON.stringify([error.message, error.providerStatus, error.stack])).not.toContain(KEY);
  return error;
}

test('a chat gives the text of the first choice and the usage that the provider reports', async () => {
  const model = await modelAt(json(completion('Hi')));
  expect(await model.complete(prompt, bounds)).toEqual({
    value: { text: 'Hi', isWhole: true },
    usage: { inputTokens: 9, outputTokens: 2, isReported: true },
    secret: KEY,
  });
  expect(server.received[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
});

test('a key that the provider repeats is cut out of its text', async () => {
  const model = await modelAt(json(completion(`You sent ${KEY}, ${KEY}`)));
  const { value } = await model.complete(prompt, bounds);
  expect(value.text).toBe('You sent [key], [key]');
});

test('a key that the provider repeats with escapes of JSON is cut out of the names and values', async () => {
  const escaped = KEY.replace('s', '\\u0073');
  const text = `{"${escaped}":[{"a":"x ${escaped}"}],"b":"sk\\u002dcanary-4711","c":1}`;
  expect(text).not.toContain(KEY);
  expect(JSON.stringify(JSON.parse(text))).toContain(KEY);
  const model = await modelAt(json(completion(text)));
  const { output } = await callModel(model, readPayload('ai.extract', { text: 'x' }), bounds);
  expect(output['data']).toEqual({ '[key]': [{ a: 'x [key]' }], b: '[key]', c: 1 });
});

test('the member that bounds the output is that of the server', async () => {
  const bodies: unknown[] = [];
  const http = (_: string | URL, init: RequestInit = {}) => {
    bodies.push(JSON.parse(init.body as string));
    return Promise.resolve(Response.json(completion('Hi')));
  };
  server = await startModelServer();
  for (const baseAddress of ['https://api.openai.com/v1', 'https://models.example/v1']) {
    const apiKey = () => Promise.resolve(null);
    const world = Object.assign(new ModelWorld(), { http });
    const model = openAiModel(world, { baseAddress, modelId: 'small', outputTokensMax: 64, apiKey });
    await model.complete(prompt, bounds);
  }
  const gateway = {
    baseAddress: 'https://gateway.example/v1',
    tokenParameter: 'max_completion_tokens',
    apiKey: () => Promise.resolve(null),
  };
  const behind = openAiModel(Object.assign(new ModelWorld(), { http }), {
    ...gateway,
    modelId: 'small',
    outputTokensMax: 64,
  });
  await behind.complete(prompt, bounds);
  expect(bodies).toEqual([
    expect.objectContaining({ max_completion_tokens: 64 }),
    expect.objectContaining({ max_tokens: 64 }),
    expect.objectContaining({ max_completion_tokens: 64 }),
  ]);
  expect(bodies[2]).not.toHaveProperty('max_tokens');
});

describe('an answer of another shape is refused', () => {
  test.each<[string, Reply, string]>([
    ['without choices', json({}), 'unexpected_shape'],
    ['with no choice', json({ choices: [] }), 'unexpected_shape'],
    ['without a text', json(completion(null)), 'unexpected_shape'],
    ['with a list as its text', json(completion([{ text: KEY }])), 'unexpected_shape'],
    ['that is a text', json('Hi'), 'unexpected_shape'],
    [
      'that is a page',
      (response) => response.writeHead(200, { 'content-type': 'text/html' }).end(`<p>${KEY}`),
      'unexpected_content_type',
    ],
    ['that is too large', json(completion('x'.repeat(11_000))), 'output_limit'],
  ])('%s', async (_, reply, providerStatus) => {
    const model = await modelAt(reply);
    const failure = await failureOf(model.complete(prompt, bounds));
    expect(failure).toMatchObject({ failureClass: 'schema', providerStatus });
    expect(server.received).toHaveLength(1);
  });

  test.each([
    ['by a filter', completion('', {}, 'content_filter')],
    ['in words', completion(null, { refusal: `no, ${KEY}` })],
  ])('refused %s', async (_, answer) => {
    const model = await modelAt(json(answer));
    expect(await failureOf(model.complete(prompt, bounds))).toMatchObject({
      failureClass: 'policy',
      providerStatus: 'content_refused',
      isRetryable: false,
    });
  });
});

test('a text that ends at the limit of the model is marked', async () => {
  const model = await modelAt(json(completion('Hi', {}, 'length')));
  expect((await model.complete(prompt, bounds)).value.isWhole).toBe(false);
});

test('an endless answer ends at its bound, and a redirect is not followed', async () => {
  const endless: Reply = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(1_000)));
    };
    response.on('drain', more);
    more();
  };
  const endlessModel = await modelAt(endless);
  expect(await failureOf(endlessModel.complete(prompt, bounds))).toMatchObject({
    providerStatus: 'output_limit',
  });
  await server.close();
  const redirect = json({}, 307, { location: 'http://169.254.169.254/latest/meta-data' });
  const model = await modelAt(redirect);
  expect(await failureOf(model.complete(prompt, bounds))).toMatchObject({
    failureClass: 'configuration',
    providerStatus: 'http_307',
  });
  expect(server.received).toHaveLength(1);
});

test('an answer that does not arrive fails at its time limit', async () => {
  server = await startModelServer(() => undefined);
  const world = new ModelWorld();
  const baseAddress = `http://127.0.0.1:${server.port}/v1`;
  const apiKey = () => Promise.resolve(null);
  const model = openAiModel(world, { baseAddress, modelId: 'small', outputTokensMax: 64, apiKey });
  const admitted = Promise.withResolvers<void>();
  const work = failureOf(
    model.complete(prompt, { ...bounds, admit: () => Promise.resolve(admitted.resolve()) }),
  );
  await admitted.promise;
  // The timer of the try is set in the turn after its admission.
  setImmediate(() => world.timeOut());
  expect(await work).toMatchObject({ failureClass: 'timeout' });
});

describe('ranks', () => {
  const question = { query: 'q', documents: ['a', 'b', 'c'], limit: 2 };

  test('are the places and scores of the answer', async () => {
    const results = [
      { index: 2, relevance_score: 0.9 },
      { index: 0, relevance_score: -1.5 },
    ];
    const model = await modelAt(json({ results, usage: { total_tokens: 5 } }));
    expect(await model.rank(question, bounds)).toEqual({
      value: [
        { index: 2, score: 0.9 },
        { index: 0, score: -1.5 },
      ],
      usage: { inputTokens: 5, outputTokens: 0, isReported: true },
    });
    expect(JSON.parse(server.received[0]?.body ?? '')).toEqual({
      model: 'small',
      query: 'q',
      documents: ['a', 'b', 'c'],
      top_n: 2,
      return_documents: false,
    });
    expect(server.received[0]).toMatchObject({ method: 'POST', url: '/v1/rerank' });
  });

  test.each<[string, unknown, string]>([
    ['without results', {}, 'unexpected_shape'],
    ['of more documents than there are', { results: [0, 1, 2, 3] }, 'unexpected_shape'],
    ['of no document', { results: [{ index: 3, relevance_score: 1 }] }, 'rank_index'],
    ['of half a document', { results: [{ index: 0.5, relevance_score: 1 }] }, 'rank_index'],
    [
      'of one document twice',
      {
        results: [
          { index: 0, relevance_score: 1 },
          { index: 0, relevance_score: 2 },
        ],
      },
      'rank_index',
    ],
    ['without a score', { results: [{ index: 0 }] }, 'rank_score'],
  ])('%s are refused', async (_, answer, providerStatus) => {
    const model = await modelAt(json(answer));
    expect(await failureOf(model.rank(question, bounds))).toMatchObject({ providerStatus });
  });

  test('that are refused report their usage', async () => {
    const model = await modelAt(json({ results: null, usage: { total_tokens: 55 } }));
    const usages: unknown[] = [];
    await failureOf(model.rank(question, { ...bounds, took: (usage) => usages.push(usage) }));
    expect(usages).toEqual([{ inputTokens: 55, outputTokens: 0, isReported: true }]);
  });
});

/** The parts of a request that a server sees, without those in which a client names itself. */
function facts(received: Received | undefined) {
  const { method, url, headers, body } = received ?? expect.fail('there is no request');
  const { authorization, accept } = headers;
  const type = headers['content-type'];
  return { method, url, authorization, accept, type, body: JSON.parse(body) as unknown };
}

describe.skipIf(toolsMissing !== undefined)(`the official client ${toolsMissing ?? ''}`.trim(), () => {
  async function bothFor(asked: ChatPrompt, more: object = {}) {
    const model = await modelAt(json(completion('Hi')));
    const baseURL = `http://127.0.0.1:${server.port}/v1`;
    const system = asked.system === null ? [] : [{ role: 'system', content: asked.system }];
    const theirs = await officialOpenAi({ apiKey: KEY, baseURL, maxRetries: 0 }).chat.completions.create({
      model: 'small',
      messages: [...system, ...asked.messages],
      max_tokens: 64,
      ...(asked.wantsJson ? { response_format: { type: 'json_object' } } : {}),
      ...more,
    });
    const ours = await model.complete(asked, bounds);
    expect(theirs.choices[0]).toMatchObject({ message: { content: ours.value.text } });
    return server.received.map(facts);
  }

  test.each<[string, ChatPrompt]>([
    ['a chat', prompt],
    ['a chat without instructions', { ...prompt, system: null }],
    ['an answer in JSON', { ...prompt, wantsJson: true }],
    ['a long text', { ...prompt, messages: [{ role: 'user', content: 'x'.repeat(60_000) }] }],
  ])('sends the same request as ours for %s, and reads the same text', async (_, asked) => {
    const [theirs, ours] = await bothFor(asked);
    expect(ours).toEqual(theirs);
  });

  test.each([{ temperature: 0 }, { n: 2 }, { stream: false }])(
    'and a request with %j would be found',
    async (more) => {
      const [theirs, ours] = await bothFor(prompt, more);
      expect(ours).not.toEqual(theirs);
    },
  );
});
