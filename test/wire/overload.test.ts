import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { loadOf, mayBeServedFirst } from '../../functions/compose/load-class.ts';
import type { Answer } from '../../functions/http/answer.ts';
import { createChain } from '../../functions/http/chain.ts';
import { type NodeHost, serveNode } from '../../functions/http/host-node.ts';
import { createSharedCapacity } from '../../functions/http/shared-capacity.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { echoHandlers, echoOptions, systemWorld } from './fixture/echo.ts';
import { expectProblem, RawConnection, request, send } from './fixture/raw-client.ts';

/** A server at whose places one address holds all that it may hold, and has a line of requests behind them. */

const path = '/canonical/tenants/t/echo';
const json = 'Content-Type: application/json';
const origin = 'https://app.example';
const post = (body: string, fields: readonly string[] = []) => request('POST', path, [json, ...fields], body);
const AT_WORK = 6;
const WAITING = 40;

let host: NodeHost;
let world: ManualWorld;
const echo = vi.fn<() => Promise<Answer>>();
let release: () => void;
let busy: RawConnection[];
/** Settles when `count` requests have come to the line in all. */
let entered: (count: number) => Promise<unknown>;

beforeEach(async () => {
  world = new ManualWorld();
  const released = Promise.withResolvers<void>();
  release = released.resolve;
  echo.mockReset().mockImplementation(async () => {
    await released.promise;
    return { status: 200, body: { done: true } };
  });
  const options = echoOptions({
    handlers: { ...echoHandlers(), echo },
    world,
    overload: { atWorkMax: 8, loadOf, mayBeServedFirst },
    cors: { allowedOrigins: [origin] },
  });
  const shared = createSharedCapacity(options);
  const enter = vi.spyOn(shared.line, 'enter');
  entered = (count) => vi.waitUntil(() => enter.mock.calls.length >= count, { timeout: 300_000 });
  host = await serveNode(createChain(options, shared), { host: '127.0.0.1', port: 0, world: systemWorld });
  busy = [];
  for (let n = 0; n < AT_WORK + WAITING; n++) {
    const connection = await RawConnection.open(host.address.port);
    connection.write(post('{}'));
    busy.push(connection);
  }
  await entered(AT_WORK + WAITING);
  // By now the line has noticed that none of them starts.
  world.advance(300);
});

afterEach(async () => {
  release();
  for (const connection of busy) connection.destroy();
  await host.stop();
});

const ask = (sent: string) => send(host.address.port, sent);

test('a further request of the address is refused at once, and its connection kept', async () => {
  const connection = await RawConnection.open(host.address.port);
  for (const sent of [
    request('GET', `${path}/name`, ['X-Correlation-ID: of-the-caller']),
    post('{"a":1}'),
    post(JSON.stringify('x'.repeat(20_000))),
    request('GET', `${path}/name`, [`Origin: ${origin}`]),
  ]) {
    connection.write(sent);
    const answer = await connection.answer();
    expectProblem(answer, 503, 'overloaded');
    expect(answer.headers['retry-after']).toMatch(/^[1-5]$/);
    expect(answer.headers['connection']).not.toBe('close');
    if (sent.includes('Correlation')) expect(answer.headers['x-correlation-id']).toBe('of-the-caller');
    if (sent.includes('Origin')) expect(answer.headers['access-control-allow-origin']).toBe(origin);
  }
  connection.write(request('HEAD', '/items/a'));
  expect((await connection.answer({ headOnly: true })).status).toBe(503);
  expect(echo).toHaveBeenCalledTimes(AT_WORK);
  connection.destroy();
});

test('requests that are sent before an answer is read are refused in their order', async () => {
  const connection = await RawConnection.open(host.address.port);
  const names = Array.from({ length: 50 }, (_, n) => `of-the-caller-${n}`);
  connection.write(
    names.map((name) => request('GET', `${path}/name`, [`X-Correlation-ID: ${name}`])).join(''),
  );
  for (const name of names) {
    const answer = await connection.answer();
    expect([answer.status, answer.headers['x-correlation-id']]).toEqual([503, name]);
  }
  connection.destroy();
});

test('the server judges the address that the proxy adds, however many fields there are', async () => {
  // Without a trusted proxy the fields are text of the caller.
  const fields = ['X-Forwarded-For: 127.0.0.9', 'X-Forwarded-For: 127.0.0.8'];
  expectProblem(await ask(request('GET', `${path}/name`, fields)), 503, 'overloaded');
});

test('another address is served', async () => {
  const other = await RawConnection.open(host.address.port, '127.0.0.2');
  other.write(post('{}'));
  await vi.waitUntil(() => echo.mock.calls.length > AT_WORK, { timeout: 300_000 });
  release();
  expect((await other.answer()).status).toBe(200);
  other.destroy();
});

test('all admitted requests are answered, and then new ones are admitted again', async () => {
  expectProblem(await ask(request('GET', `${path}/name`)), 503, 'overloaded');
  release();
  for (const connection of busy) expect((await connection.answer()).status).toBe(200);
  expect((await ask(post('{}'))).status).toBe(200);
});
