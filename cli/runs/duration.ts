import { InvalidArgumentError } from 'commander';

const unitMs: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Milliseconds of a text such as `90s`, `15m`, `12h`, `7d` or `2w`. */
export function durationMs(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  const size = unitMs[unit];
  if (count === undefined || size === undefined)
    throw new InvalidArgumentError('It must be a whole number with a unit: 90s, 15m, 12h, 7d, 2w.');
  return Number(count) * size;
}
