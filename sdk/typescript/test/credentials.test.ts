import { inspect } from 'node:util';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type ClientOptions, type HeaderValues, SvcClient, SvcError } from '../src/index.ts';
import { foreign, hangUp, json, problem, Stage, thrown } from './stage.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

const key = 'sk-canary-4711';
const token = 'eyJ.canary.0815';

describe('the credentials of a client', () => {
  test('a key goes in its header, a token always where the service reads it', async () => {
    await using stage = await Stage.open(json({}));
    await stage.client({ apiKey: key }).health();
    await stage.client({ token }).health();
    await stage.client({ apiKey: key, token }).health();
    await stage.client({ apiKey: key, apiKeyHeader: 'X-Own-Key' }).health();
    const names = ['x-svc-api-key', 'x-serverless-authorization', 'authorization', 'x-own-key'];
    expect(stage.seen.map(({ headers }) => names.map((name) => headers[name]))).toEqual([
      [key, undefined, undefined, undefined],
      [undefined, `Bearer ${token}`, undefined, undefined],
      [key, `Bearer ${token}`, undefined, undefined],
      [undefined, undefined, undefined, key],
    ]);
  });

  test('a credential function is called before each request, also before a retry', async () => {
    await using stage = await Stage.open(foreign(503, { 'retry-after': '0.01' }), json({}));
    let times = 0;
    const client = stage.client({
      token: () => Promise.resolve(`t${(times += 1)}`),
      world: { now: () => 0, random: () => 0, after: (delayMs, callback) => soon(delayMs, callback) },
    });
    await client.health();
    await client.health();
    const tokens = stage.seen.map(({ headers }) => headers['x-serverless-authorization']);
    expect(tokens).toEqual(['Bearer t1', 'Bearer t2', 'Bearer t3']);
  });

  test('a header of the caller replaces that of the credentials', async () => {
    await using stage = await Stage.open(json({}));
    await stage.client({ apiKey: key, headers: { 'x-svc-api-key': 'other' } }).health();
    expect(stage.seen[0]?.headers['x-svc-api-key']).toBe('other');
  });

  test('a header that the caller removes is not sent, and its credential function is not called', async () => {
    await using stage = await Stage.open(json({}));
    const asked: string[] = [];
    const credential = (name: string) => () => {
      asked.push(name);
      return name;
    };
    const both = { apiKey: credential('key'), token: credential('token') };
    const sent = async (options: ClientOptions, headers: HeaderValues) => {
      await stage.client({ ...both, ...options }).health({ headers });
      const {
        'x-svc-api-key': one,
        'x-serverless-authorization': two,
        'x-own-key': own,
      } = stage.seen.at(-1)?.headers ?? {};
      return [one, two, own, asked.splice(0).join()];
    };
    const without = { headers: { 'X-Svc-Api-Key': null } };
    const bearer = 'Bearer token';
    expect(await sent(without, {})).toEqual([undefined, bearer, undefined, 'token']);
    expect(await sent({}, { 'x-svc-api-KEY': null })).toEqual([undefined, bearer, undefined, 'token']);
    expect(await sent({}, { 'x-serverless-authorization': null })).toEqual([
      'key',
      undefined,
      undefined,
      'key',
    ]);
    expect(await sent({ apiKeyHeader: 'X-Own-Key' }, { 'x-own-key': null })).toEqual([
      undefined,
      bearer,
      undefined,
      'token',
    ]);
    expect(await sent(without, { 'x-svc-api-key': 'call' })).toEqual(['call', bearer, undefined, 'token']);
    expect(await sent(without, { 'X-Svc-Api-Key': undefined })).toEqual([
      undefined,
      bearer,
      undefined,
      'token',
    ]);
  });

  test.each(['X A', '', ' X-A', 'X-A:', 'X\r\nA', 'X-Ä', 'a"b'])(
    'a header cannot be named %j',
    (apiKeyHeader) => {
      const make = () => new SvcClient({ baseUrl: 'https://x.example', apiKey: key, apiKeyHeader });
      expect(make).toThrow(SvcError);
      expect(make).toThrow(/apiKeyHeader/);
      vi.stubEnv('SVC_API_KEY_HEADER', apiKeyHeader || 'a b');
      expect(() => new SvcClient({ baseUrl: 'https://x.example' })).toThrow(SvcError);
    },
  );

  test('an error of a credential function reaches the caller', async () => {
    await using stage = await Stage.open(json({}));
    const reason = new Error('no token today');
    const client = stage.client({ token: () => Promise.reject(reason) });
    await expect(client.health()).rejects.toBe(reason);
    expect(stage.seen).toEqual([]);
  });
});

