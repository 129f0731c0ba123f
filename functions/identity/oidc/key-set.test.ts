import { describe, expect, test } from 'vitest';
import { pemOf, publishing, type SigningKey, signingKey, TokenWorld } from '../../../test/support/tokens.ts';
import type { OutgoingHttp } from '../../kernel/world.ts';
import { freshMsOf } from './key-fetch.ts';

const [first, second] = await Promise.all([signingKey('first'), signingKey('second')]);
const unavailable = expect.objectContaining({ code: 'unavailable' });
const day = 86_400_000;

function setOf(keys: readonly SigningKey[]) {
  const world = new TokenWorld(keys);
  const own = world.keys();
  return { world, keys: { keyFor: async (kid: string) => pemOf(await own.keyFor(kid)) } };
}

const down: OutgoingHttp = () => Promise.reject(new Error('ECONNREFUSED'));
const answering = (body: ConstructorParameters<typeof Response>[0], init?: ResponseInit): OutgoingHttp => {
  return () => Promise.resolve(new Response(body, init));
};

describe('A21: all callers share one request to the issuer', () => {
  test('50 first callers cause one request', async () => {
    const { world, keys } = setOf([first]);
    const got = await Promise.all(Array.from({ length: 50 }, () => keys.keyFor('first')));
    expect(new Set(got)).toEqual(new Set([first.publicPem]));
    expect(world.fetches).toBe(1);
  });

  test('50 callers with a stale set cause one more request', async () => {
    const { world, keys } = setOf([first]);
    await keys.keyFor('first');
    world.advance(3_600_000);
    await Promise.all(Array.from({ length: 50 }, () => keys.keyFor('first')));
    expect(world.fetches).toBe(2);
  });

  test('50 callers with a new key all get it from one request', async () => {
    const { world, keys } = setOf([first]);
    await keys.keyFor('first');
    world.answer = publishing([first, second]);
    const got = await Promise.all(Array.from({ length: 50 }, () => keys.keyFor('second')));
    expect(new Set(got)).toEqual(new Set([second.publicPem]));
    expect(world.fetches).toBe(2);
  });
});

describe('A19: rotation', () => {
  test('a new key works with the next request', async () => {
    const { world, keys } = setOf([first]);
    await keys.keyFor('first');
    world.answer = publishing([first, second]);
    expect(await keys.keyFor('second')).toBe(second.publicPem);
    expect(await keys.keyFor('first')).toBe(first.publicPem);
  });

  test.each([
    ['nothing', []],
    ['only keys on elliptic curves', [{ kty: 'EC', kid: 'first', crv: 'P-256', x: 'AA', y: 'AA' }]],
  ])('an issuer that publishes %s has withdrawn its keys', async (_, keysLeft) => {
    const { world, keys } = setOf([first]);
    world.answer = publishing([first], 'max-age=60');
    await keys.keyFor('first');
    world.answer = () => Promise.resolve(Response.json({ keys: keysLeft }));
    world.advance(60_000);
    expect(await keys.keyFor('first')).toBeUndefined();
    // Publishing again is noticed like any new key.
    world.answer = publishing([first]);
    world.advance(60_000);
    expect(await keys.keyFor('first')).toBe(first.publicPem);
  });

  test('a key that left works to the end of max-age, and no longer', async () => {
    const { world, keys } = setOf([first]);
    world.answer = publishing([first], 'max-age=300');
    await keys.keyFor('first');
    world.answer = publishing([second]);
    world.advance(299_999);
    expect(await keys.keyFor('first')).toBe(first.publicPem);
    expect(world.fetches).toBe(1);
    world.advance(1);
    expect(await keys.keyFor('first')).toBeUndefined();
    expect(world.fetches).toBe(2);
  });
});

describe('A05: a key that does not exist', () => {
  test('causes one request in 60 s', async () => {
    const { world, keys } = setOf([first]);
    await keys.keyFor('first');
    for (const kid of ['a', 'b', '__proto__', 'constructor', '../../x']) {
      expect(await keys.keyFor(kid)).toBeUndefined();
    }
    expect(world.fetches).toBe(2);
    world.advance(59_999);
    await keys.keyFor('c');
    expect(world.fetches).toBe(2);
    world.advance(1);
    await keys.keyFor('d');
    await keys.keyFor('e');
    expect(world.fetches).toBe(3);
  });

  test('is not asked for again where the set came with this very request', async () => {
    const { world, keys } = setOf([first]);
    expect(await Promise.all([keys.keyFor('a'), keys.keyFor('b')])).toEqual([undefined, undefined]);
    expect(world.fetches).toBe(1);
  });

  test('does not delay other callers while the request is under way', async () => {
    const { world, keys } = setOf([first]);
    await keys.keyFor('first');
    const { promise, resolve } = Promise.withResolvers<Response>();
    world.answer = () => promise;
    const unknown = keys.keyFor('a');
    expect(await keys.keyFor('first')).toBe(first.publicPem);
    resolve(Response.json({ keys: [first.jwk] }));
    expect(await unknown).toBeUndefined();
  });
});

