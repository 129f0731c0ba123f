import { expect, test } from 'vitest';
import { durationMs } from './duration.ts';

test.each([
  ['90s', 90_000],
  ['15m', 900_000],
  ['12h', 43_200_000],
  ['7d', 604_800_000],
  ['2w', 1_209_600_000],
])('%s', (text, ms) => {
  expect(durationMs(text)).toBe(ms);
});

test.each(['', '7', 'd', '-1d', '1.5h', '7 d', '7D', '1234567s', 'constructor'])('%s is refused', (text) => {
  expect(() => durationMs(text)).toThrow('90s, 15m, 12h, 7d, 2w');
});