/** Pauses end at once; the call's timeout never fires. */
function soon(delayMs: number, callback: () => void): () => void {
  if (delayMs > 10_000) return () => {};
  const timer = setImmediate(callback);
  return () => clearImmediate(timer);
}

describe('the variables of the process', () => {
  const settings = (options: ClientOptions = {}) =>
    JSON.parse(JSON.stringify(new SvcClient(options))) as object;

  test('are the defaults of absent options', async () => {
    await using stage = await Stage.open(json({}));
    vi.stubEnv('SVC_BASE_URL', stage.address);
    vi.stubEnv('SVC_API_KEY', key);
    vi.stubEnv('SVC_API_KEY_HEADER', 'X-Own-Key');
    vi.stubEnv('SVC_IDENTITY_TOKEN', token);
    await new SvcClient().health();
    expect(stage.seen[0]?.headers).toMatchObject({
      'x-own-key': key,
      'x-serverless-authorization': `Bearer ${token}`,
    });
    await new SvcClient({ apiKey: 'mine', apiKeyHeader: 'X-Svc-Api-Key', token: null }).health();
    expect(stage.seen[1]?.headers['x-svc-api-key']).toBe('mine');
    expect(stage.seen[1]?.headers).not.toHaveProperty('x-serverless-authorization');
    expect(stage.seen[1]?.headers).not.toHaveProperty('x-own-key');
  });

  test('are read once: a derived client keeps the credentials of the first', async () => {
    await using stage = await Stage.open(json({}));
    vi.stubEnv('SVC_BASE_URL', stage.address);
    vi.stubEnv('SVC_API_KEY', key);
    vi.stubEnv('SVC_API_KEY_HEADER', 'X-Own-Key');
    vi.stubEnv('SVC_IDENTITY_TOKEN', token);
    const client = new SvcClient();
    vi.stubEnv('SVC_BASE_URL', 'https://elsewhere.example');
    for (const name of ['SVC_API_KEY', 'SVC_API_KEY_HEADER', 'SVC_IDENTITY_TOKEN']) vi.stubEnv(name, 'other');
    await client.withOptions({ timeout: 5_000, apiKey: undefined, baseUrl: undefined }).health();
    expect(stage.seen[0]?.headers).toMatchObject({
      'x-own-key': key,
      'x-serverless-authorization': `Bearer ${token}`,
    });
    await client.withOptions({ apiKey: null }).withOptions({ maxRetries: 0 }).health();
    expect(stage.seen[1]?.headers).not.toHaveProperty('x-own-key');
  });

  test('SVC_SERVER, which the command line tool reads, gives the address too', () => {
    vi.stubEnv('SVC_SERVER', 'https://tool.example/');
    expect(settings()).toMatchObject({ baseUrl: 'https://tool.example', apiKey: null, token: null });
    vi.stubEnv('SVC_BASE_URL', 'https://sdk.example/svc/');
    expect(settings()).toMatchObject({ baseUrl: 'https://sdk.example/svc' });
    expect(settings({ baseUrl: 'http://[::1]:1' })).toMatchObject({ baseUrl: 'http://[::1]:1' });
  });

  test('empty ones count as absent, and no credential is required', () => {
    vi.stubEnv('SVC_API_KEY', '');
    vi.stubEnv('SVC_BASE_URL', '');
    expect(() => new SvcClient()).toThrow(/address/);
    expect(settings({ baseUrl: 'https://x.example' })).toMatchObject({ apiKey: null });
    vi.stubGlobal('process', undefined);
    try {
      expect(settings({ baseUrl: 'https://x.example' })).toMatchObject({ apiKey: null });
    } finally {
      vi.unstubAllGlobals();
    }
  });
});