describe('A20: an issuer that fails', () => {
  const published = JSON.stringify({ keys: [first.jwk] });
  const endless = () =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(new Uint8Array(65_536).fill(0x20));
      },
    });
  const redirected = Response.json({ keys: [first.jwk] });
  Object.defineProperty(redirected, 'redirected', { value: true });
  const failures: readonly [string, OutgoingHttp][] = [
    ['is down', down],
    ['answers 500', answering('{}', { status: 500 })],
    ['answers 500 with a good set', answering(published, { status: 500 })],
    ['answers with HTML', answering('<html>', { headers: { 'content-type': 'text/html' } })],
    ['answers 10 MB', answering(published.padEnd(10_000_000))],
    ['answers one byte more than 1 MiB', answering(published.padEnd(1_048_577))],
    ['answers without end', () => Promise.resolve(new Response(endless()))],
    ['answers with an empty object', answering('{}')],
    ['answers with keys that are none', answering('{"keys":[null]}')],
    ['answers with nothing', answering(null)],
    ['answers 204', answering(null, { status: 204 })],
    ['answers with bytes that are not UTF-8', answering(Uint8Array.of(0x7b, 0xff, 0x7d))],
    ['redirects', answering(null, { status: 302, headers: { location: 'https://evil.test/' } })],
    ['was asked through a redirect', () => Promise.resolve(redirected)],
    [
      'throws at once',
      () => {
        throw new TypeError('Invalid URL');
      },
    ],
  ];

  test.each(failures)('where it %s, nothing to verify with is unavailable', async (_, answer) => {
    const { world, keys } = setOf([]);
    world.answer = answer;
    await expect(keys.keyFor('first')).rejects.toThrow(unavailable);
    expect(world.world.pendingTimers).toBe(0);
  });

  test.each(failures)('where it %s, the last good set serves for a day', async (_, answer) => {
    const { world, keys } = setOf([first]);
    await keys.keyFor('first');
    world.answer = answer;
    world.advance(3_600_000);
    expect(await keys.keyFor('first')).toBe(first.publicPem);
    expect(world.fetches).toBe(2);
    world.advance(day - 3_600_000);
    expect(await keys.keyFor('first')).toBe(first.publicPem);
    world.advance(1);
    await expect(keys.keyFor('first')).rejects.toThrow(unavailable);
    expect(world.world.pendingTimers).toBe(0);
  });

  test.each<[string, (signal: AbortSignal) => Promise<Response>]>([
    ['sends nothing', () => new Promise(() => {})],
    ['stops in the middle', () => Promise.resolve(new Response(new ReadableStream({})))],
  ])('where it %s, a request waits 2 s and goes on with the last good set', async (_, answer) => {
    const { world, keys } = setOf([first]);
    await keys.keyFor('first');
    world.advance(3_600_000);
    let signal: AbortSignal | undefined;
    world.answer = (_url, init) => {
      signal = init?.signal as AbortSignal;
      return answer(signal);
    };
    const key = keys.keyFor('first');
    await world.world.timerSet();
    expect(signal?.aborted).toBe(false);
    world.advance(2000);
    expect(await key).toBe(first.publicPem);
    expect(signal?.aborted).toBe(true);
    expect(world.world.pendingTimers).toBe(0);
  });

  test('a set of 1 MiB is not too large', async () => {
    const { world, keys } = setOf([]);
    world.answer = answering(published.padEnd(1_048_576));
    expect(await keys.keyFor('first')).toBe(first.publicPem);
  });

  test('it is asked not to redirect', async () => {
    const { world, keys } = setOf([first]);
    let asked: RequestInit | undefined;
    world.answer = (url, init) => {
      asked = init;
      return publishing([first])(url, init);
    };
    await keys.keyFor('first');
    expect(asked).toMatchObject({ redirect: 'error' });
  });

  test('after a failure the issuer is not asked for 10 s, and no call waits', async () => {
    const { world, keys } = setOf([first]);
    await keys.keyFor('first');
    world.answer = down;
    world.advance(3_600_000);
    for (const kid of ['first', 'first', 'unknown']) await keys.keyFor(kid);
    world.advance(9_999);
    for (const kid of ['first', 'unknown']) await keys.keyFor(kid);
    expect(world.fetches).toBe(2);
    world.answer = publishing([second]);
    world.advance(1);
    expect(await keys.keyFor('first')).toBeUndefined();
    expect(world.fetches).toBe(3);
  });

  test('without any set it is asked again after 1 s, once for all who wait', async () => {
    const { world, keys } = setOf([first]);
    world.answer = down;
    await Promise.allSettled(Array.from({ length: 50 }, () => keys.keyFor('first')));
    world.advance(999);
    await expect(keys.keyFor('first')).rejects.toThrow(unavailable);
    expect(world.fetches).toBe(1);
    world.answer = publishing([first]);
    world.advance(1);
    expect(await keys.keyFor('first')).toBe(first.publicPem);
    expect(world.fetches).toBe(2);
  });

  test('the operator sees the fault of its answer, and the caller does not', async () => {
    const { world, keys } = setOf([]);
    world.answer = down;
    const error: unknown = await keys.keyFor('first').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ cause: { message: 'ECONNREFUSED' } });
    expect((error as Error).message).not.toContain('ECONNREFUSED');
  });
});

test('a clock that was set back does not make the set young', async () => {
  const { world, keys } = setOf([first]);
  await keys.keyFor('first');
  world.answer = publishing([second]);
  world.advance(-3 * day);
  expect(await keys.keyFor('first')).toBeUndefined();
  expect(await keys.keyFor('second')).toBe(second.publicPem);
});

test.each([
  [null, 3_600_000],
  ['', 3_600_000],
  ['public', 3_600_000],
  ['public, max-age=300, must-revalidate', 300_000],
  ['Max-Age=300', 300_000],
  ['max-age=0', 60_000],
  ['max-age=59', 60_000],
  ['max-age=86401', 86_400_000],
  ['max-age=999999999999', 86_400_000],
  ['max-age=9999999999999999999999', 3_600_000],
  ['max-age=-1', 3_600_000],
  ['max-age=1e9', 3_600_000],
  ['s-maxage=300', 3_600_000],
  ['no-cache', 60_000],
  ['no-store, max-age=300', 60_000],
])('Cache-Control %j keeps the set fresh for %i ms', (cacheControl, freshMs) => {
  expect(freshMsOf(cacheControl)).toBe(freshMs);
});
