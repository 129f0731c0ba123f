import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../kernel/canonical-json.ts';
import { ProviderFailure } from '../failure.ts';
import type { OfferedCapability } from './capabilities.ts';
import { readPayload } from './payloads.ts';
import { type PromptedPayload, promptOf } from './prompts.ts';
import { tinyPayload } from './qualification.ts';
import { outputOf } from './structured-answer.ts';

const payloadOf = (capability: OfferedCapability, payload: Json = tinyPayload(capability)) =>
  readPayload(capability, payload) as PromptedPayload;
const answered = (payload: PromptedPayload, answer: Json, isWhole = true) =>
  outputOf(payload, { text: typeof answer === 'string' ? answer : JSON.stringify(answer), isWhole });
const structured = ['ai.extract', 'ai.review', 'ai.scaffold', 'ai.toolPlan'] as const;

describe('the output of a model', () => {
  test('of a chat is cut where the caller wants less', () => {
    const chat = payloadOf('ai.chat', { messages: [{ role: 'user', content: 'x' }], maxOutputChars: 3 });
    expect(answered(chat, 'abc')).toMatchObject({ message: { content: 'abc' }, stopReason: 'complete' });
    expect(answered(chat, 'ab😀')).toMatchObject({ message: { content: 'ab' }, stopReason: 'length' });
    expect(answered(chat, 'abc', false)).toMatchObject({ stopReason: 'length' });
  });

  test.each<[OfferedCapability, Json]>([
    ['ai.extract', { state: 'KEY', KEY: [['KEY']] }],
    ['ai.review', { summary: 'KEY', findings: [{ message: 'x'.repeat(4_090) + 'KEY', category: 'KEY' }] }],
    ['ai.scaffold', { summary: 'KEY', artifacts: [{ path: 'proposal.md', content: 'KEY' }] }],
    ['ai.toolPlan', { calls: [{ tool: 'read_state', arguments: { KEY: 'KEY' }, rationale: 'KEY' }] }],
  ])('of %s has no part of the key, which stands with escapes in the answer', (capability, answer) => {
    const key = 'sk-canary/"4711"';
    const escaped = '\\u0073k-canary\\/\\"4711\\"';
    const text = JSON.stringify(answer).replaceAll('KEY', escaped);
    const shown = (secret: string | null) =>
      JSON.stringify(outputOf(payloadOf(capability), { text, isWhole: true }, secret));
    expect(shown(null)).toContain('sk-can');
    expect(shown(key)).toContain('[key]');
    expect(shown(key)).not.toContain('sk-');
  });

  test('of an extraction is the object, also where it stands in a block of code', () => {
    const extract = payloadOf('ai.extract', { text: 'x', schema: { required: ['state'] } });
    expect(answered(extract, { state: 1 })).toEqual({
      data: { state: 1 },
      validationStatus: 'shape_checked',
    });
    expect(answered(extract, '```json\n{"state":1}\n```')).toMatchObject({ data: { state: 1 } });
  });

  test('of a review is bounded, and its words are those of the contract', () => {
    const review = payloadOf('ai.review', {
      subject: 'x',
      maxFindings: 2,
      references: [{ id: 'r', kind: 'k' }],
    });
    const findings = [
      { message: 'one', severity: 'high', confidence: 0.5, category: 'c' },
      { message: 'two', severity: 'fatal', confidence: 7 },
      { message: 'three' },
    ];
    const output = answered(review, { summary: 's', findings });
    expect(output).toMatchObject({
      summary: 's',
      findings: [
        { id: 'finding-7692c3ad3540', severity: 'high', confidence: 0.5, category: 'c' },
        { severity: 'info', confidence: null, category: null },
      ],
      references: [{ id: 'r', kind: 'k' }],
    });
    expect(output['findings']).toHaveLength(2);
  });

  test('of a scaffold is proposed at paths that are allowed', () => {
    const scaffold = payloadOf('ai.scaffold', { prompt: 'x', allowedPaths: ['a/b'] });
    const artifacts = [{ path: 'a/b', content: 'c', action: 'delete' }];
    expect(answered(scaffold, { artifacts })).toMatchObject({
      artifacts: [{ path: 'a/b', action: 'propose', content: 'c' }],
    });
  });

  test('of a plan needs an approval for each call, whatever the model says', () => {
    const plan = payloadOf('ai.toolPlan');
    const calls = [{ tool: 'read_state', arguments: { a: 1 }, requiresApproval: false }];
    expect(answered(plan, { calls })).toMatchObject({
      calls: [{ tool: 'read_state', arguments: { a: 1 }, requiresApproval: true, rationale: null }],
    });
  });

  test.each<[string, OfferedCapability, Json, string]>([
    ['no JSON', 'ai.extract', 'The state is ready.', 'invalid_structured_output'],
    ['a list', 'ai.extract', [], 'invalid_structured_output'],
    ['null', 'ai.review', 'null', 'invalid_structured_output'],
    ['no findings', 'ai.review', {}, 'missing_member'],
    ['a finding without a message', 'ai.review', { findings: [{}] }, 'missing_member'],
    ['a finding that is a text', 'ai.review', { findings: ['x'] }, 'invalid_structured_output'],
    ['no artifact', 'ai.scaffold', { artifacts: [] }, 'missing_member'],
    ['an artifact without a content', 'ai.scaffold', { artifacts: [{ path: 'a' }] }, 'missing_member'],
    [
      'an artifact at another path',
      'ai.scaffold',
      { artifacts: [{ path: 'other.md', content: '' }] },
      'path_not_allowed',
    ],
    ['a tool that was not offered', 'ai.toolPlan', { calls: [{ tool: 'rm' }] }, 'unknown_tool'],
    [
      'arguments that are a text',
      'ai.toolPlan',
      { calls: [{ tool: 'read_state', arguments: 'x' }] },
      'invalid_structured_output',
    ],
  ])('%s is refused', (_, capability, answer, providerStatus) => {
    expect(() => answered(payloadOf(capability), answer)).toThrow(
      expect.objectContaining({ failureClass: 'schema', providerStatus }),
    );
  });

  test('without paths that are allowed stays inside all the same', () => {
    const scaffold = payloadOf('ai.scaffold', { prompt: 'x' });
    const artifacts = [{ path: '../../etc/passwd', content: '' }];
    expect(() => answered(scaffold, { artifacts })).toThrow(
      expect.objectContaining({ providerStatus: 'path_not_allowed' }),
    );
  });

  test('without a member that the schema requires is refused', () => {
    const extract = payloadOf('ai.extract', { text: 'x', schema: { required: ['state', '__proto__'] } });
    expect(() => answered(extract, { state: 1 })).toThrow(
      expect.objectContaining({ providerStatus: 'missing_member' }),
    );
  });

  test.each(structured)('of %s that is cut off is refused', (capability) => {
    expect(() => answered(payloadOf(capability), {}, false)).toThrow(
      expect.objectContaining({ providerStatus: 'output_truncated' }),
    );
  });

  test('of any JSON is an output or a failure that repeats nothing of it', () => {
    const canary = 'canary-4711';
    const value = fc.jsonValue({ maxDepth: 3 }).map((json) => JSON.stringify([json, canary]));
    const answer = fc
      .dictionary(fc.constantFrom('calls', 'findings', 'artifacts', 'summary', canary), fc.jsonValue())
      .map((json) => JSON.stringify(json));
    fc.assert(
      fc.property(fc.constantFrom(...structured), fc.oneof(value, answer), (capability, text) => {
        try {
          outputOf(payloadOf(capability), { text, isWhole: true });
        } catch (error) {
          expect(error).toBeInstanceOf(ProviderFailure);
          expect((error as Error).message).not.toContain(canary);
        }
      }),
    );
  });
});

describe('a prompt', () => {
  test.each(structured)(
    'of %s asks for JSON, and has the content in the message of the user',
    (capability) => {
      const { system, messages, wantsJson } = promptOf(payloadOf(capability));
      expect(wantsJson).toBe(true);
      expect(system).toContain('Answer with one JSON object');
      expect(messages).toHaveLength(1);
      expect(messages[0]).toMatchObject({ role: 'user', content: expect.stringMatching(/ready|read_state/) });
      if (capability === 'ai.extract' || capability === 'ai.review')
        expect(system).not.toContain('The state is ready.');
    },
  );

  test('of a chat is the chat', () => {
    const messages = [{ role: 'user', content: 'x' }];
    expect(promptOf(payloadOf('ai.chat', { messages, system: 's' }))).toEqual({
      system: 's',
      messages,
      wantsJson: false,
    });
  });
});
