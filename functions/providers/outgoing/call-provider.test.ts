import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { ProviderFailure } from '../failure.ts';
import { isRefusedAddress } from './addresses.ts';
import { retryAfterOf } from './answer.ts';
import { callProvider } from './call-provider.ts';
import {
  json,
  type ModelServer,
  ModelWorld,
  type Reply,
  startModelServer,
  TIMEOUT_MS,
} from './model-server.fixture.ts';

const SECRET = 'sk-very-secret';
let server: ModelServer;
let world = new ModelWorld();
afterEach(async () => {
  await server.close();
});

interface Options {
  readonly url?: string;
  readonly key?: string;
  readonly signal?: AbortSignal;
  readonly admit?: () => Promise<void>;
}

function call({ url, key = SECRET, signal = new AbortController().signal, admit }: Options = {}) {
  const fields = { get: () => new Headers([['authorization', `Bearer ${key}`]]) };
  const request = {
    url: url ?? `${server.address}/v1/embeddings`,
    body: { input: ['a'] },
    answerBytesMax: 10_000,
  };
  return callProvider(world, { ...request, headers: fields.get() }, { timeoutMs: TIMEOUT_MS, signal, admit });
}

async function serve(...replies: readonly Reply[]): Promise<void> {
  world = new ModelWorld();
  server = await startModelServer(...replies);
}

async function failure(options: Options = {}): Promise<ProviderFailure> {
  const error: unknown = await call(options).then(
    () => new Error('it succeeded'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ProviderFailure)) throw error;
  const shown = [error.message, error.stack, JSON.stringify(error), String(error.cause)].join();
  expect(shown).not.toContain(SECRET);
  return error;
}

const text =
  (body: string, type: string, status = 200): Reply =>
  (response) => {
    response.writeHead(status, { 'content-type': type }).end(body);
  };

