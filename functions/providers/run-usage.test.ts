import { afterEach, expect, test } from 'vitest';
import { json, type Reply } from './outgoing/model-server.fixture.ts';
import { closeServer, Instance, runOf } from './run-capability.fixture.ts';
import { runCapability } from './run-capability.ts';

/** The usage of runs, as traces and the tokens of the day report it. */

afterEach(closeServer);

const refusing = (choice: object, usage: object | undefined) => json({ choices: [choice], usage });
const used = { prompt_tokens: 50, completion_tokens: 5 };
const said = (content: string, finish_reason = 'stop') => ({ finish_reason, message: { content } });
test.each<[string, Reply, string]>([
  ['a text that is no JSON', refusing(said('no json'), used), 'invalid_structured_output'],
  ['half of a text', refusing(said('{', 'length'), used), 'output_truncated'],
  ['no content', refusing(said('', 'content_filter'), used), 'content_refused'],
  ['another shape', refusing({}, used), 'unexpected_shape'],
])('a run whose answer is %s has its usage, which counts for the day', async (_, reply, providerStatus) => {
  const instance = new Instance();
  const provider = await instance.remote(reply);
  const run = runOf({ capability: 'ai.extract', payload: { text: 'x' } });
  expect((await runCapability(instance.parts, provider, run)).outcome).toMatchObject({ providerStatus });
  const usage = { inputTokens: 50, outputTokens: 5, isReported: true, costUsd: 0.00014 };
  expect(instance.traces[0]?.resultSummary['usage']).toEqual(usage);
  expect(await instance.tokensOfDay()).toBe(55);
});

test('a run whose answer is refused and reports no usage has an estimate, and counts as before the call', async () => {
  const instance = new Instance();
  const provider = await instance.remote(refusing(said('no json'), undefined));
  const run = runOf({ capability: 'ai.extract', payload: { text: 'x' } });
  await runCapability(instance.parts, provider, run);
  expect(instance.traces[0]?.resultSummary['usage']).toMatchObject({ outputTokens: 3, isReported: false });
  expect(await instance.tokensOfDay()).toBeGreaterThan(64);
});

test('a run that no model has answered has no usage', async () => {
  const instance = new Instance();
  await runCapability(instance.parts, await instance.remote(json({ usage: used }, 401)), runOf());
  expect(instance.traces[0]?.resultSummary['usage']).toBeNull();
});
