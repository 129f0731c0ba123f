import { expect, test } from 'vitest';
import type { RecordStore } from '../../functions/store/port.ts';
import { startService } from '../support/service.ts';

/** Callers without a credential: a stranger who floods, and the page of a stranger in a browser of this machine. */

test('the anonymous routes are counted together for each address, and health is always answered', async () => {
  const service = await startService({
    settings: { 'Server:PublicRateLimit:PermitLimit': '3', 'Docs:Enabled': 'true' },
  });
  const get = async (path: string, socketAddress = '192.0.2.1') =>
    (await service.call({ method: 'GET', path, socketAddress })).status;
  expect([await get('/docs/search?q=commit'), await get('/'), await get('/openapi/svc.json')]).toEqual([
    200, 200, 200,
  ]);
  for (const path of ['/openapi/svc.json', '/readiness', '/docs', '/docs/search?q=commit', '/'])
    expect(await get(path), path).toBe(429);
  expect(await get('/health')).toBe(200);
  expect(await get('/openapi/svc.json', '192.0.2.2')).toBe(200);
  await service.close();
});

test('a large document takes permits for its size, and one that the caller has takes one', async () => {
  const service = await startService({ settings: { 'Server:PublicRateLimit:PermitLimit': '100' } });
  const get = async (headers: Record<string, string> = {}) => {
    const { headers: fields } = await service.call({ method: 'GET', path: '/openapi/svc.json', headers });
    return { left: Number(/r=(\d+)/.exec(fields['ratelimit'] ?? '')?.[1]), etag: fields['etag'] ?? '' };
  };
  const { left: first, etag } = await get();
  const { left: second } = await get({ 'If-None-Match': etag });
  const { left: third } = await get({ 'If-None-Match': etag });
  // The permits for the size of a document are taken once it is known.
  expect(first).toBe(99);
  expect(second).toBeLessThan(first - 2);
  expect(third).toBe(second - 1);
  await service.close();
});

test('execution requests are counted for each address before the store is asked', async () => {
  let reads = 0;
  const watchStore = (store: RecordStore): RecordStore =>
    new Proxy(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        return (...given: unknown[]): unknown => {
          reads += 1;
          return Reflect.apply(member, target, given);
        };
      },
    });
  const service = await startService({
    settings: { 'Server:ExecutionRateLimit:PermitLimit': '2' },
    watchStore,
  });
  const list = () => service.call({ method: 'GET', path: '/execution/runs' });
  await list();
  await list();
  const before = reads;
  const refused = await list();
  expect([refused.status, refused.json<{ code: string }>().code, reads]).toEqual([
    429,
    'rate_limited',
    before,
  ]);
  await service.close();
});

test('the contract has one tag, and is not sent again to a caller that has it', async () => {
  const service = await startService();
  for (const path of ['/openapi/svc.json', '/contracts/schemas/svc-public.schema.json', '/docs/guides']) {
    const first = await service.call({ method: 'GET', path });
    expect([first.status, first.headers['etag']], path).toEqual([
      200,
      expect.stringMatching(/^"[\w-]{27}"$/),
    ]);
    const again = await service.call({
      method: 'GET',
      path,
      headers: { 'If-None-Match': first.headers['etag'] ?? '' },
    });
    expect([again.status, again.body], path).toEqual([304, '']);
  }
  await service.close();
});

test('a page of another origin replays, reconciles and prunes nothing in Development', async () => {
  const service = await startService();
  const stranger = [{ Origin: 'https://evil.example' }, { 'Sec-Fetch-Site': 'cross-site' }];
  for (const path of [
    '/canonical/tenants/t/outbox/e/replay',
    '/execution/runtime/maintenance/reconcile',
    '/execution/runtime/maintenance/prune',
  ]) {
    for (const headers of stranger) {
      // As a page sends it with `no-cors`: it needs no preflight.
      const sent = { method: 'POST', path, headers: { ...headers, 'Content-Type': 'text/plain' } };
      const refused = await service.call(sent);
      expect([refused.status, refused.json<{ code: string }>().code], path).toEqual([
        403,
        'permission_denied',
      ]);
    }
    expect((await service.call({ method: 'POST', path, body: {} })).status, path).not.toBe(403);
  }
  await service.close();
});