describe('a call of a provider', () => {
  test('posts JSON and answers JSON', async () => {
    await serve(json({ data: [1] }));
    expect(await call()).toEqual({ data: [1] });
    expect(server.received).toEqual([
      expect.objectContaining({ method: 'POST', url: '/v1/embeddings', body: '{"input":["a"]}' }),
    ]);
    expect(server.received[0]?.headers).toMatchObject({
      authorization: `Bearer ${SECRET}`,
      accept: 'application/json',
      'content-type': 'application/json',
    });
  });

  const repeated = JSON.stringify({ error: { message: `Incorrect API key provided: ${SECRET}` } });
  const endless: Reply = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const more = () => {
      while (!response.destroyed && response.write('[[[[[[[['.repeat(512)));
    };
    response.on('drain', more);
    more();
  };
  const redirect =
    (status: number): Reply =>
    (response) => {
      response.writeHead(status, { location: 'http://169.254.169.254/computeMetadata/v1/' }).end();
    };

  test.each<[string, Reply, object]>([
    [
      '200 with HTML',
      text('<html>', 'text/html'),
      { failureClass: 'schema', providerStatus: 'unexpected_content_type' },
    ],
    [
      '200 with broken JSON',
      text('{"data":', 'application/json'),
      { failureClass: 'schema', providerStatus: 'invalid_json' },
    ],
    [
      '200 that is not UTF-8',
      (response: ServerResponse) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.of(0x22, 0xff, 0x22)),
      { failureClass: 'schema', providerStatus: 'invalid_json' },
    ],
    ['an endless answer', endless, { failureClass: 'schema', providerStatus: 'output_limit' }],
    [
      'a redirect to the metadata server',
      redirect(302),
      { failureClass: 'configuration', providerStatus: 'http_302' },
    ],
    [
      'a redirect that keeps the method',
      redirect(307),
      { failureClass: 'configuration', providerStatus: 'http_307' },
    ],
    [
      'a wrong key, which it repeats',
      text(repeated, 'application/json', 401),
      { failureClass: 'auth', providerStatus: 'http_401' },
    ],
    ['400', text(repeated, 'application/json', 400), { failureClass: 'schema', providerStatus: 'http_400' }],
    ['404', text('', 'text/plain', 404), { failureClass: 'configuration', providerStatus: 'http_404' }],
    ['418', text('', 'text/plain', 418), { failureClass: 'unknown', providerStatus: 'http_418' }],
    [
      '204',
      (response) => void response.writeHead(204).end(),
      { failureClass: 'unknown', providerStatus: 'http_204' },
    ],
  ])('that is answered by %s fails once and for all', async (_, reply, expected) => {
    await serve(reply);
    expect(await failure()).toMatchObject({ ...expected, isRetryable: false });
    expect(server.received).toHaveLength(1);
  });

  test.each([408, 429, 500, 503])('that is answered by %i is tried again', async (status) => {
    await serve(json({}, status), json({}, status), json({ done: true }));
    expect(await call()).toEqual({ done: true });
    expect(world.waits).toEqual([250, 500]);
  });

  test('is tried three times at most', async () => {
    await serve(json({}, 503));
    expect(await failure()).toMatchObject({
      failureClass: 'provider_unavailable',
      providerStatus: 'http_503',
    });
    expect(server.received).toHaveLength(3);
  });

  test('asks before each try, and is not tried again where it may not be', async () => {
    let asked = 0;
    const admit = () => {
      asked += 1;
      return asked > 2 ? Promise.reject(new Error('spent')) : Promise.resolve();
    };
    await serve(json({}, 503));
    expect(await failure({ admit })).toMatchObject({ providerStatus: 'http_503' });
    expect([asked, server.received.length]).toEqual([3, 2]);
    await expect(call({ admit })).rejects.toThrow('spent');
    expect(server.received).toHaveLength(2);
  });

  test('sends nothing where its time was over before it was admitted', async () => {
    await serve(json({}));
    const http = vi.spyOn(world, 'http');
    const ending = new AbortController();
    const ended = await failure({
      signal: ending.signal,
      admit: () => Promise.resolve(ending.abort()),
    });
    const { clock } = world;
    const end = clock.now() + TIMEOUT_MS;
    const admit = () => {
      clock.now = () => end;
      return Promise.resolve();
    };
    const late = await failure({ admit });
    expect([ended.failureClass, late.failureClass]).toEqual(['cancelled', 'timeout']);
    expect(http).not.toHaveBeenCalled();
  });

  test('is tried again where the connection breaks, also in the middle of an answer', async () => {
    const half: Reply = (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
      response.write('{"a"', () => response.destroy());
    };
    await serve((response) => void response.destroy(), half, json({ done: true }));
    expect(await call()).toEqual({ done: true });
  });

  test.each(['600 Odd', '999 Denied', '101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x'])(
    'that is answered by %s fails, and the process goes on',
    async (head) => {
      await serve((response) => void response.socket?.end(`HTTP/1.1 ${head}\r\nContent-Length: 0\r\n\r\n`));
      expect(await failure()).toMatchObject({ failureClass: 'network', isRetryable: true });
      expect(server.received).toHaveLength(3);
    },
  );

  test('waits as long as the provider asks, and not beyond its time', async () => {
    await serve(json({}, 429, { 'retry-after': '7' }), json({}, 429, { 'retry-after': '3600' }));
    expect(await failure()).toMatchObject({ failureClass: 'rate_limit', retryAfterMs: 3_600_000 });
    expect(world.waits).toEqual([7_000]);
    expect(server.received).toHaveLength(2);
  });

  test('ends where the answer does not', async () => {
    await serve((response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{', () => world.timeOut());
    });
    expect(await failure()).toMatchObject({ failureClass: 'timeout', providerStatus: 'client_timeout' });
  });

  test('ends with the signal', async () => {
    const controller = new AbortController();
    await serve(() => controller.abort());
    expect(await failure({ signal: controller.signal })).toMatchObject({ failureClass: 'cancelled' });
  });

  test.each([
    'metadata.test',
    'both.test',
    'mapped.test',
    '169.254.169.254',
    '[fe80::1]',
    '[::ffff:a9fe:a9fe]',
    '[::a9fe:a9fe]',
    '[2002:a9fe:a9fe::]',
    'translated.test',
    'second.test',
    '2852039166',
  ])('does not connect to %s', async (host) => {
    await serve(json({}));
    const url = `http://${host}:${server.port}/`;
    expect(await failure({ url })).toMatchObject({
      failureClass: 'configuration',
      providerStatus: 'address_refused',
      isRetryable: false,
    });
    expect(server.received).toEqual([]);
  });

  test('connects to an address that the settings name', async () => {
    server = await startModelServer();
    world = new ModelWorld(['0.0.0.0']);
    const url = `http://0.0.0.0:${server.port}/`;
    const [reply] = await Promise.all([
      failure({ url }),
      new Promise<void>((resolve) => {
        const wait = () => (server.received.length > 0 ? resolve() : setImmediate(wait));
        wait();
      }).then(() => world.timeOut()),
    ]);
    expect(reply).toMatchObject({ failureClass: 'timeout' });
  });
});

