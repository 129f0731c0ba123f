import { expect, test } from 'vitest';
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
