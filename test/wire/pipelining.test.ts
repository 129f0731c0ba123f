import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer } from '../../functions/http/answer.ts';
import { type NodeHost, serveNode } from '../../functions/http/host-node.ts';
import { echoChain, echoHandlers, Hold, systemWorld } from './fixture/echo.ts';
import { hosts, type WireHost } from './fixture/hosts.ts';
import { expectProblem, RawConnection, request, send } from './fixture/raw-client.ts';

/** Several requests on one connection, sent before the first answer is read. */

const path = '/canonical/tenants/t/echo';
const local = { host: '127.0.0.1', port: 0, world: systemWorld };
const json = 'Content-Type: application/json';
const get = (name: string): string => request('GET', `/items/${name}`);
const post = (body: string): string => request('POST', path, [json], body);

describe.each(hosts)('pipelining on $name', ({ start }) => {
  let host: WireHost;
  beforeAll(async () => {
    host = await start();
  });
  afterAll(() => host.stop());

  const bodiesOf = async (requests: readonly string[]): Promise<string[]> => {
    const connection = await RawConnection.open(host.port);
    connection.write(requests.join(''));
    const bodies: string[] = [];
    for (const _ of requests) bodies.push((await connection.answer()).body);
    connection.destroy();
    return bodies;
  };

  test('every read is answered, in order', async () => {
    const names = Array.from({ length: 100 }, (_, n) => `item-${n}`);
    const bodies = await bodiesOf(names.map(get));
    expect(bodies.map((body) => (JSON.parse(body) as { params: { itemId: string } }).params.itemId)).toEqual(
      names,
    );
  });

  test('every write is answered, also behind a refusal and with a body that comes in parts', async () => {
    const large = 'x'.repeat(900_000);
    const connection = await RawConnection.open(host.port);
    const parted = request('POST', path, [json, 'Content-Length: 7'], '{"n":3');
    connection.write(post('{"n":1}') + request('GET', '/unknown') + post(`{"n":"${large}"}`) + parted);
    expect(JSON.parse((await connection.answer()).body)).toMatchObject({ body: { n: 1 } });
    expectProblem(await connection.answer(), 404, 'route_not_found');
    expect(JSON.parse((await connection.answer()).body)).toMatchObject({ body: { n: large } });
    connection.write(`}${get('after')}`);
    expect(JSON.parse((await connection.answer()).body)).toMatchObject({ body: { n: 3 } });
    expect((await connection.answer()).status).toBe(200);
    connection.destroy();
  });

  test('malformed bytes behind a complete request do not cost it its answer', async () => {
    const connection = await RawConnection.open(host.port);
    connection.write(`${get('a')}${post('{"n":2}')}NONSENSE\r\n\r\n`);
    expect((await connection.answer()).status).toBe(200);
    expect(await connection.answer()).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await connection.closed();
  });

  test('a flood ends its connection, and others are answered', async () => {
    const flood = await RawConnection.open(host.port);
    flood.write(get('a').repeat(15_000));
    expect((await send(host.port, get('b'))).status).toBe(200);
    await flood.closed();
  });
});

describe('one request at a time', () => {
  const hold = new Hold();
  const seen: string[] = [];
  let host: NodeHost;
  beforeAll(async () => {
    const handlers = {
      ...echoHandlers(hold),
      getItem: ({ params }: { readonly params: { readonly itemId: string } }): Promise<Answer> => {
        seen.push(params.itemId);
        return Promise.resolve({ status: 200, body: {} });
      },
    };
    host = await serveNode(echoChain({ handlers }), local);
  });
  afterAll(() => host.stop());

  test('a second request is not processed before the first is answered', async () => {
    const connection = await RawConnection.open(host.address.port);
    connection.write(request('GET', '/hold') + get('behind'));
    await hold.entered;
    // A whole request of another connection takes longer than the parser with the rest of the chunk.
    await send(host.address.port, get('other'));
    expect(seen).toEqual(['other']);
    hold.release();
    expect(JSON.parse((await connection.answer()).body)).toEqual({ held: true });
    await connection.answer();
    expect(seen).toEqual(['other', 'behind']);
    connection.destroy();
  });

  test('requests that wait on a connection that closes are not processed, and a stop does not wait for them', async () => {
    const blocked = new Hold();
    let processed = 0;
    const count = (): Promise<Answer> => {
      processed += 1;
      return Promise.resolve({ status: 200, body: {} });
    };
    const handlers = { ...echoHandlers(blocked), getItem: count };
    const stopped = await serveNode(echoChain({ handlers }), { ...local, drainMs: 1 });
    const connection = await RawConnection.open(stopped.address.port);
    connection.write(request('GET', '/hold') + get('a') + get('b'));
    await blocked.entered;
    await stopped.stop();
    await connection.closed();
    expect(processed).toBe(0);
  });
});
