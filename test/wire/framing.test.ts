import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bodyLimitBytes } from './fixture/echo.ts';
import { hosts, type WireHost } from './fixture/hosts.ts';
import { expectProblem, RawConnection, request, send } from './fixture/raw-client.ts';

const path = '/canonical/tenants/t/echo';
const json = 'Content-Type: application/json';
const post = (headers: readonly string[], body = '{}'): string =>
  request('POST', path, [json, ...headers], body);

describe.each(hosts)('HTTP on $name', ({ start }) => {
  let host: WireHost;
  beforeAll(async () => {
    host = await start();
  });
  afterAll(() => host.stop());

  test('a good request is answered', async () => {
    const answer = await send(host.port, post([], '{"a":[1,null]}'));
    expect(answer.status, answer.body).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(JSON.parse(answer.body)).toEqual({
      params: { tenantId: 't' },
      query: {},
      body: { a: [1, null], tenantId: 't' },
    });
  });

  test('two requests go over one connection, the second after a refusal', async () => {
    const connection = await RawConnection.open(host.port);
    connection.write(post([], '{'));
    expectProblem(await connection.answer(), 400, 'malformed_request');
    connection.write(post([], '{"n":1}'));
    expect((await connection.answer()).status).toBe(200);
    connection.destroy();
  });

  /** The text as a body with each byte in a chunk of its own. */
  const oneByteChunks = (text: string) => `${text.replaceAll(/./g, (byte) => `1\r\n${byte}\r\n`)}0\r\n\r\n`;
  const postInBytes = (text: string) => `${post(['Transfer-Encoding: chunked'], '')}${oneByteChunks(text)}`;

  test('a body in chunks of one byte is read, as far as its pieces are few', async () => {
    const answer = await send(host.port, postInBytes(JSON.stringify({ a: 'x'.repeat(1_000) })));
    expect(answer.status, answer.body).toBe(200);
  });

  test('a body in more pieces than its bytes are worth is refused, and its connection closed', async () => {
    const connection = await RawConnection.open(host.port);
    connection.write(postInBytes(JSON.stringify({ a: 'x'.repeat(50_000) })));
    const answer = await connection.answer();
    expectProblem(answer, 400, 'malformed_request');
    expect(answer.body).toContain('too many small pieces');
    await connection.closed();
    connection.destroy();
  });

  test('an unread body in tiny pieces behind a refusal is not read to its end', async () => {
    const connection = await RawConnection.open(host.port);
    connection.write(
      `${request('POST', '/nowhere', ['Transfer-Encoding: chunked'], '')}${oneByteChunks('x'.repeat(50_000))}`,
    );
    expectProblem(await connection.answer(), 404, 'route_not_found');
    await connection.closed();
    connection.destroy();
  });

  test.each([
    ['a length and chunks', 'Content-Length: 2\r\nTransfer-Encoding: chunked'],
    ['two lengths', 'Content-Length: 2\r\nContent-Length: 2'],
    ['two different lengths', 'Content-Length: 2\r\nContent-Length: 3'],
    ['a negative length', 'Content-Length: -1'],
    ['a length with a plus sign', 'Content-Length: +2'],
    ['a folded field', 'X-Fold: a\r\n b\r\nContent-Length: 2'],
    ['a space before the colon', 'Content-Length : 2'],
    ['NUL in a value', 'X-Nul: a\0b\r\nContent-Length: 2'],
    ['chunked that is not last', 'Transfer-Encoding: chunked, identity'],
  ])('F01: %s is refused', async (_what, fields) => {
    const answer = await send(
      host.port,
      `POST ${path} HTTP/1.1\r\nHost: test\r\n${json}\r\n${fields}\r\n\r\n{}`,
    );
    expectProblem(answer, 400, 'malformed_request');
  });

  const next = request('GET', '/items/next');
  const chunkedBody = '2\r\n{}\r\n0\r\n\r\n';

  test.each([
    ['a body', `POST ${path} HTTP/1.0\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n${chunkedBody}`],
    ['no body', 'GET /items/a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    [
      'a length too',
      `POST ${path} HTTP/1.0\r\n${json}\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n${chunkedBody}`,
    ],
    [
      'a connection that is kept',
      `POST ${path} HTTP/1.0\r\nConnection: keep-alive\r\n${json}\r\ntransfer-encoding: Chunked\r\n\r\n${chunkedBody}`,
    ],
    [
      'an unknown path',
      `POST /unknown HTTP/1.0\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n${chunkedBody}`,
    ],
  ])('F01: HTTP/1.0 in chunks, with %s, is refused, and its connection closed', async (_what, bytes) => {
    const connection = await RawConnection.open(host.port);
    connection.write(bytes + next);
    const answer = await connection.answer();
    expectProblem(answer, 400, 'malformed_request');
    expect(answer.headers['connection']).toBe('close');
    await expect(connection.answer()).rejects.toThrow('closed without an answer, after ""');
    connection.destroy();
  });

  const upgrade = ['Connection: keep-alive, Upgrade', 'Upgrade: websocket'];
  test.each([
    ['a read', request('GET', '/items/a', upgrade)],
    ['a body with its length', request('POST', path, [json, ...upgrade], '{}')],
    [
      'a body in chunks',
      request('POST', path, [json, ...upgrade, 'Transfer-Encoding: chunked']) + chunkedBody,
    ],
    [
      'a body that is waited for',
      request('POST', path, [json, ...upgrade, 'Content-Length: 2', 'Expect: 100-continue']) + '{}',
    ],
    ['a kept connection of HTTP/1.0', `GET /items/a HTTP/1.0\r\n${upgrade.join('\r\n')}\r\n\r\n`],
  ])('F12: %s that asks to upgrade is answered, and its connection closed', async (_what, bytes) => {
    const connection = await RawConnection.open(host.port);
    connection.write(next + bytes + next);
    expect((await connection.answer()).body).toContain('next');
    const answer = await connection.answer();
    expect(answer.status).toBe(200);
    expect(answer.headers['connection']).toBe('close');
    await expect(connection.answer()).rejects.toThrow('closed without an answer, after ""');
    connection.destroy();
  });

  test('F12: a field Upgrade that the connection does not name upgrades nothing', async () => {
    const connection = await RawConnection.open(host.port);
    connection.write(request('GET', '/items/a', ['Upgrade: websocket']) + next);
    expect((await connection.answer()).status).toBe(200);
    expect((await connection.answer()).body).toContain('next');
    connection.destroy();
  });

  test.each([
    ['a bare line feed', `GET /items/a HTTP/1.1\nHost: test\n\n`],
    ['no Host', `GET /items/a HTTP/1.1\r\n\r\n`],
    ['a wrong version', `GET /items/a HTTP/3.7\r\nHost: test\r\n\r\n`],
    ['no HTTP at all', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
    ['the HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    [
      'a broken chunk',
      `POST ${path} HTTP/1.1\r\nHost: test\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n`,
    ],
  ])('F01: %s is refused', async (_what, bytes) => {
    expectProblem(await send(host.port, bytes), 400, 'malformed_request');
  });

  test.each([
    ['Authorization', 'Bearer a'],
    ['X-Serverless-Authorization', 'Bearer a'],
    ['X-Svc-Api-Key', 'a'],
    ['Host', 'other'],
    ['Content-Type', 'application/json'],
    ['Idempotency-Key', 'a'],
    ['Mcp-Name', 'a'],
    ['Mcp-Param-Tenant', 'a'],
  ])('F02: %s twice is refused', async (name, value) => {
    const field = `${name}: ${value}`;
    expectProblem(await send(host.port, post([field, field.toLowerCase()])), 400, 'malformed_request');
  });

  test.each([
    ['Transfer-Encoding: xchunked', ''],
    ['Transfer-Encoding: gzip, chunked', '0\r\n\r\n'],
    ['Content-Encoding: gzip', '{}'],
    ['Content-Encoding: deflate', '{}'],
    ['Content-Encoding: br', '{}'],
    ['Content-Encoding: identity, gzip', '{}'],
  ])('F03: %s is refused', async (field, body) => {
    expectProblem(await send(host.port, post([field], body)), 415, 'unsupported_media_type');
  });

  test('F03: the identity coding is no coding', async () => {
    expect((await send(host.port, post(['Content-Encoding: identity']))).status).toBe(200);
  });

  test('F04: a body that is declared too large is refused before it is read, and the connection closed', async () => {
    const connection = await RawConnection.open(host.port);
    connection.write(request('POST', path, [json, `Content-Length: ${bodyLimitBytes + 1}`]));
    const answer = await connection.answer();
    expectProblem(answer, 413, 'payload_too_large');
    expect(answer.headers['connection']).toBe('close');
    await connection.closed();
  });

  test('F04: a body in chunks is refused when it grows too large, and the connection closed', async () => {
    const connection = await RawConnection.open(host.port);
    connection.write(request('POST', path, [json, 'Transfer-Encoding: chunked']));
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`;
    for (let sent = 0; sent <= bodyLimitBytes; sent += 65_536) connection.write(chunk);
    const answer = await connection.answer();
    expectProblem(answer, 413, 'payload_too_large');
    expect(answer.headers['connection']).toBe('close');
    await connection.closed();
  });

  test('F04: who is still sending is not reset before the answer can be read', async () => {
    const connection = await RawConnection.open(host.port);
    connection.write(request('POST', path, [json, `Content-Length: ${bodyLimitBytes + 1}`]));
    expectProblem(await connection.answer(), 413);
    connection.write(' '.repeat(bodyLimitBytes + 1));
    expect(await connection.gone).toBe(false);
  });

  test('F04: a body of exactly the cap is read', async () => {
    const body = `{"a":"${' '.repeat(bodyLimitBytes - 8)}"}`;
    expect((await send(host.port, post([], body))).status).toBe(200);
  });

  test('F07: 101 header fields are too many', async () => {
    const fields = Array.from({ length: 100 }, (_, n) => `X-${n}: a`);
    expectProblem(await send(host.port, request('GET', '/items/a', fields)), 431, 'headers_too_large');
    expect((await send(host.port, request('GET', '/items/a', fields.slice(1)))).status).toBe(200);
  });

  test.each([13 * 1024, 100 * 1024])('F07: header fields of %i bytes are too large', async (bytes) => {
    expectProblem(await send(host.port, request('GET', '/items/a', [`X-Big: ${'a'.repeat(bytes)}`])), 431);
  });

  test('F08: who waits for 100 Continue is refused before the body', async () => {
    const connection = await RawConnection.open(host.port);
    connection.write(
      request('POST', path, [json, 'Expect: 100-continue', `Content-Length: ${bodyLimitBytes + 1}`]),
    );
    const answer = await connection.answer();
    expectProblem(answer, 413, 'payload_too_large');
    expect(answer.interim).toEqual([]);
    await connection.closed();
  });

  test('F08: who waits for 100 Continue with a good body gets it', async () => {
    const connection = await RawConnection.open(host.port);
    connection.write(request('POST', path, [json, 'Expect: 100-continue', 'Content-Length: 2']));
    connection.write('{}');
    const answer = await connection.answer();
    expect(answer).toMatchObject({ status: 200, interim: [100] });
    connection.destroy();
  });

  test.each(['TRACE', 'PROPFIND', 'OPTIONS', 'PUT', 'MADEUP', 'get'])(
    'F09: %s is not allowed',
    async (method) => {
      const answer = await send(host.port, request(method, '/items/a'));
      expectProblem(answer, 405, 'method_not_allowed');
      expect(answer.headers['allow']).toBe('DELETE, GET');
    },
  );

  test('F09: HEAD is not allowed', async () => {
    const connection = await RawConnection.open(host.port);
    connection.write(request('HEAD', '/items/a'));
    const answer = await connection.answer({ headOnly: true });
    expect(answer).toMatchObject({ status: 405, headers: { allow: 'DELETE, GET' } });
    connection.destroy();
  });

  test.each([
    ['CONNECT', 'evil.example:443'],
    ['OPTIONS', '*'],
  ])('F09: %s %s is not allowed', async (method, target) => {
    const answer = await send(host.port, request(method, target));
    expectProblem(answer, 405, 'method_not_allowed');
    expect(answer.headers['allow']).toBe('DELETE, GET, POST, PUT');
  });

  test('F10: a method override changes nothing', async () => {
    const fields = ['X-HTTP-Method-Override: DELETE', 'X-HTTP-Method: DELETE', 'X-Method-Override: DELETE'];
    const answer = await send(host.port, request('GET', '/items/a', fields));
    expect(JSON.parse(answer.body)).toMatchObject({ query: { limit: 100 } });
  });

  test('F11: forwarded hosts appear in no answer', async () => {
    const fields = [
      'X-Forwarded-Host: evil.example',
      'X-Forwarded-Proto: gopher',
      'Forwarded: host=evil.example',
    ];
    const answer = await send(host.port, request('GET', '/unknown', fields));
    expectProblem(answer, 404, 'route_not_found');
    expect(JSON.stringify(answer)).not.toMatch(/evil|gopher/);
  });

  test('F12: range, upgrade and h2c fields are ignored', async () => {
    const fields = [
      'Range: bytes=0-1',
      'Connection: Upgrade, HTTP2-Settings',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABk',
    ];
    const answer = await send(host.port, request('GET', '/items/a', fields));
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toMatchObject({ params: { itemId: 'a' } });
  });

  test.each([
    ['text/plain', []],
    ['no content type', null],
    ['application/json; charset=utf-16', []],
    ['application/json; charset="latin1"', []],
    ['application/jsonp', []],
    ['application/json, text/plain', []],
    ['application/x-www-form-urlencoded', []],
    ['multipart/form-data; boundary=a', []],
  ])('F13: %s is refused', async (type, typed) => {
    const answer = await send(
      host.port,
      request('POST', path, typed === null ? [] : [`Content-Type: ${type}`], '{}'),
    );
    expectProblem(answer, 415, 'unsupported_media_type');
  });

  test.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
  ])('F13: %s is accepted', async (type) => {
    expect((await send(host.port, request('POST', path, [`Content-Type: ${type}`], '{}'))).status).toBe(200);
  });

  test('F14: a browser of another origin gets no leave', async () => {
    const fields = ['Origin: https://evil.example', 'Access-Control-Request-Method: POST'];
    const preflight = await send(host.port, request('OPTIONS', path, fields));
    expectProblem(preflight, 405);
    const answer = await send(host.port, post(['Origin: https://evil.example']));
    expect(Object.keys({ ...preflight.headers, ...answer.headers }).join()).not.toContain('access-control');
  });

  test('a body where none belongs is refused', async () => {
    expectProblem(await send(host.port, request('GET', '/items/a', [json], '{}')), 400, 'malformed_request');
    const chunked = `${request('GET', '/items/a', ['Transfer-Encoding: chunked'])}2\r\n{}\r\n0\r\n\r\n`;
    expectProblem(await send(host.port, chunked), 400, 'malformed_request');
    const empty = `${request('GET', '/items/a', ['Transfer-Encoding: chunked'])}0\r\n\r\n`;
    expect((await send(host.port, empty)).status).toBe(200);
  });

  test('an unexpected error reveals no detail', async () => {
    const answer = await send(host.port, request('GET', '/fail', ['X-Correlation-ID: trace-1']));
    expectProblem(answer, 500, 'internal_error');
    expect(answer.body).not.toContain('SECRET');
    expect(answer.headers['x-correlation-id']).toBe('trace-1');
  });

  test.each(['a b', 'x'.repeat(129), 'caf\xe9', ''])('the correlation id %j is replaced', async (id) => {
    const answer = await send(host.port, request('GET', '/items/a', [`X-Correlation-ID: ${id}`]));
    expect(answer.headers['x-correlation-id']).toMatch(/^[0-9a-f]{32}$/);
  });

  test('every printable ASCII character of a correlation id is kept', async () => {
    const id = Array.from({ length: 94 }, (_, at) => String.fromCharCode(0x21 + at)).join('');
    const answer = await send(host.port, request('GET', '/fail', [`X-Correlation-ID: ${id}`]));
    expectProblem(answer, 500, 'internal_error');
    expect(answer.headers['x-correlation-id']).toBe(id);
    expect((JSON.parse(answer.body) as { instance: string }).instance).toMatch(/^urn:svc:request:[!-~]+$/);
  });

  test('the framework keeps no path to itself', async () => {
    expectProblem(await send(host.port, request('GET', '/favicon.ico')), 404, 'route_not_found');
    expect(await send(host.port, request('GET', '/'))).toMatchObject({ status: 200, body: 'hello\n' });
  });
});
