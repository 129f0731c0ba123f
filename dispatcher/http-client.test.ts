import { describe, expect, test } from 'vitest';
import { ManualWorld } from '../test/support/manual-world.ts';
import { OutboxCallError } from './client.ts';
import { HttpOutboxClient, type HttpOutboxClientOptions, type OutgoingHttp } from './http-client.ts';
import { vectors } from './vectors.fixture.ts';

const hold = { tenantId: 'acme', eventId: 'tx:000', leaseToken: 'secret' };
const request = { tenantId: 'acme', consumerId: 'c', maxItems: 2, leaseSeconds: 30, waitSeconds: 20 };

/** A client whose calls the test answers. */
function staged(answer: () => Response | Promise<Response>, options: Partial<HttpOutboxClientOptions> = {}) {
  const world = new ManualWorld();
  const sent: { url: string; init: Parameters<OutgoingHttp>[1] }[] = [];
  const client = new HttpOutboxClient({
    address: 'https://svc.example.com/base/',
    world: world.timers,
    fetch: async (url, init) => {
      sent.push({ url, init });
      const aborted = new Promise<never>((_, reject) => {
        const fail = () => reject(init.signal.reason as Error);
        if (init.signal.aborted) fail();
        init.signal.addEventListener('abort', fail);
      });
      return Promise.race([answer(), aborted]);
    },
    ...options,
  });
  return { client, world, sent };
}

const never = () => new Promise<Response>(() => {});
const signal = new AbortController().signal;
const failing = async (call: Promise<unknown>): Promise<OutboxCallError> => {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(OutboxCallError);
  return error as OutboxCallError;
};

describe('the outbox over HTTP', () => {
  test('is asked on the routes of the contract, with headers that are fetched for each call', async () => {
    let token = 0;
    const { client, sent } = staged(() => new Response(null, { status: 204 }), {
      headers: () => Promise.resolve({ authorization: `Bearer ${++token}` }),
    });
    await client.renew(hold, 30, { signal });
    await client.acknowledge(hold, { signal });
    await client.release(hold, { retryAfterSeconds: 2, error: 'no' }, { signal });
    const base = 'https://svc.example.com/base/canonical/tenants/acme/outbox';
    expect(sent.map(({ url, init }) => [url, init.body, init.headers, init.redirect, init.method])).toEqual(
      [
        ['renew', '{"leaseToken":"secret","leaseSeconds":30}'],
        ['ack', '{"leaseToken":"secret"}'],
        ['nack', '{"leaseToken":"secret","retryAfterSeconds":2,"error":"no"}'],
      ].map(([verb, body], n) => [
        `${base}/tx%3A000/${verb}`,
        body,
        { authorization: `Bearer ${n + 1}`, 'content-type': 'application/json' },
        'manual',
        'POST',
      ]),
    );
  });

  test('gives the leases of an answer, and takes no other answer for one', async () => {
    const leases = [{ event: { id: 'e' }, leaseToken: 't' }];
    const { client, sent } = staged(() => Response.json(leases));
    expect(await client.lease(request, { signal })).toEqual(leases);
    expect(JSON.parse(sent[0]?.init.body ?? '')).toEqual({
      consumerId: 'c',
      maxItems: 2,
      leaseSeconds: 30,
      waitSeconds: 20,
    });
    for (const body of ['<html>', '{}', '']) {
      const odd = staged(() => new Response(body)).client;
      expect(await failing(odd.lease(request, { signal }))).toMatchObject({ failure: 'transient' });
    }
  });

  test('has the name of the address that the other clients have, and its own former one', async () => {
    for (const options of [
      { baseUrl: 'https://a.example/b', address: 'https://old.example' },
      { address: 'https://a.example/b/' },
    ]) {
      const sent: string[] = [];
      const fetch: OutgoingHttp = async (url) => {
        sent.push(url);
        return new Response(null, { status: 204 });
      };
      await new HttpOutboxClient({ ...options, fetch }).acknowledge(hold, { signal });
      expect(sent).toEqual(['https://a.example/b/canonical/tenants/acme/outbox/tx%3A000/ack']);
    }
    expect(() => new HttpOutboxClient({})).toThrow(RangeError);
  });

  test('reads no more of an answer than its limit', async () => {
    let pieces = 0;
    const endless = () =>
      new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            pieces += 1;
            controller.enqueue(new Uint8Array(1000).fill(0x20));
          },
        },
        { highWaterMark: 0 },
      );
    const { client } = staged(() => new Response(endless()), { maxResponseBytes: 5000 });
    const error = await failing(client.lease(request, { signal }));
    expect(error).toMatchObject({ failure: 'transient', message: 'the answer is longer than 5000 bytes' });
    expect(pieces).toBe(6);
  });

  test.each([...vectors.failures, { status: 302, code: null, failure: 'refused' }])(
    'classifies $status $code as $failure',
    async ({ status, code, failure }) => {
      const body = code === null ? 'Service Unavailable' : JSON.stringify({ code });
      const { client } = staged(() => new Response(body, { status }));
      const error = await failing(client.acknowledge(hold, { signal }));
      expect(error).toMatchObject({ failure, code, retryAfterMs: null });
      expect(JSON.stringify([error.message, error.stack])).not.toContain('secret');
    },
  );

  test.each([
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': '99999999' }, 3_600_000],
    [{ 'retry-after': 'Fri, 02 Jan 2026 00:00:30 GMT', date: 'Fri, 02 Jan 2026 00:00:10 GMT' }, 20_000],
    [{ 'retry-after': 'Fri, 02 Jan 2026 00:00:30 GMT' }, null],
    [{ 'retry-after': 'soon' }, null],
  ])('reads %o', async (headers, retryAfterMs) => {
    const { client } = staged(() => new Response('', { status: 503, headers }));
    expect(await failing(client.acknowledge(hold, { signal }))).toMatchObject({ retryAfterMs });
  });

  test('gives a call up after its time, a lease call after what it waits on top, and leaves no timer', async () => {
    const { client, world } = staged(never, { timeoutMs: 5000 });
    const ended: string[] = [];
    const calls = [
      failing(client.acknowledge(hold, { signal })).then(() => ended.push('ack')),
      failing(client.lease(request, { signal })).then(() => ended.push('lease')),
    ];
    await new Promise(setImmediate);
    world.advance(4999);
    await new Promise(setImmediate);
    expect(ended).toEqual([]);
    world.advance(1);
    await calls[0];
    expect(ended).toEqual(['ack']);
    world.advance(19_999);
    await new Promise(setImmediate);
    expect(ended).toEqual(['ack']);
    world.advance(1);
    await Promise.all(calls);
    expect(world.pendingTimers).toBe(0);
  });

  test('ends a call with its signal, and takes a broken connection for something that passes', async () => {
    const controller = new AbortController();
    const { client, world } = staged(never);
    const call = failing(client.lease(request, { signal: controller.signal }));
    controller.abort();
    expect(await call).toMatchObject({ failure: 'transient' });
    expect(world.pendingTimers).toBe(0);
    const broken = staged(() => Promise.reject(new TypeError('fetch failed'))).client;
    expect(await failing(broken.renew(hold, 1, { signal }))).toMatchObject({ failure: 'transient' });
  });
});
