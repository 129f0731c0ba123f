import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { firstSegment, type Router, startRouter } from './router.ts';

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

let router: Router;
let port: number;
let upstream: Server;
let answer: (request: IncomingMessage, response: ServerResponse) => void;

beforeAll(async () => {
  upstream = createServer((request, response) => answer(request, response));
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const served = (upstream.address() as AddressInfo).port;
  const nobody = createServer();
  nobody.listen(0, '127.0.0.1');
  await once(nobody, 'listening');
  const closed = (nobody.address() as AddressInfo).port;
  nobody.close();
  const routes = new Map([
    ['canonical', served],
    ['down', closed],
  ]);
  router = await startRouter({ host: '127.0.0.1', port: 0 });
  router.open({ bySegment: routes, otherwise: served });
  port = Number(new URL(router.url).port);
});
afterAll(async () => {
  await router.stop();
  upstream.closeAllConnections();
  upstream.close();
});

/** Sends the text unchanged; resolves with the complete answer. */
async function raw(text: string, at = port): Promise<string> {
  const socket = connect(at, '127.0.0.1');
  let got = '';
  socket.on('data', (chunk: Buffer) => {
    got += chunk.toString();
  });
  socket.write(text);
  await once(socket, 'close');
  return got;
}

function echo(): Promise<Seen> {
  return new Promise((resolve) => {
    answer = (request, response) => {
      void (async () => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        const { method, url, rawHeaders } = request;
        resolve({ method, url, rawHeaders, body: Buffer.concat(chunks).toString() });
        response.setHeader('Connection', 'close');
        response.end('done');
      })();
    };
  });
}

function headerOf({ rawHeaders }: Seen, name: string): string[] {
  return rawHeaders.flatMap((field, at) =>
    at % 2 === 0 && field.toLowerCase() === name ? [rawHeaders[at + 1] ?? ''] : [],
  );
}

test.each([
  ['/canonical/tenants', 'canonical'],
  ['/canonical?x', 'canonical'],
  ['/', ''],
  ['//canonical', ''],
  ['/%63anonical', '%63anonical'],
  ['*', ''],
])('the first segment of %s is %j, undecoded', (target, segment) => {
  expect(firstSegment(target)).toBe(segment);
});

describe('the request that a function receives', () => {
  test('is the target as it was sent', async () => {
    const seen = echo();
    await raw('GET /canonical/a%2Fb/..//%E0%A4%A?q=%00 HTTP/1.1\r\nHost: h\r\n\r\n');
    expect((await seen).url).toBe('/canonical/a%2Fb/..//%E0%A4%A?q=%00');
  });

  test('are the fields of the request without those of the connection, repeated ones too', async () => {
    const seen = echo();
    const fields = [
      'Host: a.example',
      'X-Two: 1',
      'X-Two: 2',
      'Connection: X-Mine, close',
      'X-Mine: 3',
      'TE: trailers',
    ];
    await raw(`GET /canonical HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`);
    const got = await seen;
    expect(headerOf(got, 'host')).toEqual(['a.example']);
    expect(headerOf(got, 'x-two')).toEqual(['1', '2']);
    expect([headerOf(got, 'x-mine'), headerOf(got, 'te')]).toEqual([[], []]);
  });

  test('is who called, after what the caller says of it', async () => {
    const seen = echo();
    await raw(
      'GET /canonical HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 7.7.7.7\r\n\r\n',
    );
    expect(headerOf(await seen, 'x-forwarded-for')).toEqual(['6.6.6.6, 7.7.7.7, 127.0.0.1']);
  });

  test('is the body in the framing that it came in', async () => {
    const chunked = echo();
    await raw(
      'POST /canonical HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
    );
    expect(await chunked).toMatchObject({ body: 'abc' });
    expect(headerOf(await chunked, 'transfer-encoding')).toEqual(['chunked']);
    const measured = echo();
    await raw('POST /canonical HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc');
    expect(headerOf(await measured, 'content-length')).toEqual(['3']);
    const none = echo();
    await raw('POST /canonical HTTP/1.1\r\nHost: h\r\n\r\n');
    expect(await none).toMatchObject({ body: '' });
    expect(headerOf(await none, 'transfer-encoding')).toEqual([]);
  });

  test('is its framing even where the connection disowns it', async () => {
    const seen = echo();
    await raw(
      'POST /canonical HTTP/1.1\r\nHost: h\r\nConnection: close, content-length\r\nContent-Length: 3\r\n\r\nabc',
    );
    expect(await seen).toMatchObject({ body: 'abc' });
  });
});

