import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bodyLimitBytes } from './fixture/echo.ts';
import { hosts, type WireHost } from './fixture/hosts.ts';
import { expectProblem, RawConnection, request, send } from './fixture/raw-client.ts';

const path = '/canonical/tenants/t/echo';
const json = 'Content-Type: application/json';

function post(body: string | Uint8Array, headers: readonly string[] = []): Buffer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return Buffer.concat([
    Buffer.from(request('POST', path, [json, `Content-Length: ${bytes.length}`, ...headers])),
    bytes,
  ]);
}

const refused: readonly (readonly [id: string, what: string, body: string | Uint8Array])[] = [
  ['G01', '65 levels', '['.repeat(65) + ']'.repeat(65)],
  ['G01', '65 levels of objects', '{"a":'.repeat(65) + '1' + '}'.repeat(65)],
  ['G01', 'half a million levels', '['.repeat(500_000)],
  ['G02', '200,001 members in bounds of size', `{${'"":0,'.repeat(200_000)}"":0}`],
  ['G04', 'a member twice', '{"a":1,"a":2}'],
  ['G04', 'a member twice in another spelling', '{"a":1,"\\u0061":2}'],
  ['G04', 'a member twice deep inside', '{"x":[{"y":{"a":{"b":1},"a":{"b":1}}}]}'],
  ['G05', '__proto__', '{"__proto__":{"polluted":true}}'],
  ['G05', '__proto__ in another spelling', '{"\\u005f_proto__":{"polluted":true}}'],
  ['G05', '__proto__ deep inside', '{"a":[{"b":{"__proto__":1}}]}'],
  ['G06', 'a number that overflows', '{"a":1e400}'],
  ['G06', 'a negative number that overflows', '{"a":-1e400}'],
  ['G06', '2^53 + 1', '{"a":9007199254740993}'],
  ['G06', '-(2^53 + 1)', '{"a":-9007199254740993}'],
  ['G06', '21 digits that a double rounds', '{"a":100000000000000000001}'],
  ['G06', '2^53 + 1 with a fraction', '{"a":9007199254740993.0}'],
  ['G06', '19 digits that a double rounds', '{"a":0.1234567890123456789}'],
  ['G06', 'a number that a double makes zero', '{"a":1e-400}'],
  ['G06', '400 digits', `{"a":${'9'.repeat(400)}}`],
  ['G07', 'a byte order mark', '\ufeff{}'],
  ['G07', 'UTF-16', Buffer.from('{"a":1}', 'utf16le')],
  ['G07', 'invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ['G07', 'overlong UTF-8', Buffer.from([0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d])],
  ['G08', 'NaN', '{"a":NaN}'],
  ['G08', 'Infinity', '{"a":-Infinity}'],
  ['G08', 'a comment', '{"a":1/*b*/}'],
  ['G08', 'a trailing comma', '{"a":1,}'],
  ['G08', 'trailing data', '{} x'],
  ['G08', 'two documents', '{}{}'],
  ['G08', 'single quotes', "{'a':1}"],
  ['G08', 'an unclosed string', '{"a":"'],
  ['G09', 'an escaped high surrogate alone', '{"a":"\\ud800"}'],
  ['G09', 'an escaped low surrogate alone', '{"a":"\\udc00"}'],
  ['G09', 'surrogates in the wrong order', '{"a":"\\udc00\\ud800"}'],
  ['G09', 'a lone surrogate in a name', '{"\\ud800":1}'],
  ['G09', 'a surrogate in raw bytes', Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d])],
  ['G12', 'an array', '[]'],
  ['G12', 'a string', '"a"'],
  ['G12', 'null', 'null'],
  ['G12', 'a number', '1'],
];

describe.each(hosts)('JSON on $name', ({ start }) => {
  let host: WireHost;
  beforeAll(async () => {
    host = await start();
  });
  afterAll(() => host.stop());

  test.each(refused)('%s: %s is refused', async (_id, _what, body) => {
    expectProblem(await send(host.port, post(body)), 400);
  });

  test('G01: a nest of 10 MB is refused by its length', async () => {
    const connection = await RawConnection.open(host.port);
    connection.write(post('['.repeat(10 * 1024 * 1024)));
    expectProblem(await connection.answer(), 413, 'payload_too_large');
    connection.destroy();
  });

  test('G02: an empty body is refused where one is needed', async () => {
    const needing = '/canonical/tenants/t/events/e/ack';
    expectProblem(await send(host.port, request('POST', needing, [json])), 400, 'malformed_request');
  });

  test('an empty body stands for {} where every member is optional', async () => {
    const answer = await send(host.port, request('POST', path));
    expect(answer.status, answer.body).toBe(200);
    expect(JSON.parse(answer.body)).toMatchObject({ body: { tenantId: 't' } });
  });

  test('G03: one very long string within the cap is read', async () => {
    const answer = await send(host.port, post(`{"a":"${'x'.repeat(bodyLimitBytes - 100)}"}`));
    expect(answer.status).toBe(200);
  });

  test('G05: constructor and prototype are names like others', async () => {
    const answer = await send(host.port, post('{"constructor":{"prototype":{"polluted":true}}}'));
    expect(JSON.parse(answer.body)).toMatchObject({
      body: { constructor: { prototype: { polluted: true } } },
    });
  });

  test('G06: -0, small exponents and the largest exact integers are read', async () => {
    const answer = await send(
      host.port,
      post('{"a":[-0,1e2,9007199254740991,-9007199254740991,1.5e300,5e-324]}'),
    );
    expect(JSON.parse(answer.body)).toMatchObject({
      body: { a: [0, 100, 2 ** 53 - 1, 1 - 2 ** 53, 1.5e300, 5e-324] },
    });
  });

  test('G09: surrogates in pairs are read', async () => {
    const answer = await send(host.port, post('{"a":"\\ud83d\\ude00 😀"}'));
    expect(JSON.parse(answer.body)).toMatchObject({ body: { a: '😀 😀' } });
  });

  test('G11: names that collide in a hash table are read', async () => {
    const names = Array.from({ length: 60_000 }, (_, n) => `"${n * 2 ** 20}":0`);
    expect((await send(host.port, post(`{${names.join(',')}}`))).status).toBe(200);
  });

  test('a compressed bomb is never inflated', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024));
    expectProblem(
      await send(host.port, post(bomb, ['Content-Encoding: gzip'])),
      415,
      'unsupported_media_type',
    );
  });

  test.each([
    ['tenantId', '/canonical/tenants/t/echo', '{"tenantId":"other"}'],
    ['eventId', '/canonical/tenants/t/events/e%3A1/ack', '{"eventId":"other"}'],
  ])('D02: a body whose %s is not that of the route is refused', async (_name, target, body) => {
    expectProblem(await send(host.port, request('POST', target, [json], body)), 400, 'tenant_mismatch');
  });
});
