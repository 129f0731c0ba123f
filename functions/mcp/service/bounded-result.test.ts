import { describe, expect, test } from 'vitest';
import { boundedResult } from './bounded-result.ts';

const BOUND = 2_000;

interface Part {
  readonly text: string;
  readonly nextOffset: number | null;
}

test.each([
  ['quotes', '"'],
  ['backslashes', '\\'],
  ['line ends', '\n'],
  ['characters of two halves', '\u{1f600}'],
  ['letters', 'a'],
])(
  'the parts of an answer full of %s join to the whole answer, and each part as sent stays within the bound',
  (_, each) => {
    const whole = JSON.stringify({ value: each.repeat(3_000) });
    let text = '';
    for (let offset: number | null = 0; offset !== null; ) {
      const { content, structuredContent } = boundedResult(
        'getRecord',
        whole,
        offset === 0 ? null : offset,
        BOUND,
      );
      for (const sent of [content[0]?.['text'], structuredContent])
        expect(JSON.stringify(sent).length).toBeLessThanOrEqual(BOUND);
      const { part } = structuredContent as unknown as { part: Part };
      expect(part.text.isWellFormed()).toBe(true);
      text += part.text;
      offset = part.nextOffset;
    }
    expect(text === whole).toBe(true);
  },
);

describe('the parts of one answer from several calls', () => {
  /** Each call answers with its own trace and duration, so that the lengths of the answers differ. */
  const answerOf = (call: number, found = 'hello') => {
    const trace = { id: `trace-${String(call).repeat(32)}`, durationMs: 7 ** call, rerankTraceId: null };
    return JSON.stringify({
      results: [{ text: found.repeat(10), trace: { durationMs: 4 } }],
      trace,
      end: true,
    });
  };
  const inParts = (length: number, textFor: (call: number) => string) => {
    const parts: { text: string; hash: string }[] = [];
    for (let offset: number | null = 0; offset !== null; ) {
      const { structuredContent } = boundedResult('retrieve', textFor(parts.length), offset, length);
      const { part } = structuredContent as unknown as { part: Part & { hash: string } };
      parts.push(part);
      offset = part.nextOffset;
    }
    return parts;
  };

  test('have one hash, and are one valid answer, wherever it is cut', () => {
    for (let length = 240; length < 320; length += 1) {
      const parts = inParts(length, answerOf);
      expect(parts.length).toBeGreaterThan(1);
      expect(new Set(parts.map(({ hash }) => hash)).size).toBe(1);
      const { trace, ...rest } = JSON.parse(parts.map(({ text }) => text).join('')) as { trace: object };
      expect(rest).toEqual({ ...JSON.parse(answerOf(0)), trace: undefined });
      // Each value is whole: it comes from one of the calls.
      const calls = parts.map((_, call) => (JSON.parse(answerOf(call)) as { trace: object }).trace);
      for (const [name, value] of Object.entries(trace))
        expect(calls.map((call) => Object.entries(call))).toContainEqual(
          expect.arrayContaining([[name, value]]),
        );
    }
  });

  test('are the whole where it has none of those values', () => {
    for (const whole of ['{"trace":{}}', '{"trace":null}', '{}', '[]'])
      expect(inParts(240, () => whole).map(({ text }) => text)).toEqual([whole]);
  });

  test('have different hashes where anything else differs', () => {
    const parts = inParts(250, (call) => answerOf(call, call === 0 ? 'hello' : 'other'));
    expect(new Set(parts.map(({ hash }) => hash)).size).toBe(2);
    const stored = (at: number) => answerOf(1).replace('"durationMs":4', `"durationMs":${at}`);
    expect(new Set(inParts(250, stored).map(({ hash }) => hash)).size).toBeGreaterThan(1);
  });
});

test('an answer that fits as it is sent is whole', () => {
  const whole = JSON.stringify({ value: 'a'.repeat(BOUND - 20) });
  expect(boundedResult('getRecord', whole, null, BOUND).structuredContent).toEqual(JSON.parse(whole));
  const quoted = JSON.stringify({ value: '"'.repeat(BOUND / 2 - 20) });
  expect(quoted.length).toBeLessThan(BOUND);
  expect(boundedResult('getRecord', quoted, null, BOUND).structuredContent).toHaveProperty('part');
});
