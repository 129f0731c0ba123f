import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, test, vi } from 'vitest';
import type { Answer } from '../../functions/http/answer.ts';
import { createExchange } from '../../functions/http/exchange.ts';
import { type NodeHost, serveNode } from '../../functions/http/host-node.ts';
import type { Chain } from '../../functions/http/message.ts';
import type { ChainOptions } from '../../functions/http/options.ts';
import type { Timers } from '../../functions/kernel/world.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { echoChain, echoHandlers, echoOperations, systemWorld } from './fixture/echo.ts';
import { expectProblem, RawConnection, request, send } from './fixture/raw-client.ts';

/** The memory of requests under way: bodies that stop before their end, and answers that their clients do not read. */

const MiB = 1024 * 1024;
/** Ends a test that hangs. */
const PATIENCE_MS = 600_000;
const path = '/canonical/tenants/t/echo';
const large = 'x'.repeat(16 * MiB);
const getItem = { ...echoOperations['getItem'], mutation: 'read' } as const;

async function serve(overrides: Partial<ChainOptions>, timers = systemWorld.timers): Promise<NodeHost> {
  const handlers = {
    ...echoHandlers(),
    getItem: ({ params }: { readonly params: { readonly itemId: string } }): Promise<Answer> =>
      Promise.resolve({ status: 200, body: params.itemId === 'large' ? large : 'small' }),
  };
  const operations = { ...echoOperations, getItem: getItem as ChainOptions['operations'][string] };
  const chain = echoChain({ handlers, operations, ...overrides });
  return serveNode(chain, { host: '127.0.0.1', port: 0, world: { ...systemWorld, timers }, drainMs: 1 });
}

/** Sends a request and reads nothing of its answer. */
async function unread(port: number, text: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}

test('bodies behind a refusal are discarded at a bounded speed, over all connections', async () => {
  const world = new ManualWorld();
  // Timers without a delay separate two chunks; the test ends all other timers.
  const after: Timers['after'] = (ms, callback) => (ms > 0 ? world : systemWorld).timers.after(ms, callback);
  const chain: Chain = () => Promise.resolve({ status: 429, headers: [], body: '{}', close: false });
  const exchange = createExchange(chain, { clock: world.clock, timers: { after } });
  const server = createServer(exchange.handle);
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const bytes = 30 * MiB;
  const clients = await Promise.all(
    [1, 2].map(async () => {
      const client = await unread(port, request('POST', path, [`Content-Length: ${bytes}`]));
      client.write(Buffer.alloc(bytes));
      return client;
    }),
  );
  // For each connection the end of the whole discarding, and the wait for the next chunk.
  await vi.waitFor(() => expect(world.pendingTimers).toBe(4), PATIENCE_MS);
  const taken = sockets.reduce((sum, socket) => sum + socket.bytesRead, 0);
  expect(taken).toBeGreaterThan(16 * MiB);
  expect(taken).toBeLessThan(34 * MiB);
  // The server ends connections with unread bytes, which their clients may see as a reset.
  const closed = clients.map((client) => new Promise((resolve) => client.resume().once('close', resolve)));
  world.advance(2_000);
  server.closeAllConnections();
  await Promise.all(closed);
  server.close();
});

