import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectionTimeouts } from '../../functions/http/connection.ts';
import { type NodeHost, serveNode } from '../../functions/http/host-node.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { echoChain, echoHandlers, Hold, systemWorld } from './fixture/echo.ts';
import { startFramework } from './fixture/hosts.ts';
import { expectProblem, RawConnection, request, send } from './fixture/raw-client.ts';

const path = '/canonical/tenants/t/echo';
const json = 'Content-Type: application/json';
const local = { host: '127.0.0.1', port: 0, world: systemWorld };

describe('slow clients', () => {
  let host: NodeHost;
  const world = new ManualWorld();
  beforeAll(async () => {
    host = await serveNode(echoChain({ world }), local);
  });
  afterAll(() => host.stop());

  test('F05: a body of one byte a second is given up after 15 s', async () => {
    const connection = await RawConnection.open(host.address.port);
    connection.write(request('POST', path, [json, 'Content-Length: 100']));
    await world.timerSet();
    connection.write('{');
    world.advance(14_999);
    expect(world.pendingTimers).toBe(1);
    // One byte at 16 KiB/s earns no millisecond.
    world.advance(1);
    const answer = await connection.answer();
    expectProblem(answer, 408, 'request_timeout');
    expect(answer.headers['connection']).toBe('close');
    await connection.closed();
  });

  test('a client that disconnects in the middle of its body disturbs no other request', async () => {
    const connection = await RawConnection.open(host.address.port);
    connection.write(request('POST', path, [json, 'Content-Length: 100'], '{"a"'));
    await world.timerSet();
    connection.destroy();
    expect((await send(host.address.port, request('GET', '/items/a'))).status).toBe(200);
  });
});

describe('slow headers', () => {
  test('F06: a header section that does not end is given up', async () => {
    const timeouts = { ...connectionTimeouts, headersMs: 100, requestMs: 200 };
    const host = await serveNode(echoChain(), { ...local, timeouts });
    const connection = await RawConnection.open(host.address.port);
    connection.write('GET /items/a HTTP/1.1\r\nHost: te');
    expectProblem(await connection.answer(), 408, 'request_timeout');
    await connection.closed();
    await host.stop();
  });
});

describe('stopping', () => {
  test('a request under way is answered, the connection closed, and nothing new accepted', async () => {
    const hold = new Hold();
    const host = await serveNode(echoChain({ handlers: echoHandlers(hold) }), local);
    const busy = await RawConnection.open(host.address.port);
    const idle = await RawConnection.open(host.address.port);
    idle.write(request('GET', '/items/a'));
    await idle.answer();
    busy.write(request('GET', '/hold'));
    await hold.entered;
    const stopped = host.stop();
    await idle.closed();
    await expect(RawConnection.open(host.address.port)).rejects.toThrow();
    hold.release();
    expect(await busy.answer()).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await busy.closed();
    await stopped;
  });

  test('a request that outlasts the drain time is aborted', async () => {
    const hold = new Hold();
    const host = await serveNode(echoChain({ handlers: echoHandlers(hold) }), { ...local, drainMs: 1 });
    const busy = await RawConnection.open(host.address.port);
    busy.write(request('GET', '/hold'));
    const { signal } = await hold.entered;
    await host.stop();
    expect(signal.aborted).toBe(true);
    await busy.closed();
  });

  test('a handler is notified when its client disconnects', async () => {
    const hold = new Hold();
    const host = await serveNode(echoChain({ handlers: echoHandlers(hold) }), local);
    const busy = await RawConnection.open(host.address.port);
    busy.write(request('GET', '/hold'));
    const { signal } = await hold.entered;
    const aborted = new Promise((resolve) => {
      signal.addEventListener('abort', resolve, { once: true });
    });
    busy.destroy();
    await aborted;
    await host.stop();
  });

  test('functions-framework finishes requests under way after SIGTERM, and ends with 0', async () => {
    const host = await startFramework();
    const [idle, busy] = [await RawConnection.open(host.port), await RawConnection.open(host.port)];
    busy.write(request('POST', path, [json, 'Content-Length: 2'], '{'));
    idle.write(request('GET', '/items/a'));
    expect((await idle.answer()).status).toBe(200);
    const stopped = host.stop();
    await idle.closed();
    busy.write('}');
    expect(await busy.answer()).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await stopped;
    expect(await host.exited).toBe(0);
  });

  test('functions-framework lives on where a handler left a rejection, and drains where none did', async () => {
    const host = await startFramework('careless-function.ts');
    const said: string[] = [];
    const taken = Promise.withResolvers<void>();
    host.child.stdout?.on('data', (text: Buffer) => {
      said.push(text.toString());
      if (said.join('').includes('taken')) taken.resolve();
    });
    // The first answer comes after the listeners of the framework are replaced.
    expect((await send(host.port, request('GET', '/items/a'))).status).toBe(200);
    host.child.kill('SIGHUP');
    await Promise.race([taken.promise, host.exited]);
    expect((await send(host.port, request('GET', '/items/a'))).status).toBe(200);
    host.child.kill('SIGUSR2');
    expect(await host.exited).toBe(16);
    expect(said.join('')).toContain('the process met a fault and ends');
  });
});

describe('the rate limit over sockets', () => {
  test('I02: invented addresses in X-Forwarded-For do not help', async () => {
    const rateLimit = { permitLimit: 3, windowSeconds: 60, queueLimit: 0 };
    const host = await serveNode(echoChain({ rateLimit, trustedProxyHops: 1 }), local);
    const statuses: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const forwarded = `X-Forwarded-For: 10.0.0.${n}, 203.0.113.9`;
      const answer = await send(host.address.port, request('POST', path, [json, forwarded], '{}'));
      statuses.push(answer.status);
      if (answer.status !== 429) continue;
      expectProblem(answer, 429, 'rate_limited');
      expect(answer.headers).toMatchObject({ 'retry-after': '60', ratelimit: '"canonical";r=0;t=60' });
    }
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    const other = request('POST', path, [json, 'X-Forwarded-For: 203.0.113.10'], '{}');
    expect((await send(host.address.port, other)).status).toBe(200);
    await host.stop();
  });
});
