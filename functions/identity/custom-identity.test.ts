import { describe, expect, test, vi } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { readHeaders } from '../http/headers.ts';
import { authenticatorFrom, createCustomIdentity, type IdentityAuthenticator } from './custom-identity.ts';
import { PrincipalMemory } from './principal-memory.ts';

const unauthenticated = expect.objectContaining({ code: 'unauthenticated' });
const unavailable = expect.objectContaining({ code: 'unavailable' });

type Authenticate = IdentityAuthenticator['authenticate'];

function subjectOf(authenticate: Authenticate, timeoutMs?: number) {
  const world = new ManualWorld();
  const identity = createCustomIdentity({
    authenticator: { authenticate },
    timers: world.timers,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  const identify = (fields: Record<string, string> = {}, fromAuthorization = true) =>
    identity.identify(new Map(Object.entries(fields)), { fromAuthorization });
  return { world, identify };
}

describe('what an authenticator answers', () => {
  test('a name is the principal, at once or later', async () => {
    const fields = { 'x-proof': 'alice' };
    const now = subjectOf(({ header }) => header('X-Proof') ?? null);
    expect(await now.identify(fields)).toEqual({ principal: 'alice', issuedAt: null });
    const later = subjectOf(async ({ header }) => header('x-proof') ?? null);
    expect(await later.identify(fields)).toEqual({ principal: 'alice', issuedAt: null });
    expect([now.world.pendingTimers, later.world.pendingTimers]).toEqual([0, 0]);
  });

  test('null is no credential', async () => {
    expect(await subjectOf(() => null).identify()).toBeNull();
  });

  const secret = 'hunter2';
  test.each<[string, Authenticate]>([
    [
      'throws',
      () => {
        throw new Error(secret);
      },
    ],
    ['rejects', () => Promise.reject(new Error(secret))],
    [
      'throws what is no Error',
      () => {
        throw secret;
      },
    ],
    [
      'throws a refusal of its own',
      () => {
        throw Object.assign(new Error(secret), { code: 'internal_error' });
      },
    ],
    ['reads a header by no name', ({ header }) => header(undefined as never) ?? null],
  ])('A25: one that %s refuses, and nothing of what it says passes through', async (_, authenticate) => {
    const { identify, world } = subjectOf(authenticate);
    const refusal = await identify().catch((error: unknown) => error);
    expect(refusal).toEqual(unauthenticated);
    expect((refusal as Error).message).toBe('The credential was not accepted.');
    expect((refusal as Error).cause).toBeUndefined();
    expect(world.pendingTimers).toBe(0);
  });

  test.each(['', ' ', '\u00a0', 'x'.repeat(255), 'a\nb', 'a\u0085b', 'a\u0000', '\ud800'])(
    'A25: the principal %j is refused',
    async (principal) => {
      await expect(subjectOf(() => principal).identify()).rejects.toThrow(unauthenticated);
    },
  );

  test.each([undefined, 5, true, {}, ['a'], Object('a'), Symbol('a'), { principal: 'a' }])(
    'A25: %o is no name, so the authenticator is broken',
    async (answer) => {
      await expect(subjectOf(() => answer as never).identify()).rejects.toThrow(unavailable);
    },
  );

  test.each([
    '\u061c',
    '\u200e',
    '\u200f',
    '\u202a',
    '\u202b',
    '\u202c',
    '\u202d',
    '\u202e',
    '\u2066',
    '\u2067',
    '\u2068',
    '\u2069',
  ])('A25: a name with %j in it, which turns the direction of text, is refused', async (mark) => {
    for (const name of [`${mark}alice`, `al${mark}ice`, `alice${mark}`])
      await expect(subjectOf(() => name).identify()).rejects.toThrow(unauthenticated);
  });

  test('a principal of 254 characters of any script is accepted', async () => {
    const principal = `CN=Jürgen 名, ${'x'.repeat(241)}`;
    expect(principal).toHaveLength(254);
    expect(await subjectOf(() => principal).identify()).toEqual({ principal, issuedAt: null });
  });
});

describe('what an authenticator sees', () => {
  test('B02: Authorization is hidden from it where API keys are in use', async () => {
    const { identify } = subjectOf(({ header }) => header('Authorization') ?? 'hidden');
    const fields = { authorization: 'Bearer key' };
    expect(await identify(fields, true)).toMatchObject({ principal: 'Bearer key' });
    expect(await identify(fields, false)).toMatchObject({ principal: 'hidden' });
  });

  test('a repeated header reads as absent, in any spelling of its name', async () => {
    const headers = readHeaders(['X-Signed', 'alice', 'x-signed', 'mallory', 'X-Other', 'bob']);
    const asking = (name: string) => {
      const authenticate: Authenticate = ({ header }) => header(name) ?? null;
      const timers = new ManualWorld().timers;
      const identity = createCustomIdentity({ authenticator: { authenticate }, timers });
      return identity.identify(headers, { fromAuthorization: true });
    };
    expect(await asking('X-Signed')).toBeNull();
    expect(await asking('x-other')).toMatchObject({ principal: 'bob' });
  });

  test('it is called as a method, with nothing of the request but its headers', async () => {
    class Ours {
      readonly #name = 'alice';
      authenticate(request: object): string {
        expect(Object.keys(request).sort()).toEqual(['header', 'signal']);
        return this.#name;
      }
    }
    const identity = createCustomIdentity({
      authenticator: authenticatorFrom(Ours),
      timers: new ManualWorld().timers,
    });
    expect(await identity.identify(new Map(), { fromAuthorization: true })).toMatchObject({
      principal: 'alice',
    });
  });
});

describe('A25: an authenticator that hangs', () => {
  test('is abandoned after its timeout, its signal is aborted, and its late answer is ignored', async () => {
    for (const settle of ['resolve', 'reject'] as const) {
      const late = Promise.withResolvers<string>();
      let signal: AbortSignal | undefined;
      const { world, identify } = subjectOf((request) => {
        ({ signal } = request);
        return late.promise;
      });
      const answer = identify();
      world.advance(4999);
      expect(signal?.aborted).toBe(false);
      world.advance(1);
      await expect(answer).rejects.toThrow(unavailable);
      expect(signal?.aborted).toBe(true);
      // An unhandled rejection would end the test run.
      if (settle === 'resolve') late.resolve('alice');
      else late.reject(new Error('late'));
      await late.promise.catch(() => undefined);
      expect(world.pendingTimers).toBe(0);
    }
  });

  test('is abandoned also if it answers when its signal is aborted', async () => {
    const { world, identify } = subjectOf(
      ({ signal }) =>
        new Promise((resolve, reject) => {
          signal.addEventListener('abort', () => {
            resolve('alice');
            reject(new Error('aborted'));
          });
        }),
      10,
    );
    const answer = identify();
    world.advance(10);
    await expect(answer).rejects.toThrow(unavailable);
  });

  test('has at most 100 calls under way, which count until they end', async () => {
    const pending: PromiseWithResolvers<string | null>[] = [];
    const authenticate = vi.fn(() => {
      const call = Promise.withResolvers<string | null>();
      pending.push(call);
      return call.promise;
    });
    const { world, identify } = subjectOf(authenticate);
    const calls = Array.from({ length: 101 }, () => identify().catch((error: unknown) => error));
    expect(await calls[100]).toEqual(unavailable);
    expect(authenticate).toHaveBeenCalledTimes(100);
    world.advance(5000);
    expect(await Promise.all(calls)).toEqual(Array.from({ length: 101 }, () => unavailable));
    // Their time is over, but they go on.
    await expect(identify()).rejects.toThrow(unavailable);
    expect(authenticate).toHaveBeenCalledTimes(100);
    pending[0]?.resolve('alice');
    pending[1]?.reject(new Error('no'));
    await Promise.allSettled([pending[0]?.promise, pending[1]?.promise]);
    await new Promise(setImmediate);
    const more = [identify(), identify()];
    await expect(identify()).rejects.toThrow(unavailable);
    for (const call of pending.slice(100)) call.resolve(null);
    expect(await Promise.all(more)).toEqual([null, null]);
  });
});

describe('A25: an authenticator that names others for the same headers', () => {
  test('is refused, and the first name stays', async () => {
    let name = 'alice';
    const { identify } = subjectOf(({ header }) => (header('x-proof') === undefined ? null : name));
    const identified = () => identify({ 'x-proof': 'p' });
    expect(await identified()).toMatchObject({ principal: 'alice' });
    name = 'mallory';
    await expect(identified()).rejects.toThrow(unavailable);
    await expect(identified()).rejects.toThrow(unavailable);
    name = 'Alice';
    await expect(identified()).rejects.toThrow(unavailable);
    name = 'alice';
    expect(await identified()).toMatchObject({ principal: 'alice' });
  });

  test('is accepted if another header that it reads differs; headers that it does not read do not count', async () => {
    const { identify } = subjectOf(({ header }) => {
      const second = header('x-second');
      return `${header('X-First')}/${second ?? '-'}`;
    });
    const fields = { 'x-first': 'a', 'x-second': 'b', 'x-other': '1' };
    expect(await identify(fields)).toMatchObject({ principal: 'a/b' });
    expect(await identify({ ...fields, 'x-other': '2' })).toMatchObject({ principal: 'a/b' });
    expect(await identify({ ...fields, 'x-second': 'c' })).toMatchObject({ principal: 'a/c' });
    expect(await identify({ 'x-first': 'a' })).toMatchObject({ principal: 'a/-' });
    expect(await identify({ 'x-first': 'a', 'x-second': '' })).toMatchObject({ principal: 'a/' });
  });

  test('one that answers by something else than headers is noticed too', async () => {
    let calls = 0;
    const { identify } = subjectOf(() => `caller-${(calls += 1)}`);
    expect(await identify()).toMatchObject({ principal: 'caller-1' });
    await expect(identify()).rejects.toThrow(unavailable);
  });

  test('of two concurrent calls, the one that answers second is refused', async () => {
    const answers = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    let calls = 0;
    const { identify } = subjectOf(() => answers[calls++]?.promise ?? null);
    const [first, second] = [identify(), identify()];
    answers[1]?.resolve('bob');
    expect(await second).toMatchObject({ principal: 'bob' });
    answers[0]?.resolve('alice');
    await expect(first).rejects.toThrow(unavailable);
  });

  test('the memory is bounded and forgets what was not asked for longest', () => {
    const memory = new PrincipalMemory(3);
    const proof = (value: string) => new Map([['x-proof', value]]);
    for (const value of ['1', '2', '3']) expect(memory.agrees(proof(value), `p${value}`)).toBe(true);
    expect(memory.agrees(proof('1'), 'p1')).toBe(true);
    expect(memory.agrees(proof('4'), 'p4')).toBe(true);
    expect(memory.size).toBe(3);
    expect(memory.agrees(proof('1'), 'other')).toBe(false);
    expect(memory.agrees(proof('2'), 'other')).toBe(true);
    for (let value = 0; value < 50; value += 1) memory.agrees(proof(`more-${value}`), 'p');
    expect(memory.size).toBe(3);
    const usual = new PrincipalMemory();
    for (let value = 0; value < 1001; value += 1) usual.agrees(proof(`more-${value}`), 'p');
    expect(usual.size).toBe(1000);
  });

  test('headers with any names and values are distinguished, and their order does not count', () => {
    const memory = new PrincipalMemory();
    const agrees = (read: Record<string, string | undefined>, principal: string) =>
      memory.agrees(new Map(Object.entries(read)), principal);
    expect(agrees({ a: 'b"],["c' }, '1')).toBe(true);
    expect(agrees({ a: 'b', c: '' }, '2')).toBe(true);
    expect(agrees({ a: 'b', c: undefined }, '3')).toBe(true);
    expect(agrees({ a: 'b' }, '4')).toBe(true);
    expect(agrees({ c: '', a: 'b' }, '5')).toBe(false);
    expect(agrees({ c: '', a: 'b' }, '2')).toBe(true);
  });
});

describe('what a module exports', () => {
  const asked = (exported: unknown) => () => authenticatorFrom(exported);

  test('a class without parameters and an object with the method are authenticators', () => {
    class OfField {
      readonly authenticate = () => null;
    }
    class WithDefault {
      readonly name: string;
      constructor(name = 'x') {
        this.name = name;
      }
      authenticate = () => this.name;
    }
    const object = { authenticate: () => null };
    expect(authenticatorFrom(OfField)).toBeInstanceOf(OfField);
    expect(authenticatorFrom(WithDefault)).toBeInstanceOf(WithDefault);
    expect(authenticatorFrom(object)).toBe(object);
  });

  class WithParameters {
    readonly secret: string;
    constructor(secret: string) {
      this.secret = secret;
    }
    authenticate = () => this.secret;
  }
  class Failing {
    constructor() {
      throw new Error('hunter2');
    }
    authenticate = () => null;
  }
  class Without {
    readonly identify = () => null;
  }
  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'has no default export that is a class or an object'],
    ['null', null, 'has no default export that is a class or an object'],
    ['a text', 'authenticate', 'has no default export that is a class or an object'],
    ['an object without the method', {}, 'has no method authenticate'],
    ['an object with another member of the name', { authenticate: 'x' }, 'has no method authenticate'],
    ['a class without the method', Without, 'has no method authenticate'],
    ['an arrow function', () => null, 'is a function, not a class'],
    ['a class with parameters', WithParameters, 'has parameters'],
    ['a class whose constructor fails', Failing, 'the constructor of the authenticator failed'],
  ])('%s is none, and the error says why', (_, exported, why) => {
    expect(asked(exported)).toThrow(why);
    expect(asked(exported)).not.toThrow('hunter2');
  });
});
