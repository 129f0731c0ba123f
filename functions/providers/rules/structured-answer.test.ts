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

const invoice = {
  type: 'object',
  required: ['total'],
  properties: {
    total: { type: 'string', pattern: '^(a+)+$' },
    lines: {
      type: 'array',
      items: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } },
    },
    kind: { enum: ['bill', { of: 1 }] },
    note: { type: ['string', 'null'] },
    odd: { type: 'date' },
    toString: { type: 'string' },
  },
};

test.each<[string, object, string | null]>([
  ['all members', { total: '1', lines: [{ n: 1 }], kind: 'bill', note: null, odd: 5 }, null],
  ['a member that is not asked for', { total: '1', more: [1] }, null],
  ['a choice that is no text', { total: '1', kind: { of: 1 } }, null],
  ['no required member', { note: 'x' }, 'missing_member'],
  ['a number for a text', { total: 1 }, 'wrong_shape'],
  ['a text for a list', { total: '1', lines: 'x' }, 'wrong_shape'],
  ['a fraction for an integer in a list', { total: '1', lines: [{ n: 1 }, { n: 1.5 }] }, 'wrong_shape'],
  ['no required member in a list', { total: '1', lines: [{}] }, 'wrong_shape'],
  ['another choice', { total: '1', kind: 'letter' }, 'wrong_shape'],
  ['neither of two types', { total: '1', note: 5 }, 'wrong_shape'],
])('extracted data with %s is held against the schema', (_, data, refusal) => {
  const payload = readPayload('ai.extract', { text: 'x', schema: invoice }) as PromptedPayload;
  const read = () => outputOf(payload, { text: JSON.stringify(data), isWhole: true });
  if (refusal === null) expect(read()).toMatchObject({ data, validationStatus: 'shape_checked' });
  else expect(read).toThrow(expect.objectContaining({ failureClass: 'schema', providerStatus: refusal }));
});
