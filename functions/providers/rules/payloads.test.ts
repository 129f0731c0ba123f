import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import type { OfferedCapability } from './capabilities.ts';
import { deterministicOutput } from './deterministic.ts';
import { InvalidPayload } from './payload-members.ts';
import { isInnerPath, readPayload } from './payloads.ts';
import { tinyPayload } from './qualification.ts';

const offered: readonly OfferedCapability[] = [
  'ai.chat',
  'ai.embedding',
  'ai.extract',
  'ai.rerank',
  'ai.review',
  'ai.scaffold',
  'ai.toolPlan',
];
const user = { role: 'user', content: 'hello' };
const candidate = { id: 'a', text: 'x' };

describe('a payload', () => {
  test.each<[string, OfferedCapability, Json]>([
    ['that is no object', 'ai.chat', []],
    ['without messages', 'ai.chat', {}],
    ['whose messages are blank', 'ai.chat', { messages: [{ role: 'user', content: ' \n' }] }],
    ['without a message of the user', 'ai.chat', { messages: [{ role: 'assistant', content: 'x' }] }],
    ['with a role that there is not', 'ai.chat', { messages: [{ role: 'tool', content: 'x' }] }],
    ['with blocks of content', 'ai.chat', { messages: [{ ...user, contentBlocks: [{}] }] }],
    ['with no characters of output', 'ai.chat', { messages: [user], maxOutputChars: 0 }],
    ['with half a character of output', 'ai.chat', { messages: [user], maxOutputChars: 0.5 }],
    ['without texts', 'ai.embedding', { texts: [] }],
    ['with 129 texts', 'ai.embedding', { texts: Array.from({ length: 129 }, () => 'x') }],
    ['with another purpose', 'ai.embedding', { text: 'x', purpose: 'fun' }],
    ['with a blank text', 'ai.extract', { text: '\t' }],
    ['with a schema that is a list', 'ai.extract', { text: 'x', schema: [] }],
    ['with half a surrogate pair', 'ai.extract', { text: '\ud800' }],
    ['without candidates', 'ai.rerank', { query: 'x', candidates: [] }],
    ['with a candidate without a text', 'ai.rerank', { query: 'x', candidates: [{ id: 'a' }] }],
    ['with equal candidates', 'ai.rerank', { query: 'x', candidates: [candidate, candidate] }],
    ['with a limit of -1', 'ai.rerank', { query: 'x', candidates: [candidate], limit: -1 }],
    ['with nothing to review', 'ai.review', { subject: ' ', prompt: null }],
    ['with no findings wanted', 'ai.review', { subject: 'x', maxFindings: 0 }],
    ['with a reference without a kind', 'ai.review', { subject: 'x', references: [{ id: 'a' }] }],
    ['with a path outside', 'ai.scaffold', { prompt: 'x', allowedPaths: ['../x'] }],
    ['with no artifacts wanted', 'ai.scaffold', { prompt: 'x', maxArtifacts: 0 }],
    ['with a tool without a name', 'ai.toolPlan', { prompt: 'x', tools: [{ name: '' }] }],
  ])('%s is refused', (_, capability, payload) => {
    expect(() => readPayload(capability, payload)).toThrow(InvalidPayload);
  });

  test.each(offered)('of the tiny request of %s is read', (capability) => {
    expect(readPayload(capability, tinyPayload(capability))).toMatchObject({ capability });
  });

  test('of any shape is read or refused, and never repeated in the refusal', () => {
    const canary = 'canary-4711';
    const value = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom<Json>(null, true, 0, -1, 1.5, '', canary, '\ud800'),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('id', 'text', 'role', 'content', 'name', 'kind'), tie('value')),
      ),
    })).value;
    const members = fc.constantFrom(
      'messages',
      'text',
      'texts',
      'query',
      'candidates',
      'prompt',
      'subject',
      'tools',
      'limit',
      'references',
      'allowedPaths',
      'schema',
    );
    const payload = fc.dictionary(members, value);
    fc.assert(
      fc.property(fc.constantFrom(...offered), payload, (capability, given: JsonObject) => {
        try {
          const read = readPayload(capability, given);
          const output = deterministicOutput(read);
          expect(output === null).toBe(capability === 'ai.embedding');
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidPayload);
          expect((error as Error).message).not.toContain(canary);
        }
      }),
    );
  });
});

describe('a proposed path', () => {
  test.each(['a', 'a/b.ts', '.env', 'a b/c', '..x/y'])('%j lies inside', (path) => {
    expect(isInnerPath(path)).toBe(true);
  });
  test.each(['', '/a', 'a//b', 'a/', '.', '../a', 'a/../b', 'a\\b', 'C:/a', 'a\u0000b'])(
    '%j may lie outside',
    (path) => {
      expect(isInnerPath(path)).toBe(false);
    },
  );
});
