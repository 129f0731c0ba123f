import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { StoredBytes } from '../../functions/http/byte-answer.ts';
import { inject } from '../../functions/http/host-inject.ts';
import { serveNode } from '../../functions/http/host-node.ts';
import { bytesContent, bytesHandlers, wireChain } from './fixture/bytes.ts';
import { echoHandlers, systemWorld } from './fixture/echo.ts';
import { hosts, type WireHost } from './fixture/hosts.ts';

/** Streams, ranges and forms through every host. */

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

type Send = (
  method: string,
  path: string,
  headers?: Readonly<Record<string, string>>,
  body?: string,
) => Promise<Answer>;

const viaInject: Send = async (method, path, headers = {}, body) => {
  const answer = await inject(wireChain(), {
    method,
    path: `/b${path}`,
    headers,
    ...(body === undefined ? {} : { body }),
  });
  return { status: answer.status, headers: answer.headers, text: answer.body };
};

const viaFetch =
  (host: () => WireHost): Send =>
  async (method, path, headers = {}, body) => {
    const answer = await fetch(`http://127.0.0.1:${host().port}/b${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    });
    return { status: answer.status, headers: Object.fromEntries(answer.headers), text: await answer.text() };
  };

const form = (artifact: string): string =>
  `--b1\r\nContent-Disposition: form-data; name="manifest"\r\n\r\n{"id":"a"}\r\n--b1\r\nContent-Disposition: form-data; name="artifact"; filename="a.bin"\r\n\r\n${artifact}\r\n--b1--\r\n`;
const formType = { 'Content-Type': 'multipart/form-data; boundary=b1' };
const binary = { 'Content-Type': 'application/octet-stream' };
const hashOfAbc = 'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

const kinds: readonly {
  readonly name: string;
  readonly start: () => Promise<{ send: Send; stop: () => Promise<void> }>;
}[] = [
  { name: 'inject', start: async () => ({ send: viaInject, stop: async () => {} }) },
  ...hosts.map(({ name, start }) => ({
    name,
    start: async () => {
      const host = await start();
      return { send: viaFetch(() => host), stop: () => host.stop() };
    },
  })),
];

describe.each(kinds)('bytes on $name', ({ start }) => {
  let send: Send;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    ({ send, stop } = await start());
  });
  afterAll(() => stop());

  test('a stream is answered whole, in part, not at all, or as its fields', async () => {
    const whole = await send('GET', '/stored/a/b%2Fc');
    expect([whole.status, whole.text]).toEqual([200, bytesContent]);
    expect(whole.headers).toMatchObject({
      etag: '"a/b/c"',
      'accept-ranges': 'bytes',
      'content-type': 'application/octet-stream',
    });
    const part = await send('GET', '/stored/a', { Range: 'bytes=2-4' });
    expect([part.status, part.text, part.headers['content-range']]).toEqual([
      206,
      bytesContent.slice(2, 5),
      `bytes 2-4/${bytesContent.length}`,
    ]);
    expect((await send('GET', '/stored/a', { 'If-None-Match': '"a"' })).status).toBe(304);
    const behind = await send('GET', '/stored/a', { Range: 'bytes=99999-' });
    expect([behind.status, JSON.parse(behind.text), behind.headers['content-range']]).toMatchObject([
      416,
      { code: 'range_not_satisfiable', size: bytesContent.length },
      `bytes */${bytesContent.length}`,
    ]);
    const head = await send('HEAD', '/stored/a');
    expect([head.status, head.text, head.headers['etag']]).toEqual([200, '', '"a"']);
    expect((await send('HEAD', '/put')).status).toBe(405);
  });

  test('a body of bytes reaches the handler with its size and hash', async () => {
    const answer = await send('PUT', '/put', binary, 'abc');
    expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { size: 3, hash: hashOfAbc }]);
    expect((await send('PUT', '/put', { 'Content-Type': 'text/plain' }, 'abc')).status).toBe(415);
    expect((await send('PUT', '/put', binary, 'x'.repeat(5_000))).status).toBe(413);
  });

  test('a form reaches the handler as JSON and a stream', async () => {
    const answer = await send('POST', '/forms', formType, form('abc'));
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      200,
      { manifest: { id: 'a' }, fileName: 'a.bin', size: 3, hash: hashOfAbc },
    ]);
    expect((await send('POST', '/forms', formType, form('abc').slice(0, -6))).status).toBe(400);
    expect((await send('POST', '/forms', binary, 'abc')).status).toBe(415);
    expect((await send('POST', '/forms', formType, form('x'.repeat(5_000)))).status).toBe(413);
  });
});

describe('a stream on a socket', () => {
  test('ends when its client goes, and is read no faster than the client reads', async () => {
    const closed = Promise.withResolvers<number>();
    const chunk = Buffer.alloc(64 * 1024);
    const endless = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
      let produced = 0;
      try {
        for (;;) {
          produced += chunk.length;
          yield chunk;
          await new Promise((resolve) => setImmediate(resolve));
        }
      } finally {
        closed.resolve(produced);
      }
    };
    const answer = new StoredBytes({
      mediaType: 'application/octet-stream',
      size: 2 ** 40,
      etag: null,
      open: endless,
    });
    const chain = wireChain({
      handlers: {
        ...echoHandlers(),
        ...bytesHandlers,
        getBytes: () => Promise.resolve({ status: 200, body: answer }),
      },
    });
    const host = await serveNode(chain, { host: '127.0.0.1', port: 0, world: systemWorld });
    const client = httpRequest(`${host.url}/b/stored/a`).end();
    const [response] = await once(client, 'response');
    await once(response, 'readable');
    client.on('error', () => {});
    client.destroy();
    // The source has given no more than the sockets and the response can hold.
    expect(await closed.promise).toBeLessThan(64 * 1024 * 1024);
    await host.stop();
  });

  test('whose fields alone are asked for is returned unread', async () => {
    let returned = 0;
    let read = 0;
    const chunks = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          read += 1;
          return Promise.resolve({ done: true as const, value: undefined });
        },
        return: () => {
          returned += 1;
          return Promise.resolve({ done: true as const, value: undefined });
        },
      }),
    };
    const getBytes = () => Promise.resolve({ status: 200, body: chunks });
    const chain = wireChain({ handlers: { ...echoHandlers(), ...bytesHandlers, getBytes } });
    const host = await serveNode(chain, { host: '127.0.0.1', port: 0, world: systemWorld });
    expect((await fetch(`${host.url}/b/stored/a`, { method: 'HEAD' })).status).toBe(200);
    await host.stop();
    expect([returned, read]).toEqual([1, 0]);
  });

  test('that is given up while the client still reads is cut off', async () => {
    const cut = new AbortController();
    const open = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
      yield Buffer.from('abc');
      // A source that never continues.
      await new Promise(() => {});
    };
    const answer = new StoredBytes({
      mediaType: 'application/octet-stream',
      size: 10,
      etag: null,
      open,
      cut: cut.signal,
    });
    const getBytes = () => Promise.resolve({ status: 200, body: answer });
    const chain = wireChain({ handlers: { ...echoHandlers(), ...bytesHandlers, getBytes } });
    const host = await serveNode(chain, { host: '127.0.0.1', port: 0, world: systemWorld });
    const given = await fetch(`${host.url}/b/stored/a`);
    const reader = given.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('abc');
    cut.abort();
    await expect(reader?.read()).rejects.toThrow();
    await host.stop();
  });

  test.each([
    ['fails', 10, true],
    ['is too short', 10, false],
    ['is too long', 2, false],
  ])('that %s is cut off', async (_, size, fails) => {
    const open = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
      yield Buffer.from('abc');
      if (fails) throw new Error('SECRET');
    };
    const answer = new StoredBytes({ mediaType: 'application/octet-stream', size, etag: null, open });
    const chain = wireChain({
      handlers: {
        ...echoHandlers(),
        ...bytesHandlers,
        getBytes: () => Promise.resolve({ status: 200, body: answer }),
      },
    });
    const host = await serveNode(chain, { host: '127.0.0.1', port: 0, world: systemWorld });
    await expect(fetch(`${host.url}/b/stored/a`).then((given) => given.text())).rejects.toThrow();
    await host.stop();
  });
});
