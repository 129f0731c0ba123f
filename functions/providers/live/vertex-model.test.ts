import { afterEach, describe, expect, test } from 'vitest';
import {
  json,
  type ModelServer,
  ModelWorld,
  startModelServer,
  TIMEOUT_MS,
} from '../outgoing/model-server.fixture.ts';
import type { ChatPrompt } from '../rules/prompts.ts';
import type { ModelBounds } from './model.ts';
import { vertexModel } from './vertex-model.ts';

const prompt: ChatPrompt = {
  system: 'Be brief.',
  messages: [
    { role: 'user', content: 'Hello' },
    { role: 'system', content: 'In English.' },
    { role: 'assistant', content: 'Hi' },
    { role: 'user', content: 'Again' },
  ],
  wantsJson: true,
};
const bounds = { timeoutMs: TIMEOUT_MS, answerBytesMax: 10_000, signal: new AbortController().signal };
let server: ModelServer;
afterEach(() => server.close());

async function ask(answer: unknown, asked = prompt, token = 'token', more: Partial<ModelBounds> = {}) {
  server = await startModelServer(json(answer));
  const model = vertexModel(new ModelWorld(), {
    project: 'p-1',
    location: 'europe-west1',
    modelId: 'gemini-2.5-flash',
    outputTokensMax: 64,
    credentials: () => Promise.resolve(new Headers({ authorization: `Bearer ${token}` })),
    endpoint: `http://127.0.0.1:${server.port}`,
  });
  return model.complete(asked, { ...bounds, ...more });
}

const candidate = (parts: unknown, finishReason = 'STOP') => ({
  candidates: [{ content: { role: 'model', parts }, finishReason }],
  usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 2, thoughtsTokenCount: 5 },
});

test('requests a text as the reference of the operation describes', async () => {
  const parts = [{ text: 'plan', thought: true }, { text: '{"a"' }, { text: ':1}' }];
  expect(await ask(candidate(parts))).toEqual({
    value: { text: '{"a":1}', isWhole: true },
    usage: { inputTokens: 9, outputTokens: 7, isReported: true },
    secret: 'token',
  });
  const { method, url, headers, body } = server.received[0] ?? expect.fail();
  expect(method).toBe('POST');
  expect(url).toBe(
    '/v1/projects/p-1/locations/europe-west1/publishers/google/models/gemini-2.5-flash:generateContent',
  );
  expect(headers.authorization).toBe('Bearer token');
  expect(JSON.parse(body)).toEqual({
    contents: [
      { role: 'user', parts: [{ text: 'Hello' }] },
      { role: 'model', parts: [{ text: 'Hi' }] },
      { role: 'user', parts: [{ text: 'Again' }] },
    ],
    systemInstruction: { parts: [{ text: 'Be brief.' }, { text: 'In English.' }] },
    generationConfig: { candidateCount: 1, maxOutputTokens: 64, responseMimeType: 'application/json' },
  });
});

test('a token that the provider repeats is cut out of its text, and is known for what is read from it', async () => {
  const token = 'ya29.canary-4711';
  const { value, secret } = await ask(candidate([{ text: `You sent ${token}` }]), prompt, token);
  expect([value.text, secret]).toEqual(['You sent [key]', token]);
});

test('a plain chat has no instructions and asks for no type', async () => {
  await ask(candidate([{ text: 'Hi' }]), {
    system: null,
    messages: [{ role: 'user', content: 'Hello' }],
    wantsJson: false,
  });
  expect(JSON.parse(server.received[0]?.body ?? '')).toEqual({
    contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
    generationConfig: { candidateCount: 1, maxOutputTokens: 64 },
  });
});

describe('an answer', () => {
  test.each<[string, unknown, string, string]>([
    ['that was blocked', { promptFeedback: { blockReason: 'SAFETY' } }, 'policy', 'content_refused'],
    ['that was ended by a filter', candidate([{ text: 'x' }], 'SAFETY'), 'policy', 'content_refused'],
    ['without candidates', {}, 'schema', 'unexpected_shape'],
    ['without parts', candidate(null), 'schema', 'unexpected_shape'],
    ['with thoughts alone', candidate([{ text: 'x', thought: true }]), 'schema', 'unexpected_shape'],
    ['with a part that is no text', candidate([{ text: 1 }]), 'schema', 'unexpected_shape'],
  ])('%s is a failure', async (_, answer, failureClass, providerStatus) => {
    await expect(ask(answer)).rejects.toMatchObject({ failureClass, providerStatus });
  });

  test('that is a failure reports its usage', async () => {
    const usages: unknown[] = [];
    const took = (usage: unknown) => usages.push(usage);
    const refused = ask(candidate([{ text: 'x' }], 'SAFETY'), prompt, 'token', { took });
    await expect(refused).rejects.toMatchObject({ providerStatus: 'content_refused' });
    expect(usages).toEqual([{ inputTokens: 9, outputTokens: 7, isReported: true }]);
  });

  test('that ended at the limit of the model is marked', async () => {
    const { value } = await ask(candidate([{ text: 'x' }], 'MAX_TOKENS'));
    expect(value.isWhole).toBe(false);
  });
});
