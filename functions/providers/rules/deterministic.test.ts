import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../kernel/canonical-json.ts';
import type { OfferedCapability } from './capabilities.ts';
import { cut, deterministicOutput } from './deterministic.ts';
import { readPayload } from './payloads.ts';
import { rankByTokens } from './token-overlap.ts';

const outputOf = (capability: OfferedCapability, payload: Json) => {
  const { text, ...output } = deterministicOutput(readPayload(capability, payload)) ?? expect.fail();
  expect(JSON.parse(text as string)).toEqual(output);
  return output;
};

/** The vectors are written by hand from the rules of the facts: SHA-256 of `hello` and of `abc` are known from elsewhere. */
describe('the deterministic provider', () => {
  test('answers a chat with the hash and the beginning of the last message of the user', () => {
    const messages = [
      { role: 'user', content: 'first' },
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: 'later' },
    ];
    expect(outputOf('ai.chat', { messages })).toEqual({
      message: { role: 'assistant', content: '[sha256:2cf24dba5fb0] hello', contentBlocks: null },
      stopReason: 'complete',
    });
    expect(outputOf('ai.chat', { messages, maxOutputChars: 2 })).toMatchObject({
      message: { content: '[sha256:2cf24dba5fb0] he' },
    });
    const long = [{ role: 'user', content: 'x'.repeat(600) }];
    const { message } = outputOf('ai.chat', { messages: long }) as { message: { content: string } };
    expect(message.content).toHaveLength(512 + '[sha256:2cf24dba5fb0] '.length);
  });

  test('extracts facts of the text', () => {
    const sha = 'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
    expect(outputOf('ai.extract', { text: 'abc' })).toEqual({
      data: { inputHash: sha, textLength: 3, firstLine: 'abc' },
      validationStatus: 'deterministic',
    });
    const schema = { type: 'object', properties: {} };
    expect(outputOf('ai.extract', { text: `${'l'.repeat(300)}\r\nnext`, schema })).toMatchObject({
      data: { textLength: 306, firstLine: 'l'.repeat(240), schemaKeys: ['properties', 'type'] },
    });
  });

  test('reports one finding in a review, which states that it is no judgement', () => {
    const references = [{ id: 'r', kind: 'file', extra: 1 }];
    expect(outputOf('ai.review', { subject: 'hello', references })).toMatchObject({
      findings: [{ id: 'finding-2cf24dba5fb0', severity: 'info', confidence: 0 }],
      references,
    });
  });

  test('proposes one file at the first path that is allowed', () => {
    const output = outputOf('ai.scaffold', { prompt: 'hello', allowedPaths: ['a/b.md', 'c'] });
    expect(output).toMatchObject({ artifacts: [{ path: 'a/b.md', kind: 'file', action: 'propose' }] });
    expect(output['artifacts']).toHaveLength(1);
  });

  test('plans a call of the first tool that the prompt names', () => {
    const tools = [{ name: 'write' }, { name: 'Search_docs' }, { name: 'search' }];
    expect(outputOf('ai.toolPlan', { prompt: 'Please SEARCH_DOCS', tools })).toMatchObject({
      calls: [{ tool: 'Search_docs', arguments: {}, requiresApproval: true }],
    });
    expect(outputOf('ai.toolPlan', { prompt: 'Please', tools })).toMatchObject({ calls: [] });
  });

  test('ranks candidates by the share of the words of the query that they have', () => {
    const candidates = [
      { id: 'none', text: 'zebra' },
      { id: 'two', text: 'The climate; and sea-levels.' },
      { id: 'one', text: 'climate climate' },
    ];
    expect(outputOf('ai.rerank', { query: 'Climate sealevels rise', candidates, limit: 2 })).toEqual({
      items: [
        { id: 'two', rank: 1, score: 0.666667 },
        { id: 'one', rank: 2, score: 0.333333 },
      ],
      validationStatus: 'deterministic',
    });
  });

  test('ranks by the words that a retrieval ranks by: letters and decimal digits', () => {
    const ranked = outputOf('ai.rerank', { query: 'm²', candidates: [{ id: 'a', text: 'm' }], limit: 1 });
    expect(ranked).toMatchObject({ items: [{ id: 'a', score: 1 }] });
  });
});

describe('ranks', () => {
  const words = fc.array(fc.constantFrom('sea', 'level', 'Sea', '!', 'é', '日本'), { maxLength: 5 });
  const text = words.map((each) => each.join(' '));
  const pairs = fc.uniqueArray(fc.tuple(fc.string({ minLength: 1 }), text), {
    minLength: 1,
    maxLength: 12,
    selector: ([id]) => id,
  });

  test('do not depend on the order of the candidates, and count from 1 with falling scores', () => {
    fc.assert(
      fc.property(text, pairs, fc.integer({ min: 1, max: 15 }), (query, given, limit) => {
        const candidates = given.map(([id, each]) => ({ id, text: each }));
        const ask = (all: typeof candidates) => rankByTokens({ query, candidates: all, limit });
        const ranked = ask(candidates);
        expect(ranked).toEqual(ask(candidates.toReversed()));
        expect(ranked.map(({ rank }) => rank)).toEqual(ranked.map((_, at) => at + 1));
        expect(ranked).toHaveLength(Math.min(limit, candidates.length));
        for (const [at, { score }] of ranked.entries()) {
          expect(score).toBeGreaterThanOrEqual(0);
          expect(score).toBeLessThanOrEqual(ranked[at - 1]?.score ?? 1);
        }
      }),
    );
  });
});

test('a cut leaves no half of a character', () => {
  expect(cut('a😀', 2)).toBe('a');
  expect(cut('a😀', 3)).toBe('a😀');
});
