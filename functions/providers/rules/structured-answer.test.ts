import { expect, test } from 'vitest';
import { readPayload } from './payloads.ts';
import type { PromptedPayload } from './prompts.ts';
import { outputOf } from './structured-answer.ts';

test('a chat that answers half a character has the rest of its text', () => {
  const payload = { capability: 'ai.chat', messages: [], maxOutputChars: 10 } as unknown as Parameters<
    typeof outputOf
  >[0];
  expect(outputOf(payload, { text: 'a\ud800b', isWhole: true })).toEqual({
    message: { role: 'assistant', content: 'a\ufffdb', contentBlocks: null },
    stopReason: 'complete',
  });
});

test.each([
  ['100,000 levels', `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ['100,000 levels and an escape in a name', `{"\\u0061":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ['a member twice', '{"a":1,"a":2}'],
  ['the member __proto__', '{"__proto__":{"a":1}}'],
  ['a number beyond a double', '{"a":1e999}'],
  ['data with a number that a double changes', '{"a":0.1234567890123456789}'],
])('JSON of a model that holds %s is refused', (_, text) => {
  const payload = readPayload('ai.extract', { text: 'x' }) as PromptedPayload;
  const read = () => outputOf(payload, { text, isWhole: true });
  expect(read).toThrow(expect.objectContaining({ providerStatus: 'invalid_structured_output' }));
});

test('the confidence of a finding rounds', () => {
  const payload = readPayload('ai.review', { subject: 'x' }) as PromptedPayload;
  const text = '{"findings":[{"message":"m","confidence":0.1234567890123456789}]}';
  expect(outputOf(payload, { text, isWhole: true })).toMatchObject({
    findings: [{ confidence: 0.12345678901234568 }],
  });
});
