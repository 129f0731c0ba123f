import { describe, expect, test } from 'vitest';
import { echoChain } from '../../test/wire/fixture/echo.ts';
import { inject } from './host-inject.ts';
import { isLoopbackHost } from './loopback-host.ts';

const own = [
  'localhost',
  'localhost:5220',
  'LOCALHOST:80',
  'svc.localhost:5220',
  'a.b.localhost',
  '127.0.0.1',
  '127.0.0.1:5220',
  '127.255.0.9:1',
  '[::1]',
  '[::1]:5220',
];
const others = [
  '',
  'evil.example',
  'evil.example:5220',
  'localhost.evil.example',
  'evillocalhost',
  '127.0.0.1.evil.example',
  '127.0.0.1.nip.io',
  '127.1',
  '128.0.0.1',
  '0.0.0.0:5220',
  '192.168.0.7',
  '[::]',
  '[::ffff:127.0.0.1]',
  '::1',
  'localhost@evil.example',
  'evil.example#localhost',
  'localhost, evil.example',
  'localhost:x',
  '.localhost',
  'localhost..',
];

test.each(own)('%j is this machine', (host) => {
  expect(isLoopbackHost(host)).toBe(true);
});

test.each(others)('%j may be another', (host) => {
  expect(isLoopbackHost(host)).toBe(false);
});

describe('a chain that trusts every caller', () => {
  const get = (loopbackHostsOnly: boolean, host: string, path = '/canonical/tenants/t/echo/n') =>
    inject(echoChain({ loopbackHostsOnly }), { method: 'GET', path, headers: { host } });

  test('refuses a host that is not this machine, and names the remedy', async () => {
    for (const host of others.filter((each) => each !== '')) {
      const answer = await get(true, host);
      expect([answer.status, answer.json<{ code: string }>().code], host).toEqual([403, 'permission_denied']);
      expect(answer.body).toContain('Server:AllowRemoteDevelopment');
      expect(answer.body).not.toContain('evil');
    }
    for (const host of own) expect((await get(true, host)).status, host).toBe(200);
  });

  test('serves open routes and unknown paths under any host name', async () => {
    expect((await get(true, 'evil.example', '/')).status).toBe(200);
    expect((await get(true, 'evil.example', '/unknown')).status).toBe(404);
  });

  test('is the exception', async () => {
    expect((await get(false, 'evil.example')).status).toBe(200);
  });
});
