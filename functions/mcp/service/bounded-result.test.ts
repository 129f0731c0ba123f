import { expect, test } from 'vitest';
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
])('the parts of an answer full of %s are the whole, and each keeps the bound as it is sent', (_, each) => {
  const whole = JSON.stringify({ value: each.repeat(3_000) });
  let text = '';
  for (let offset: number | null = 0; offset !== null; ) {
    const { content, structuredContent } = boundedResult(whole, offset === 0 ? null : offset, BOUND);
    for (const sent of [content[0]?.['text'], structuredContent])
      expect(JSON.stringify(sent).length).toBeLessThanOrEqual(BOUND);
    const { part } = structuredContent as unknown as { part: Part };
    expect(part.text.isWellFormed()).toBe(true);
    text += part.text;
    offset = part.nextOffset;
  }
  expect(text === whole).toBe(true);
});

test('an answer that fits as it is sent is whole', () => {
  const whole = JSON.stringify({ value: 'a'.repeat(BOUND - 20) });
  expect(boundedResult(whole, null, BOUND).structuredContent).toEqual(JSON.parse(whole));
  const quoted = JSON.stringify({ value: '"'.repeat(BOUND / 2 - 20) });
  expect(quoted.length).toBeLessThan(BOUND);
  expect(boundedResult(quoted, null, BOUND).structuredContent).toHaveProperty('part');
});
