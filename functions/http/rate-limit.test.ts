import { describe, expect, test } from 'vitest';
import { limits } from '../../contracts/generated/limits.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { createRateLimiter, type RateLimitSettings } from './rate-limit.ts';

const never = new AbortController().signal;
const refused = expect.objectContaining({ code: 'rate_limited' });

const defaults: RateLimitSettings = {
  permitLimit: limits.rateLimitPermitsDefault,
  windowSeconds: limits.rateLimitWindowSecondsDefault,
  queueLimit: limits.rateLimitQueueDefault,
};

function limiterOf(settings: Partial<RateLimitSettings> = {}, addressesMax?: number) {
  const world = new ManualWorld();
  const limiter = createRateLimiter('canonical', { ...defaults, ...settings }, world, addressesMax);
  const fields: Record<string, string> = {};
  const acquire = (address = 'a', signal: AbortSignal = never): Promise<void> =>
    limiter.acquire(address, signal, (headers) => Object.assign(fields, Object.fromEntries(headers)));
  return { world, limiter, acquire, fields };
}

describe('the window', () => {
  test('I01: 120 requests a minute pass, and the next is refused with the time of a retry', async () => {
    const { world, acquire, fields } = limiterOf();
    for (let n = 0; n < 120; n += 1) await acquire();
    expect(fields).toEqual({
      'RateLimit-Policy': '"canonical";q=120;w=60',
      RateLimit: '"canonical";r=0;t=60',
    });
    world.advance(18_500);
    await expect(acquire()).rejects.toThrow(
      expect.objectContaining({ extensions: { retryAfterSeconds: 42 } }),
    );
    expect(fields['RateLimit']).toBe('"canonical";r=0;t=42');
    await acquire('b');
    world.advance(41_500);
    await acquire();
    expect(fields['RateLimit']).toBe('"canonical";r=119;t=60');
  });

  test('I05: around the edge of a window twice the limit passes, and no more', async () => {
    const { world, acquire } = limiterOf({ permitLimit: 5 });
    let passed = 0;
    const knock = async (): Promise<void> => {
      await acquire().then(
        () => (passed += 1),
        () => {},
      );
    };
    await knock();
    world.advance(59_999);
    for (let n = 0; n < 20; n += 1) await knock();
    world.advance(1);
    for (let n = 0; n < 20; n += 1) await knock();
    expect(passed).toBe(10);
  });

  test('a clock that is set back locks no client out', async () => {
    const { world, acquire } = limiterOf({ permitLimit: 1 });
    await acquire();
    world.now -= 3_600_000;
    await acquire();
  });
});

describe('a request that costs more', () => {
  test('takes further permits, needs one free permit only, and carries no deficit to the next window', async () => {
    const { world, limiter, acquire, fields } = limiterOf({ permitLimit: 10 });
    await acquire();
    limiter.charge('a', 3);
    await acquire();
    expect(fields['RateLimit']).toBe('"canonical";r=5;t=60');
    limiter.charge('a', 400);
    await expect(acquire()).rejects.toThrow(refused);
    expect(fields['RateLimit']).toBe('"canonical";r=0;t=60');
    await acquire('b');
    world.advance(60_000);
    await acquire();
    expect(fields['RateLimit']).toBe('"canonical";r=9;t=60');
  });
});

describe('the queue', () => {
  test('waiting requests pass with the next window, in turn, and one above the queue limit is refused', async () => {
    const { world, acquire } = limiterOf({ permitLimit: 2, queueLimit: 3 });
    const passed: number[] = [];
    await acquire();
    await acquire();
    const waiting = [1, 2, 3].map((n) => acquire().then(() => passed.push(n)));
    await expect(acquire()).rejects.toThrow(refused);
    world.advance(59_999);
    await Promise.resolve();
    expect(passed).toEqual([]);
    world.advance(1);
    await Promise.all(waiting.slice(0, 2));
    expect(passed).toEqual([1, 2]);
    world.advance(60_000);
    await Promise.all(waiting);
    expect(passed).toEqual([1, 2, 3]);
  });

  test('a client that leaves the queue frees its place for another', async () => {
    const { acquire } = limiterOf({ permitLimit: 1, queueLimit: 1 });
    await acquire();
    const gone = new AbortController();
    const left = acquire('a', gone.signal);
    await expect(acquire()).rejects.toThrow(refused);
    gone.abort();
    await expect(left).rejects.toThrow();
    const next = acquire();
    await expect(acquire()).rejects.toThrow(refused);
    next.catch(() => {});
  });
});

describe('clients that come and go', () => {
  test('I01: fifty clients that wait and leave free no permit beyond the limit, and leave no timer', async () => {
    const { world, acquire } = limiterOf({ permitLimit: 10, queueLimit: 1000 });
    for (let n = 0; n < 10; n += 1) await acquire();
    for (let n = 0; n < 50; n += 1) {
      const gone = new AbortController();
      const left = acquire('a', gone.signal).catch(() => {});
      gone.abort();
      await left;
    }
    expect(world.pendingTimers).toBe(0);
    let admitted = 0;
    const waiting = Array.from({ length: 30 }, () => acquire().then(() => (admitted += 1)));
    expect(world.pendingTimers).toBe(1);
    for (const expected of [10, 20, 30]) {
      world.advance(60_000);
      await new Promise((resolve) => setImmediate(resolve));
      expect(admitted).toBe(expected);
    }
    await Promise.all(waiting);
    expect(world.pendingTimers).toBe(0);
  });

  test('one of two clients that leaves does not affect the other', async () => {
    const { world, acquire } = limiterOf({ permitLimit: 1, queueLimit: 2 });
    await acquire();
    const gone = new AbortController();
    const left = acquire('a', gone.signal).catch(() => 'left');
    const stays = acquire();
    gone.abort();
    expect(await left).toBe('left');
    expect(world.pendingTimers).toBe(1);
    world.advance(60_000);
    await stays;
  });

  test('a client that arrives after all others left waits until the end of the window only', async () => {
    const { world, acquire } = limiterOf({ permitLimit: 1, queueLimit: 2 });
    await acquire();
    world.advance(20_000);
    const gone = new AbortController();
    const left = acquire('a', gone.signal).catch(() => {});
    gone.abort();
    await left;
    world.advance(20_000);
    const waiting = acquire();
    world.advance(20_000);
    await waiting;
  });
});

test('I04: a flood of addresses is counted in bounded memory, the least recent forgotten first', async () => {
  const { limiter, acquire } = limiterOf({ permitLimit: 1 }, 1_000);
  await acquire('kept');
  for (let n = 0; n < 10_000; n += 1) {
    await acquire(`flood ${n}`);
    if (n % 500 === 0) await expect(acquire('kept')).rejects.toThrow(refused);
  }
  expect(limiter.size).toBe(1_000);
  await acquire('flood 0');
});

test('I06: each instance counts for itself', async () => {
  const [one, other] = [limiterOf({ permitLimit: 1 }), limiterOf({ permitLimit: 1 })];
  await one.acquire();
  await other.acquire();
  await expect(one.acquire()).rejects.toThrow(refused);
});
