import { describe, expect, test } from 'vitest';
import { checkRatios, describeRatio, readStored, type StoredRatio } from './check-ratios.ts';

const cost: StoredRatio = { bench: 'floor', at: ['results', 'read', 'ofFrozen'], ratio: 1, better: 'less' };
const rate: StoredRatio = { bench: 'commits', at: ['results', 'ofBare'], ratio: 1, better: 'more' };

describe('npm run bench -- --check', () => {
  test('lets a ratio be a quarter worse than the stored one, of costs and of rates', () => {
    const costOf = (measured: number) =>
      checkRatios([cost], { results: { read: { ofFrozen: measured } } })[0];
    expect(costOf(0.5)).toMatchObject({ measured: 0.5, beyond: 0.5, holds: true });
    expect(costOf(1.25)?.holds).toBe(true);
    expect(costOf(1.26)?.holds).toBe(false);
    const rateOf = (measured: number) => checkRatios([rate], { results: { ofBare: measured } })[0];
    expect(rateOf(2)?.holds).toBe(true);
    expect(rateOf(0.8)?.holds).toBe(true);
    expect(rateOf(0.79)?.holds).toBe(false);
  });

  test('fails where the figure is missing or is no ratio', () => {
    for (const line of [{}, { results: { read: 3 } }, { results: { read: { ofFrozen: Number.NaN } } }]) {
      const [checked] = checkRatios([cost], line);
      expect(checked).toMatchObject({ measured: null, holds: false });
      expect(checked && describeRatio(checked)).toBe(
        'FAILED  floor read ofFrozen: the benchmark gives no such figure',
      );
    }
  });

  test('stores each ratio once', () => {
    const stored = readStored();
    const names = stored.map(({ bench, at }) => [bench, ...at].join(' '));
    expect(new Set(names).size).toBe(names.length);
    for (const { ratio, better } of stored) {
      expect(ratio).toBeGreaterThan(0);
      expect(['less', 'more']).toContain(better);
    }
  });
});
