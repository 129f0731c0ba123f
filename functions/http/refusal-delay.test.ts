import { describe, expect, test } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { createRateLimiter } from './rate-limit.ts';
import { createRefusalDelays, type RefusalDelaySettings, refusalDelayDefaults } from './refusal-delay.ts';

const never = new AbortController().signal;
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Two rate classes that share their delays; each address has one permit in each. */
function limitersOf(given: Partial<RefusalDelaySettings> = {}) {
  const world = new ManualWorld();
  const settings = { delayMs: 1000, promptMax: 2, perAddress: 3, perProcess: 4, ...given };
  const delays = createRefusalDelays(settings, world.timers);
  const limits = { permitLimit: 1, windowSeconds: 60, queueLimit: 0 };
  const make = (name: string) =>
    createRateLimiter(name, limits, { clock: world.clock, timers: world.timers, delays });
  const limiters = { execution: make('execution'), canonical: make('canonical') };
  const ended: string[] = [];
  const ask = (address: string, { signal = never, of = limiters.execution } = {}) =>
    of
      .acquire(address, signal, () => {})
      .then(
        () => void ended.push(`${address} admitted`),
        (error: { code: string }) => void ended.push(`${address} ${error.code}`),
      );
  const takeEnded = async () => {
    await settled();
    return ended.splice(0);
  };
  /** Uses the permit and the prompt refusals of an address. */
  const exhaust = async (address: string) => {
    for (let n = 0; n < 1 + settings.promptMax; n++) await ask(address);
    ended.splice(0);
  };
  return { world, limiters, delays, ask, takeEnded, exhaust };
}

describe('an address that keeps sending after refusals', () => {
  test('gets its first refusals at once and each later one after a delay', async () => {
    const { world, ask, takeEnded } = limitersOf();
    for (let n = 0; n < 3; n++) await ask('a');
    expect(await takeEnded()).toEqual(['a admitted', 'a rate_limited', 'a rate_limited']);
    void ask('a');
    world.advance(999);
    expect(await takeEnded()).toEqual([]);
    world.advance(1);
    expect(await takeEnded()).toEqual(['a rate_limited']);
    expect(world.pendingTimers).toBe(0);
  });

  test('delays neither other addresses nor its own requests of a class with permits', async () => {
    const { limiters, ask, takeEnded, exhaust } = limitersOf();
    await exhaust('a');
    void ask('a');
    await ask('b');
    await ask('b');
    await ask('a', { of: limiters.canonical });
    expect(await takeEnded()).toEqual(['b admitted', 'b rate_limited', 'a admitted']);
  });

  test('is answered at once again in its next window', async () => {
    const { world, ask, takeEnded, exhaust } = limitersOf();
    await exhaust('a');
    world.advance(60_000);
    for (let n = 0; n < 3; n++) await ask('a');
    expect(await takeEnded()).toEqual(['a admitted', 'a rate_limited', 'a rate_limited']);
  });
});

describe('answers that wait', () => {
  test('are bounded for one address and for the process, and further ones are answered at once', async () => {
    const { world, delays, ask, takeEnded, exhaust } = limitersOf();
    for (const address of ['a', 'b']) await exhaust(address);
    for (let n = 0; n < 5; n++) void ask('a');
    expect(await takeEnded()).toEqual(['a rate_limited', 'a rate_limited']);
    for (let n = 0; n < 3; n++) void ask('b');
    expect(await takeEnded()).toEqual(['b rate_limited', 'b rate_limited']);
    expect(delays.waiting).toBe(4);
    world.advance(1000);
    expect((await takeEnded()).toSorted()).toEqual([...Array(3).fill('a rate_limited'), 'b rate_limited']);
    expect(delays.waiting).toBe(0);
    void ask('a');
    expect(await takeEnded()).toEqual([]);
  });

  test('end with their client, and leave neither a place nor a timer behind', async () => {
    const { world, delays, ask, takeEnded, exhaust } = limitersOf();
    await exhaust('a');
    const gone = new AbortController();
    for (let n = 0; n < 3; n++) void ask('a', { signal: gone.signal });
    expect([await takeEnded(), delays.waiting, world.pendingTimers]).toEqual([[], 3, 3]);
    gone.abort();
    expect(await takeEnded()).toHaveLength(3);
    expect([delays.waiting, world.pendingTimers]).toEqual([0, 0]);
    await ask('a', { signal: gone.signal });
    expect(await takeEnded()).toHaveLength(1);
  });

  test('do not exist where the delay is 0', async () => {
    const { ask, takeEnded, exhaust } = limitersOf({ delayMs: 0 });
    await exhaust('a');
    await ask('a');
    expect(await takeEnded()).toEqual(['a rate_limited']);
    expect(refusalDelayDefaults.delayMs).toBe(0);
  });
});