/** A server that reads one chunk of a body, or none, and then refuses it; waits with a length are those of the world. */
async function refusing(world: ManualWorld, readsFirst: boolean) {
  const after: Timers['after'] = (ms, callback) => (ms > 0 ? world : systemWorld).timers.after(ms, callback);
  const chain: Chain = async ({ body }) => {
    if (readsFirst) await body[Symbol.asyncIterator]().next();
    return { status: 409, headers: [], body: '{}', close: false };
  };
  const server = createServer(createExchange(chain, { clock: world.clock, timers: { after } }).handle);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

const sends = (bytes: number): string => request('POST', path, [`Content-Length: ${bytes}`]);

test('a body of which the server has read a part is discarded too, and its client reads the answer', async () => {
  const world = new ManualWorld();
  const { server, port } = await refusing(world, true);
  const client = await unread(port, sends(20 * MiB) + 'x'.repeat(20 * MiB));
  let text = '';
  client.setEncoding('utf8').on('data', (part: string) => (text += part));
  const reset = await new Promise((resolve) => client.once('close', resolve));
  expect([reset, text.slice(0, 12), text.slice(-2)]).toEqual([false, 'HTTP/1.1 409', '{}']);
  expect(world.pendingTimers).toBe(0);
  server.close();
});

test('a refused client that sends nothing uses none of the bytes that may be discarded for others', async () => {
  const world = new ManualWorld();
  const { server, port } = await refusing(world, false);
  // Twice as many as the allowance has chunks, in groups.
  for (let group = 0; group < 10; group += 1) {
    const silent = await Promise.all(Array.from({ length: 100 }, () => unread(port, sends(MiB))));
    await Promise.all(silent.map((socket) => once(socket, 'data')));
    for (const socket of silent) socket.destroy();
    await vi.waitFor(() => expect(world.pendingTimers).toBe(0), PATIENCE_MS);
  }
  const client = await unread(port, sends(2 * MiB) + 'x'.repeat(2 * MiB));
  const reset = await new Promise((resolve) => client.resume().once('close', resolve));
  expect([reset, world.pendingTimers]).toEqual([false, 0]);
  server.close();
});

test('answers that their clients do not read are bounded, cut off after 30 s, and cost small requests nothing', async () => {
  const world = new ManualWorld();
  const bytesInFlight = { perProcess: 64 * MiB, perCaller: 40 * MiB };
  // The host stops by its own timers.
  const after: Timers['after'] = (ms, callback) =>
    (ms === 30_000 ? world : systemWorld).timers.after(ms, callback);
  const host = await serve({ bytesInFlight }, { after });
  const { port } = host.address;
  const silent = [await unread(port, request('GET', '/items/large'))];
  silent.push(await unread(port, request('GET', '/items/large')));
  // One timer for each answer that its client does not take.
  await vi.waitFor(() => expect(world.pendingTimers).toBe(2), PATIENCE_MS);
  const refused = await send(port, request('GET', '/items/large'));
  expectProblem(refused, 429, 'rate_limited');
  expect(refused.headers['retry-after']).toBe('1');
  expect((await send(port, request('GET', '/items/small'))).status).toBe(200);
  world.advance(30_000);
  await Promise.all(silent.map((socket) => once(socket.resume(), 'close')));
  expect((await send(port, request('GET', '/items/large'))).body).toHaveLength(large.length + 2);
  await host.stop();
});

test('bodies under way are bounded before the server reads them', async () => {
  const bytesInFlight = { perProcess: 64 * MiB, perCaller: MiB };
  const host = await serve({ bytesInFlight });
  const post = (length: number): string =>
    request('POST', path, ['Content-Type: application/json', `Content-Length: ${length}`]);
  const stopping = await RawConnection.open(host.address.port);
  stopping.write(post(900_000) + ' '.repeat(899_990));
  const { port } = host.address;
  await vi.waitFor(
    async () => expectProblem(await send(port, post(900_000)), 429, 'rate_limited'),
    PATIENCE_MS,
  );
  stopping.destroy();
  const whole = post(900_000) + JSON.stringify({ a: ' '.repeat(899_992) });
  await vi.waitFor(async () => expect((await send(port, whole)).status).toBe(200), PATIENCE_MS);
  await host.stop();
});

test('small JSON values count as the memory that they take', async () => {
  const bytesInFlight = { perProcess: 64 * MiB, perCaller: 24 * MiB };
  const host = await serve({ bytesInFlight });
  const body = `{"a":[${'[],'.repeat(290_000)}[]]}`;
  const post = request('POST', path, ['Content-Type: application/json'], body);
  // The request is admitted alone, and refused beside another large one.
  expect((await send(host.address.port, post)).status).toBe(200);
  const silent = await unread(host.address.port, request('GET', '/items/large'));
  await vi.waitFor(
    async () => expectProblem(await send(host.address.port, post), 429, 'rate_limited'),
    PATIENCE_MS,
  );
  silent.destroy();
  await host.stop();
});
