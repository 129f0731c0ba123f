import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { exitCodes } from '../output.ts';
import { Remote } from '../remote.ts';
import { exchange, loopbackLookup, type RemoteRequest } from './exchange.ts';
import { failureOf } from './failure.ts';

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

/** A real server with any behaviour. */
async function http(listener: RequestListener): Promise<URL> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stops.push(() => server.close().closeAllConnections());
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

/** A server that does not speak HTTP. */
async function tcp(accept: (socket: Socket) => void): Promise<URL> {
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    accept(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stops.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

const get: RemoteRequest = { method: 'GET', path: '/', headers: [], body: null };
const options = { silenceMaxMs: 10_000, thisMachineOnly: false };

async function textOf(answer: IncomingMessage): Promise<string> {
  return Buffer.concat(await answer.toArray()).toString();
}

/** The answer of a server that repeats the request. */
async function repeated(
  request: RemoteRequest,
  path = '',
): Promise<{ line: string; headers: string[]; body: string }> {
  const server = await http((incoming, outgoing) => {
    void textOf(incoming).then((body) => {
      const line = `${incoming.method} ${incoming.url}`;
      outgoing.end(JSON.stringify({ line, headers: incoming.rawHeaders, body }));
    });
  });
  const answer = await exchange(request, { server: new URL(path, server), ...options });
  return JSON.parse(await textOf(answer)) as { line: string; headers: string[]; body: string };
}

describe('a request', () => {
  test('goes as it is: the path undisturbed, nothing added but what HTTP needs', async () => {
    const path = '/a/%2E%2E/b//c;d=%C3%A9?q=%20&r=a+b';
    const { line, headers } = await repeated({ ...get, path, headers: [['X-One', '1']] });
    expect(line).toBe(`GET ${path}`);
    expect(headers.filter((_, at) => at % 2 === 0)).toEqual(['Host', 'X-One', 'Connection']);
  });

  test('goes below the path of the server', async () => {
    expect((await repeated({ ...get, path: '/health' }, '/svc')).line).toBe('GET /svc/health');
  });

  test('says how long its body is, also where there is none', async () => {
    const none = await repeated({ ...get, method: 'POST' });
    expect(none.headers).toEqual(expect.arrayContaining(['Content-Length', '0']));
    const some = await repeated({ ...get, method: 'POST', body: Buffer.from('{"a":"é"}') });
    expect(some.body).toBe('{"a":"é"}');
    expect(some.headers).toEqual(expect.arrayContaining(['Content-Length', '10']));
    expect([...none.headers, ...some.headers]).not.toContain('Expect');
  });

  test('of a large body waits until it is wanted, and goes whole', async () => {
    const body = Buffer.alloc(3 * 1024 * 1024, 'x');
    const sent = await repeated({ ...get, method: 'POST', body });
    expect(sent.headers).toEqual(expect.arrayContaining(['Expect', '100-continue']));
    expect(sent.body.length).toBe(body.length);
  });

  test('of a large body that is refused by its head does not send it, and hears why', async () => {
    let received = 0;
    const server = await tcp((socket) => {
      socket.on('data', (chunk) => {
        received += chunk.length;
        socket.end('HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno');
      });
    });
    const body = Buffer.alloc(8 * 1024 * 1024, 'x');
    const answer = await exchange({ ...get, method: 'POST', body }, { server, ...options });
    expect([answer.statusCode, await textOf(answer)]).toEqual([413, 'no']);
    expect(received).toBeLessThan(1024);
  });

  test('is not repeated at another address', async () => {
    let asked = 0;
    const elsewhere = await http((_, outgoing) => {
      asked += 1;
      outgoing.end();
    });
    const server = await http((_, outgoing) => outgoing.writeHead(307, { location: elsewhere.href }).end());
    const answer = await exchange({ ...get, method: 'POST' }, { server, ...options });
    expect([answer.statusCode, asked]).toEqual([307, 0]);
  });
});

describe('a failure of the connection is described in one sentence and ends with exit code 6:', () => {
  const failing = (server: URL, more = {}) => exchange(get, { server, ...options, ...more });
  const expectedFailure = (pattern: RegExp, sent: boolean) => ({
    message: expect.stringMatching(pattern),
    exitCode: exitCodes.unavailable,
    sent,
  });

  test('no process listens on the port', async () => {
    const server = await http(() => undefined);
    for (const stop of stops.splice(0)) stop();
    await expect(failing(server)).rejects.toMatchObject(
      expectedFailure(/^http:\/\/127\S+ refuses connections/, false),
    );
  });

  test('an unknown host name', async () => {
    const server = new URL('http://nobody.invalid:1');
    await expect(failing(server)).rejects.toMatchObject(expectedFailure(/host name/, false));
  });

  test('silence, after the request went out', async () => {
    const server = await http(() => undefined);
    const failure = failing(server, { silenceMaxMs: 1_000 });
    await expect(failure).rejects.toMatchObject(
      expectedFailure(/sent nothing for longer than --timeout/, true),
    );
  });

  test('a connection that is cut off before the answer', async () => {
    const server = await tcp((socket) => socket.once('data', () => socket.destroy()));
    await expect(failing(server)).rejects.toMatchObject(expectedFailure(/broke the connection off/, true));
  });

  test('a connection that is cut off before the request could go', async () => {
    const server = await tcp((socket) => socket.once('data', () => socket.destroy()));
    const secure = new URL(`https://127.0.0.1:${server.port}`);
    await expect(failing(secure)).rejects.toMatchObject(expectedFailure(/broke the connection off/, false));
  });

  test('something that speaks no HTTP', async () => {
    const server = await tcp((socket) => socket.once('data', () => socket.end('220 mail ready\r\n')));
    await expect(failing(server)).rejects.toMatchObject(expectedFailure(/does not answer in HTTP/, true));
  });

  test('something that speaks no TLS', async () => {
    const server = await http((_, outgoing) => outgoing.end());
    const secure = new URL(`https://127.0.0.1:${server.port}`);
    await expect(failing(secure)).rejects.toMatchObject(expectedFailure(/does not speak TLS/, false));
  });
});

describe('an answer that breaks off', () => {
  const bodyOf = async (server: URL, timeout = 10) => {
    const remote = new Remote(server, [], { timeout });
    return remote.bodyOf(await remote.send(get));
  };
  const half = 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf';

  test('is no answer', async () => {
    const server = await tcp((socket) => socket.once('data', () => socket.end(half)));
    await expect(bodyOf(server)).rejects.toMatchObject({
      message: expect.stringContaining('broke the connection off'),
      exitCode: exitCodes.unavailable,
    });
  });

  test('by silence neither', async () => {
    const server = await tcp((socket) => socket.once('data', () => socket.write(half)));
    await expect(bodyOf(server, 0.1)).rejects.toMatchObject({
      message: expect.stringContaining('sent nothing'),
      exitCode: exitCodes.unavailable,
    });
  });
});

describe('a name of this machine', () => {
  type Found = { readonly address: string; readonly family: number };
  const look = (found: readonly Found[], all: boolean) =>
    new Promise<unknown>((resolve) => {
      loopbackLookup((_, __, callback) => callback(null, [...found]))(
        'localhost',
        { all },
        (error, address, family) => resolve(error ?? (all ? address : { address, family })),
      );
    });
  const own = [
    { address: '::1', family: 6 },
    { address: '127.0.0.1', family: 4 },
  ];

  test('leads to its addresses of this machine, and no other', async () => {
    const strange = [{ address: '10.0.0.1', family: 4 }, ...own, { address: 'fe80::1', family: 6 }];
    expect(await look(strange, true)).toEqual(own);
    expect(await look(strange, false)).toEqual(own[0]);
  });

  test.each(['10.0.0.1', '::ffff:10.0.0.1', '::', '0.0.0.0', '2001:db8::1'])(
    'that leads to %s fails',
    async (address) => {
      const error = await look([{ address, family: address.includes(':') ? 6 : 4 }], true);
      expect(error).toMatchObject({ code: 'NOT_THIS_MACHINE' });
      const server = new URL('http://localhost');
      expect(failureOf(error as Error, { server, sent: false }).message).toContain(
        'a credential is not sent there',
      );
    },
  );
});
