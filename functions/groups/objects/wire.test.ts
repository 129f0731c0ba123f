import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningService, startService } from '../../../test/support/service.ts';

/** Objects over HTTP. Every answer is checked against its model. */

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

async function call(method: string, path: string, body?: Buffer, headers: Record<string, string> = {}) {
  const answer = await service.call({ method, path, ...(body === undefined ? {} : { body }), headers });
  const fields = new Headers(answer.headers);
  return {
    status: answer.status,
    text: answer.body,
    header: (name: string) => fields.get(name),
    json: () => answer.json<Record<string, unknown>>(),
  };
}

const hashOf = (bytes: Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

describe('putObject, getObject and deleteObject', () => {
  test('bytes come back with their media type, their hash and their metadata', async () => {
    const bytes = Buffer.from('<script>1</script>');
    const written = await call('PUT', '/objects/pages/a/b%20c.html', bytes, {
      'Content-Type': 'text/html; charset=utf-8',
      'X-Svc-Meta-Author': 'ada',
      'x-svc-meta-page_no': '7',
    });
    expect([written.status, written.json()]).toMatchObject([
      200,
      {
        container: 'pages',
        key: 'a/b c.html',
        contentType: 'text/html; charset=utf-8',
        contentLength: bytes.length,
        etag: hashOf(bytes),
        contentHash: hashOf(bytes),
        metadata: { author: 'ada', page_no: '7' },
      },
    ]);
    const read = await call('GET', '/objects/pages/a%2Fb%20c.html');
    expect([read.status, read.text]).toEqual([200, String(bytes)]);
    expect(read.header('content-type')).toBe('text/html; charset=utf-8');
    expect(read.header('etag')).toBe(`"${hashOf(bytes)}"`);
    expect(read.header('x-svc-content-hash')).toBe(hashOf(bytes));
    expect(read.header('x-svc-meta-author')).toBe('ada');
  });

  test('metadata with the names of members that every object has is kept', async () => {
    const path = '/objects/pages/named';
    const names = ['__proto__', 'constructor', 'hasownproperty', 'tostring'];
    const fields = Object.fromEntries(names.map((name) => [`X-Svc-Meta-${name}`, `is ${name}`]));
    const written = await call('PUT', path, Buffer.from('x'), fields);
    const expected = JSON.stringify(names.map((name) => [name, `is ${name}`]));
    const metadataIn = (info: unknown) =>
      JSON.stringify(Object.entries((info as { readonly metadata: object }).metadata));
    expect(metadataIn(written.json())).toBe(expected);
    const list = await call('GET', '/objects/pages?prefix=named');
    expect(metadataIn((list.json()['items'] as unknown[])[0])).toBe(expected);
    const { header } = await call('GET', path);
    expect(names.map((name) => header(`x-svc-meta-${name}`))).toEqual(names.map((name) => `is ${name}`));
    expect(({} as Record<string, unknown>)['is']).toBeUndefined();
  });

  test('a browser saves what it gets, and runs nothing of it', async () => {
    await call('PUT', '/objects/pages/x.svg', Buffer.from('<svg onload="x()"/>'), {
      'Content-Type': 'image/svg+xml',
    });
    const { header } = await call('GET', '/objects/pages/x.svg');
    expect(header('content-disposition')).toBe('attachment');
    expect(header('content-security-policy')).toBe('sandbox');
    expect(header('x-content-type-options')).toBe('nosniff');
  });

  test('nothing is an object too, and one without a type is bytes', async () => {
    expect((await call('PUT', '/objects/pages/empty', Buffer.alloc(0))).json()).toMatchObject({
      contentLength: 0,
      contentType: null,
      metadata: {},
    });
    const read = await call('GET', '/objects/pages/empty');
    expect([read.status, read.text, read.header('content-type')]).toEqual([
      200,
      '',
      'application/octet-stream',
    ]);
  });

  test('a part of the bytes never takes the place of the whole', async () => {
    const path = '/objects/pages/resumed';
    await call('PUT', path, Buffer.from('0123456789'));
    const part = await call('PUT', path, Buffer.from('XY'), { 'Content-Range': 'bytes 3-4/10' });
    expect([part.status, part.json()['code']]).toEqual([400, 'validation_failed']);
    expect((await call('GET', path)).text).toBe('0123456789');
  });

  test('a range, a known tag and HEAD are answered without the rest', async () => {
    const bytes = Buffer.alloc(100_000, 'abcdefghij');
    await call('PUT', '/objects/pages/large', bytes);
    const part = await call('GET', '/objects/pages/large', undefined, { Range: 'bytes=99990-' });
    expect([part.status, part.text, part.header('content-range')]).toEqual([
      206,
      'abcdefghij',
      'bytes 99990-99999/100000',
    ]);
    const beyond = await call('GET', '/objects/pages/large', undefined, { Range: 'bytes=100000-' });
    expect([beyond.status, beyond.json()['code']]).toEqual([416, 'range_not_satisfiable']);
    const stale = { Range: 'bytes=100000-', 'If-Range': '"another"' };
    expect((await call('GET', '/objects/pages/large', undefined, stale)).status).toBe(200);
    const known = await call('GET', '/objects/pages/large', undefined, {
      'If-None-Match': `"${hashOf(bytes)}"`,
    });
    expect([known.status, known.text]).toEqual([304, '']);
    const head = await call('HEAD', '/objects/pages/large');
    expect([head.status, head.text, head.header('etag')]).toEqual([200, '', `"${hashOf(bytes)}"`]);
  });

  test('conditions decide, and a refused write changes nothing', async () => {
    const put = (body: string, headers: Record<string, string>) =>
      call('PUT', '/objects/pages/conditions', Buffer.from(body), headers);
    const absent = await put('a', { 'If-Match': '*' });
    expect([absent.status, absent.json()['code']]).toEqual([412, 'precondition_failed']);
    const { etag } = (await put('a', { 'If-None-Match': '*' })).json();
    expect((await put('b', { 'If-None-Match': '*' })).status).toBe(412);
    expect((await put('b', { 'If-Match': '"other"' })).status).toBe(412);
    expect((await call('GET', '/objects/pages/conditions')).text).toBe('a');
    expect((await put('b', { 'If-Match': `"${String(etag)}"` })).status).toBe(200);
    const stale = await call('DELETE', '/objects/pages/conditions', undefined, { 'If-Match': String(etag) });
    expect(stale.status).toBe(412);
    expect((await call('DELETE', '/objects/pages/conditions')).status).toBe(204);
    expect((await call('DELETE', '/objects/pages/conditions')).status).toBe(204);
    const gone = await call('GET', '/objects/pages/conditions');
    expect([gone.status, gone.json()['code']]).toEqual([404, 'not_found']);
  });

  test.each([
    ['PUT', '/objects/Pages/x', {}, 'validation_failed'],
    ['PUT', '/objects/a--b/x', {}, 'validation_failed'],
    ['PUT', '/objects/pages/a/../b', {}, 'invalid_path_segment'],
    ['PUT', '/objects/pages/a%2F..%2Fb', {}, 'invalid_path_segment'],
    ['PUT', '/objects/pages/a%5C..%5Cb', {}, 'validation_failed'],
    ['PUT', '/objects/pages/a//b', {}, 'invalid_path_segment'],
    ['PUT', '/objects/pages/x', { 'X-Svc-Meta-svc_x': '1' }, 'validation_failed'],
    ['PUT', '/objects/pages/x', { 'X-Svc-Meta-a-b': '1' }, 'validation_failed'],
    ['PUT', '/objects/pages/x', { 'X-Svc-Meta-a': '\u00e4' }, 'validation_failed'],
    ['PUT', '/objects/pages/x', { 'Content-Type': 'text' }, 'validation_failed'],
    ['GET', '/objects/pages?limit=0', {}, 'validation_failed'],
    ['GET', '/objects/pages?limit=5001', {}, 'limit_exceeded'],
    ['GET', '/objects/pages?continuationToken=x', {}, 'continuation_token_invalid'],
  ])('%s %s with %j is refused as %s', async (method, path, headers, code) => {
    const refused = await call(method, path, method === 'PUT' ? Buffer.from('x') : undefined, headers);
    expect([refused.status, refused.json()['code']]).toEqual([400, code]);
  });
});

describe('listObjects', () => {
  test('pages go through a container by prefix, in the order of keys', async () => {
    const keys = ['b/2', 'a', 'b/10', 'b/1', 'c'];
    for (const key of keys) await call('PUT', `/objects/list-pages/${key}`, Buffer.from(key));
    const seen: string[] = [];
    let token = '';
    do {
      const page = (await call('GET', `/objects/list-pages?prefix=b/&limit=2${token}`)).json();
      seen.push(...(page['items'] as { key: string }[]).map(({ key }) => key));
      const next = page['continuationToken'] as string | null;
      token = next === null ? '' : `&continuationToken=${next}`;
    } while (token !== '');
    expect(seen).toEqual(['b/1', 'b/10', 'b/2']);
    expect((await call('GET', '/objects/no-such-container')).json()).toEqual({
      items: [],
      continuationToken: null,
    });
  });

  test('a token of one list is refused by another', async () => {
    for (const key of ['x', 'y']) await call('PUT', `/objects/list-tokens/${key}`, Buffer.from(key));
    const { continuationToken } = (await call('GET', '/objects/list-tokens?limit=1')).json();
    const other = await call(
      'GET',
      `/objects/other-tokens?limit=1&continuationToken=${String(continuationToken)}`,
    );
    expect([other.status, other.json()['code']]).toEqual([400, 'continuation_token_invalid']);
  });
});
