import { describe, expect, test } from 'vitest';
import { costOf, estimatedTokens, inputTokensMax, outputTokensBound, usageOf, usageView } from './usage.ts';

const bytes = { input: 301, output: 30 };
const most = { input: inputTokensMax(301, 1), output: outputTokensBound(64) };

describe('the usage of a call', () => {
  test('is the one that the provider reports', () => {
    expect(usageOf({ input: 7, output: 0 }, bytes, most)).toEqual({
      inputTokens: 7,
      outputTokens: 0,
      isReported: true,
    });
  });

  test.each([
    [undefined, 1],
    [1, undefined],
    [-1, 1],
    [1.5, 1],
    ['7', 1],
    [Infinity, 1],
  ])('is a third of its bytes where the report is %j and %j', (input, output) => {
    expect(usageOf({ input, output }, bytes, most)).toEqual({
      inputTokens: 101,
      outputTokens: 10,
      isReported: false,
    });
  });

  test.each([
    [1_341, 1_088, undefined],
    [1_342, 1_088, 1],
    [1_341, 1_089, 1],
    [Number.MAX_SAFE_INTEGER, 0, Number.MAX_SAFE_INTEGER - 1_341],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ])('that reports %d and %d is at most what was sent and allowed, and the rest is excess', (...reported) => {
    const [input, output, excessTokens] = reported;
    const usage = usageOf({ input, output }, bytes, most);
    expect(usage).toEqual({
      inputTokens: Math.min(input, 1_341),
      outputTokens: Math.min(output, 1_088),
      isReported: true,
      ...(excessTokens === undefined ? {} : { excessTokens }),
    });
  });

  test('costs by the prices, and has no cost when a price is missing', () => {
    const usage = { inputTokens: 1_000_000, outputTokens: 500_000, isReported: true };
    expect(costOf(usage, { input: 2, output: 8 })).toBe(6);
    expect(costOf(usage, { input: 2, output: null })).toBeNull();
    expect(costOf({ ...usage, outputTokens: 0 }, { input: 2, output: null })).toBe(2);
    expect(usageView(usage, { input: null, output: null })).toMatchObject({ costUsd: null });
    expect(estimatedTokens(1)).toBe(1);
  });
});