test('loopback and private networks may be called: local models are there', async () => {
  await serve();
  for (const address of ['127.0.0.1', '::1', '10.1.2.3', '192.168.0.1', '172.17.0.1', 'fd12::1', '8.8.8.8'])
    expect([address, isRefusedAddress(address)]).toEqual([address, false]);
  for (const address of ['2001:db8::1', '64:ff9b::808:808', '2002:808:808::1', '::ffff:10.1.2.3', '2001::1'])
    expect([address, isRefusedAddress(address)]).toEqual([address, address === '2001::1']);
});

describe('no provider is called', () => {
  test.each([
    '169.254.0.1',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd20:ce::254',
    'fd00:42::42',
    'fd20:00ce:0:0:0:0:0:0254',
    'fe80::1%eth0',
    'ff02::1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    'no address',
  ])('at %s', (address) => {
    expect(isRefusedAddress(address)).toBe(true);
  });

  test.each([
    ['mapped', '::ffff:a9fe:a9fe'],
    ['mapped, as dots', '::ffff:169.254.169.254'],
    ['compatible', '::a9fe:a9fe'],
    ['compatible, as dots', '::169.254.169.254'],
    ['compatible, in full', '0:0:0:0:0:0:169.254.169.254'],
    ['translated', '::ffff:0:a9fe:a9fe'],
    ['6to4', '2002:a9fe:a9fe::'],
    ['6to4 of a host', '2002:6464:64c8:1::5'],
    ['NAT64', '64:ff9b::a9fe:a9fe'],
    ['NAT64 of Azure', '64:ff9b::168.63.129.16'],
    ['NAT64 of a network', '64:ff9b:1:2:3:4:a9fe:a9fe'],
    ['NAT64 of a network, with the address in the middle', '64:ff9b:1:a9fe:a9:fe00:808:808'],
    ['NAT64 of a network, with the address before a suffix', '64:ff9b:1:808:a9:fea9:fe00:0'],
    ['Teredo, as its server', '2001:0:a9fe:a9fe::1'],
    ['Teredo, as its client', '2001:0:808:808:0:0:5601:5601'],
    ['ISATAP', '2001:db8::5efe:169.254.169.254'],
  ])('at a metadata address that is %s', (_, address) => {
    expect(isRefusedAddress(address)).toBe(true);
  });
});

test('Retry-After is a number of seconds or a time', async () => {
  await serve();
  const now = Date.UTC(2026, 0, 1);
  expect(retryAfterOf('3', now)).toBe(3_000);
  expect(retryAfterOf('Thu, 01 Jan 2026 00:00:05 GMT', now)).toBe(5_000);
  expect(retryAfterOf('Thu, 01 Jan 2025 00:00:05 GMT', now)).toBe(0);
  expect(retryAfterOf('soon', now)).toBeNull();
  expect(retryAfterOf(null, now)).toBeNull();
});