describe('the answer that a caller receives', () => {
  test('is the answer as it is, repeated fields too', async () => {
    answer = (_, response) => {
      response.writeHead(418, 'Short and stout', ['X-A', '1', 'X-A', '2', 'Connection', 'close']);
      response.end('tea');
    };
    const got = await raw('GET /canonical HTTP/1.1\r\nHost: h\r\n\r\n');
    expect(got).toMatch(/^HTTP\/1\.1 418 Short and stout\r\nX-A: 1\r\nX-A: 2\r\n/);
    expect(got).toContain('tea');
  });

  test('is a refusal before the body was sent', async () => {
    answer = (_, response) => {
      response.writeHead(413, { Connection: 'close' });
      response.end('no');
    };
    const got = await raw(
      'POST /canonical HTTP/1.1\r\nHost: h\r\nContent-Length: 9000000\r\nExpect: 100-continue\r\n\r\n',
    );
    expect(got).toContain('413');
  });

  test('is a problem document when the function is not there', async () => {
    const got = await fetch(`${router.url}/down`);
    expect(got.status).toBe(503);
    expect(got.headers.get('content-type')).toBe('application/problem+json');
    expect(await got.json()).toMatchObject({ code: 'unavailable', retryable: true });
  });

  test('answers 503 with Retry-After until the functions have started', async () => {
    const closed = await startRouter({ host: '127.0.0.1', port: 0 });
    try {
      const early = await fetch(`${closed.url}/canonical`, { method: 'POST', body: 'x'.repeat(100_000) });
      expect([early.status, early.headers.get('retry-after')]).toEqual([503, '1']);
      expect(await early.json()).toMatchObject({ code: 'unavailable', retryable: true });
      // The body never arrives, so the connection cannot be reused.
      const asked =
        'POST /canonical HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n';
      expect(await raw(asked, Number(new URL(closed.url).port))).toMatch(/^HTTP\/1\.1 503 /);
      answer = (_, response) => response.end('tea');
      const { port: served } = upstream.address() as AddressInfo;
      closed.open({ bySegment: new Map(), otherwise: served });
      expect(await (await fetch(`${closed.url}/canonical`)).text()).toBe('tea');
    } finally {
      await closed.stop();
    }
  });
});

describe('requests that a client sends without waiting for answers', () => {
  const get = (name: string, close = '') => `GET /canonical/${name} HTTP/1.1\r\nHost: h\r\n${close}\r\n`;
  const names = (got: string) => [...got.matchAll(/answer of (\w);/g)].map(([, name]) => name);

  test('reach a function one at a time, in their order, and all are answered', async () => {
    const started: string[] = [];
    answer = (request, response) => {
      const name = (request.url ?? '').split('/')[2] ?? '';
      const done = () => response.end(`answer of ${name};`);
      started.push(name);
      // The answer to `a` waits until the server has answered a later connection: any request that could run beside `a` has begun by then.
      if (name === 'a') void raw(get('z', 'Connection: close\r\n')).then(done);
      else done();
    };
    const got = await raw(get('a') + get('b') + get('c') + get('d', 'Connection: close\r\n'));
    expect(names(got)).toEqual(['a', 'b', 'c', 'd']);
    expect(started).toEqual(['a', 'z', 'b', 'c', 'd']);
  });

  test('are not forwarded behind an answer that closes the connection', async () => {
    const started: string[] = [];
    answer = (request, response) => {
      const name = (request.url ?? '').split('/')[2] ?? '';
      started.push(name);
      if (name === 'b') response.setHeader('Connection', 'close');
      response.end(`answer of ${name};`);
    };
    const got = await raw(get('a') + get('b') + get('c'));
    expect(names(got)).toEqual(['a', 'b']);
    expect(started).toEqual(['a', 'b']);
  });

  test('are answered up to one that asks to upgrade, and the connection closed behind it', async () => {
    answer = (request, response) => response.end(`answer of ${(request.url ?? '').split('/')[2]};`);
    const upgrade = 'GET /canonical/b HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n';
    expect(names(await raw(get('a') + upgrade + get('c')))).toEqual(['a', 'b']);
  });

  test('of HTTP/1.0 in chunks are refused, and not forwarded as HTTP/1.1', async () => {
    let calls = 0;
    answer = (_, response) => {
      calls += 1;
      response.end();
    };
    const old =
      'POST /canonical HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n';
    const got = await raw(old + get('b'));
    expect(got).toMatch(/^HTTP\/1\.1 400 /);
    expect(got).toContain('malformed_request');
    expect([got.split('HTTP/1.1').length, calls]).toEqual([2, 0]);
  });

  test('are answered where the bytes behind them are no request', async () => {
    answer = (request, response) => {
      setImmediate(() => response.end(`answer of ${(request.url ?? '').split('/')[2]};`));
    };
    const got = await raw(`${get('a')}${get('b')}NO REQUEST\r\n\r\n`);
    expect(names(got)).toEqual(['a', 'b']);
  });
});
