import { describe, expect, test } from 'vitest';
import { BodyTime, timedOut } from './body-time.ts';

const policy = { timeoutMs: 10_000, bytesPerSecondMin: 100 };

/** A time at a clock that the test moves. */
function timeAt(startMs = 5_000) {
  const clock = { at: startMs, now: () => clock.at };
  return { clock, time: new BodyTime(policy, clock) };
}

describe('the time that a client has for its body', () => {
  test('is the timeout, in whole milliseconds, and never less than none', () => {
    const { clock, time } = timeAt();
    expect(time.leftMs()).toBe(10_000);
    clock.at += 9_999.5;
    expect(time.leftMs()).toBe(0);
    clock.at += 5_000;
    expect(time.leftMs()).toBe(0);
  });

  test('is earned back by bytes at the slowest pace, up to the timeout', () => {
    const { clock, time } = timeAt();
    clock.at += 6_000;
    time.earn(100);
    expect(time.leftMs()).toBe(5_000);
    clock.at += 1_000;
    expect(time.leftMs()).toBe(4_000);
    time.earn(1_000_000);
    expect(time.leftMs()).toBe(10_000);
  });

  test('does not run while the server works', () => {
    const { clock, time } = timeAt();
    clock.at += 4_000;
    time.earn(0);
    clock.at += 60_000;
    time.resume();
    expect(time.leftMs()).toBe(6_000);
  });

  test('is not longer where the clock is set back', () => {
    const { clock, time } = timeAt();
    clock.at -= 3_000;
    expect(time.leftMs()).toBe(10_000);
    time.earn(0);
    expect(time.leftMs()).toBe(10_000);
  });

  test('ends with a refusal that may be tried again', () => {
    expect(timedOut()).toMatchObject({ code: 'request_timeout' });
  });
});