describe('a credential is not shown', () => {
  const shown = (value: unknown): string => {
    let text = `${inspect(value, { depth: 20, showHidden: true, getters: true })} ${JSON.stringify(value)} ${String(value)}`;
    if (value instanceof Error) text += `${value.message} ${value.stack} ${shown(value.cause ?? '')}`;
    return text;
  };

  test('by the client', async () => {
    await using stage = await Stage.open(json({}));
    for (const client of [
      stage.client({ apiKey: key, token }),
      stage.client({ apiKey: key, token }).withOptions({ timeout: 5 }),
    ]) {
      expect(shown(client)).not.toMatch(/canary/);
      expect(inspect(client)).toContain('[redacted]');
      expect(inspect({ deep: [client] })).not.toMatch(/canary/);
    }
  });

  test.each([
    ['refused', problem(401, 'unauthenticated')],
    ['redirected', foreign(302, { location: '/elsewhere' })],
    ['left alone', hangUp],
    ['answered with nonsense', foreign(200)],
    ['turned away', foreign(502)],
  ])('by the error of a call that was %s', async (_, answer) => {
    await using stage = await Stage.open(answer);
    const client = stage.client({ apiKey: key, token, maxRetries: 0 });
    const error = await thrown(client.commitCanonicalTransaction('t', { idempotencyKey: 'k' }), SvcError);
    expect(stage.seen[0]?.headers).toMatchObject({ 'x-svc-api-key': key });
    expect(shown(error)).not.toMatch(/canary/);
  });

  test.each([`${key}\r\nx: y`, `${key} `, '', `${key}é`, `${key}${'x'.repeat(20_000)}`])(
    'by the refusal of a credential that cannot be sent',
    async (bad) => {
      await using stage = await Stage.open(json({}));
      for (const options of [{ apiKey: bad }, { token: bad }, { token: () => bad }]) {
        const error = await thrown(stage.client(options).health(), SvcError);
        expect(shown(error)).not.toMatch(/canary/);
      }
      expect(stage.seen).toEqual([]);
    },
  );

  test.each([
    'https://user:canary@svc.example',
    'https://canary@svc.example',
    'https://svc.example/?key=canary',
    'https://svc.example/#canary',
    'ftp://canary.example',
    'canary',
    '//canary.example',
  ])('by the refusal of an address: %s', (baseUrl) => {
    expect(() => new SvcClient({ baseUrl })).toThrow(
      expect.toSatisfy((error) => error instanceof SvcError && !shown(error).includes('canary')),
    );
  });
});

describe('plain HTTP to another machine', () => {
  test.each(['http://svc.example', 'http://10.0.0.1:5220', 'http://127.example', 'http://localhost.example'])(
    '%s gets no credential',
    (baseUrl) => {
      const none = { apiKey: null, token: null };
      expect(() => new SvcClient({ baseUrl, ...none, apiKey: 'k' })).toThrow(/plain HTTP/);
      expect(() => new SvcClient({ baseUrl, ...none, token: () => 't' })).toThrow(/plain HTTP/);
      expect(() => new SvcClient({ baseUrl, ...none })).not.toThrow();
      expect(() => new SvcClient({ baseUrl, ...none, apiKey: 'k', insecure: true })).not.toThrow();
    },
  );

  test.each([
    'Authorization',
    'authorization',
    'AUTHORIZATION',
    'x-svc-api-KEY',
    'X-Serverless-Authorization',
    'Cookie',
    'Proxy-Authorization',
    'X-Api-Key',
  ])('gets none as the header %s either', async (name) => {
    const sent: string[] = [];
    const own = { baseUrl: 'http://svc.example', apiKey: null, token: null, maxRetries: 0 };
    const fetch = (url: string) => {
      sent.push(url);
      return Promise.resolve(Response.json({}));
    };
    const headers = { [name]: 'Bearer canary' };
    expect(() => new SvcClient({ ...own, headers })).toThrow(/svc\.example is plain HTTP(?!.*canary)/);
    const client = new SvcClient({ ...own, fetch });
    expect((await thrown(client.health({ headers }), SvcError)).message).toMatch(/plain HTTP(?!.*canary)/);
    expect(sent).toEqual([]);
    // Accepted: an absent or removed header, `insecure`, HTTPS, and an address of this machine.
    for (const value of [null, undefined]) {
      expect(() => new SvcClient({ ...own, headers: { [name]: value } })).not.toThrow();
      await client.health({ headers: { [name]: value } });
    }
    await new SvcClient({ ...own, fetch, insecure: true }).health({ headers });
    expect(() => new SvcClient({ ...own, headers, insecure: true })).not.toThrow();
    await new SvcClient({ ...own, fetch, baseUrl: 'https://svc.example' }).health({ headers });
    await new SvcClient({ ...own, fetch, baseUrl: 'http://127.0.0.1:1' }).health({ headers });
    expect(sent).toHaveLength(5);
  });

  test('a custom key header is not sent over plain HTTP either', () => {
    const own = { baseUrl: 'http://svc.example', apiKey: null, token: null, apiKeyHeader: 'X-Own-Key' };
    expect(() => new SvcClient({ ...own, headers: { 'x-own-key': 'k' } })).toThrow(/plain HTTP/);
    expect(() => new SvcClient({ ...own, headers: { 'x-other': 'k' } })).not.toThrow();
  });

  test.each([
    'http://localhost',
    'http://a.localhost:1',
    'http://127.0.0.1',
    'http://127.9.9.9',
    'http://[::1]',
    'https://svc.example',
  ])('%s may have one', (baseUrl) => {
    expect(() => new SvcClient({ baseUrl, apiKey: 'k' })).not.toThrow();
  });
});
