import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { InjectedRequest } from '../../functions/http/host-inject.ts';
import { grantSettings } from '../support/issued-service.ts';
import { type RunningService, startService } from '../support/service.ts';
import { lineFault } from './log-lines.ts';

const poisons: readonly (readonly [what: string, text: string])[] = [
  ['CR LF and a line of its own', 'a\r\n{"severity":"ERROR","message":"forged"}'],
  ['LF', 'a\nb'],
  ['ANSI escapes', '\u001b[2J\u001b[31mred\u001b]0;title\u0007'],
  ['C1 controls', '\u0085\u009b31m'],
  ['U+2028 and U+2029', 'a\u2028b\u2029c'],
  ['NUL', 'a\u0000b'],
  ['a JSON fragment', '","severity":"ERROR","message":"forged'],
  ['a JSON object', '{"severity":"ERROR"}'],
  ['a lone surrogate', 'a\ud800b'],
  ['a right-to-left override', '\u202egpj.exe'],
  ['a percent-encoded line end', '%0d%0aSet-Cookie:%20a=b'],
  ['a format of a logger', '%s%n${jndi:ldap://x/y}'],
  ['1 MB', 'a'.repeat(1024 * 1024)],
  ['1 MB of what grows when it is escaped', '\u0001'.repeat(1024 * 1024)],
];

const path = '/canonical/tenants/t/outbox/query';
const post = { method: 'POST', path, body: {} };

/** Every place of a request that a caller chooses. */
const places: readonly (readonly [where: string, request: (text: string) => InjectedRequest])[] = [
  ['the method', (text) => ({ ...post, method: text })],
  ['the path', (text) => ({ ...post, path: `/${text}` })],
  ['a parameter of the path', (text) => ({ ...post, path: `/canonical/tenants/${text}/outbox/query` })],
  [
    'an encoded parameter',
    (text) => ({
      ...post,
      path: `/canonical/tenants/${encodeURIComponent(text.slice(0, 99).toWellFormed())}/outbox/query`,
    }),
  ],
  ['the target', (text) => ({ ...post, path: text })],
  ['the query', (text) => ({ ...post, path: `${path}?${text}=${text}` })],
  ['the body', (text) => ({ ...post, body: text })],
  ['a member of the body', (text) => ({ ...post, body: { topic: text, [text]: text } })],
  ['the address of the connection', (text) => ({ ...post, socketAddress: text })],
  ['the name of a header', (text) => ({ ...post, headers: [[text, 'a']] })],
  ...[
    'X-Correlation-ID',
    'X-Request-ID',
    'traceparent',
    'User-Agent',
    'Host',
    'X-Forwarded-For',
    'Forwarded',
    'Referer',
    'Origin',
    'Content-Type',
    'Content-Length',
    'Authorization',
    'X-Serverless-Authorization',
    'X-Svc-Api-Key',
    'X-Svc-Development-Identity',
    'Idempotency-Key',
    'X-Goog-Authenticated-User-Email',
  ].map(
    (name) => [`the header ${name}`, (text: string) => ({ ...post, headers: { [name]: text } })] as const,
  ),
];

describe('J03: text of a caller does not become a line of the log', () => {
  let services: readonly RunningService[];
  beforeAll(async () => {
    // The address is believed from a header, and the principal from another: both come into the log.
    const loud = { 'Server:LogLevel': 'debug', 'Server:TrustedProxyHops': '1' };
    const named = { 'Server:CanonicalAccess:AuthenticationMode': 'development-header' };
    const grants = grantSettings([{ principal: 'somebody', tenants: ['*'], operations: ['dispatch'] }]);
    services = [
      await startService({ settings: loud }),
      await startService({ settings: { ...loud, ...named, ...grants } }),
    ];
  });
  afterAll(async () => {
    for (const service of services) await service.close();
  });

  test.each(places)('in %s', async (_, request) => {
    for (const service of services) {
      for (const [what, text] of poisons) {
        service.lines.length = 0;
        const { status } = await service.call(request(text));
        expect(status, what).toBeLessThan(500);
        expect(service.lines, what).toHaveLength(1);
        expect(lineFault(service.lines[0] ?? ''), what).toBeNull();
      }
    }
  });

  test('names and addresses that are sound do come into it', async () => {
    const [, named] = services;
    const headers = { 'X-Forwarded-For': '192.0.2.7', 'X-Svc-Development-Identity': 'somebody' };
    if (named === undefined) throw new Error('there is no service with principals');
    named.lines.length = 0;
    expect((await named.call({ ...post, headers })).status).toBe(200);
    expect(JSON.parse(named.lines[0] ?? '')).toMatchObject({
      principal: 'somebody',
      sourceAddress: '192.0.2.7',
    });
  });

  test.each([
    ['is too long', `{"severity":"INFO","message":"${'a'.repeat(9_000)}"}`],
    ['holds a control character', '{"severity":"INFO"\n}'],
    ['holds a control character', '{"severity":"INFO","message":"\u2028"}'],
    ['is no JSON', 'a request was answered'],
    ['is no object', '[]'],
    ['has the member path', '{"severity":"INFO","message":"a request was answered","path":"/"}'],
    ['has a status of another type', '{"severity":"INFO","message":"a request was answered","status":"200"}'],
    ['has message twice', '{"severity":"INFO","message":"forged","message":"a request was answered"}'],
    ['has a severity that is none', '{"severity":"OK","message":"a request was answered"}'],
    ['says what we do not say', '{"severity":"INFO","message":"forged"}'],
  ])('a line that %s is found', (fault, line) => {
    expect(lineFault(line)).toBe(fault);
  });
});
