import { describe, expect, test } from 'vitest';
import { createByteAllowance } from './byte-allowance.ts';

const start = () => {
  const clock = { at: 1_000_000, now: () => clock.at };
  return { clock, allowance: createByteAllowance({ burstBytes: 1_000, bytesPerSecond: 100 }, clock) };
};

describe('an allowance of bytes', () => {
  test('lets a burst pass, and then its rate of bytes a second', () => {
    const { clock, allowance } = start();
    expect([allowance.take(600), allowance.take(400), allowance.take(50)]).toEqual([0, 0, 500]);
    clock.at += 500;
    expect(allowance.take(10)).toBe(100);
  });

  test('is whole again after a rest, and never more than whole', () => {
    const { clock, allowance } = start();
    allowance.take(1_000);
    clock.at += 3_600_000;
    expect([allowance.take(1_000), allowance.take(1)]).toEqual([0, 10]);
  });

  test('gets back bytes that did not pass, up to its size', () => {
    const { allowance } = start();
    for (let n = 0; n < 1_000; n += 1) {
      allowance.take(100);
      allowance.giveBack(100);
    }
    allowance.giveBack(5_000);
    expect([allowance.take(1_000), allowance.take(1)]).toEqual([0, 10]);
  });

  test('gains nothing from a clock that is set back', () => {
    const { clock, allowance } = start();
    allowance.take(1_000);
    clock.at -= 3_600_000;
    expect(allowance.take(100)).toBe(1_000);
    clock.at += 1_000;
    expect(allowance.take(0)).toBe(0);
  });
});
