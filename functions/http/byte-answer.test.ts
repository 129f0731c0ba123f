import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { carriesBytes, type Selection, StoredBytes, writeBytes } from './byte-answer.ts';
import { ByteStream, type RawResponse } from './message.ts';
import { problemOf } from './problem.ts';

const content = Buffer.from('0123456789');
const etag = '"v1"';
const modifiedAt = Date.UTC(2026, 10, 22, 20, 0, 0, 700);
const dates = ['Sun, 22 Nov 2026 19:59:59 GMT', 'Sun, 22 Nov 2026 20:00:00 GMT', 'yesterday'];

function bytesOf(all: Uint8Array = content, tag: string | null = etag): StoredBytes {
  return new StoredBytes({
    mediaType: 'application/octet-stream',
    size: all.length,
    etag: tag,
    modifiedAt,
    open: async function* (start, end) {
      yield all.subarray(start, end);
    },
  });
}

const selection = (members: Partial<Selection>): Selection => ({
  method: 'GET',
  ...members,
});

async function answer(members: Partial<Selection>, bytes = bytesOf()) {
  const { status, headers, body } = written(members, bytes);
  const chunks: Uint8Array[] = [];
  if (body instanceof ByteStream) for await (const chunk of body.open()) chunks.push(chunk);
  return { status, fields: new Map(headers), text: Buffer.concat(chunks).toString() };
}

function written(members: Partial<Selection>, bytes: StoredBytes): RawResponse {
  try {
    return writeBytes(bytes, selection(members));
  } catch (error) {
    const { code, response } = problemOf(error, 'c');
    expect(['range_not_satisfiable', 'precondition_failed']).toContain(code);
    return { ...response, body: null };
  }
}

test('the type of the bytes is known before they are read', async () => {
  const fields = fc.record({
    method: fc.constantFrom('GET', 'HEAD'),
    range: fc.constantFrom(undefined, 'bytes=0-3', 'bytes=9-', 'bytes=10-', 'bytes=-0', 'pages=1'),
    ifRange: fc.constantFrom(undefined, etag, '"v0"'),
    ifMatch: fc.constantFrom(undefined, etag, '"v0"', '*'),
    ifNoneMatch: fc.constantFrom(undefined, etag, '"v0"', '*'),
    ifModifiedSince: fc.constantFrom(undefined, ...dates),
    ifUnmodifiedSince: fc.constantFrom(undefined, ...dates),
  });
  await fc.assert(
    fc.asyncProperty(fields, async (given) => {
      const { status } = written(given, bytesOf());
      const carries = () => carriesBytes(selection(given), { size: content.length, etag, modifiedAt });
      if (status === 412) expect(carries).toThrow('precondition failed');
      else expect(carries()).toBe(given.method !== 'HEAD' && (status === 200 || status === 206));
    }),
  );
});

test.each([
  ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
  ['bytes=4-', 206, '456789', 'bytes 4-9/10'],
  ['bytes=-3', 206, '789', 'bytes 7-9/10'],
  ['bytes=-99', 206, '0123456789', 'bytes 0-9/10'],
  ['bytes=8-99', 206, '89', 'bytes 8-9/10'],
  ['Bytes=9-9', 206, '9', 'bytes 9-9/10'],
  ['bytes=10-', 416, '', 'bytes */10'],
  ['bytes=-0', 416, '', 'bytes */10'],
  ['bytes=4-99999999999999999999', 206, '456789', 'bytes 4-9/10'],
  ['bytes=-99999999999999999999', 206, '0123456789', 'bytes 0-9/10'],
  ['bytes=99999999999999999999-', 416, '', 'bytes */10'],
  ['bytes=3-2', 200, '0123456789', undefined],
  ['bytes=0-1,4-5', 200, '0123456789', undefined],
  ['bytes=-', 200, '0123456789', undefined],
  ['lines=0-1', 200, '0123456789', undefined],
  ['bytes=a-b', 200, '0123456789', undefined],
])('Range: %s is answered %i', async (range, status, text, contentRange) => {
  const given = await answer({ range });
  expect([given.status, given.text, given.fields.get('Content-Range')]).toEqual([status, text, contentRange]);
  expect([given.fields.get('Accept-Ranges'), given.fields.get('ETag')]).toEqual(['bytes', etag]);
});

describe('conditions', () => {
  test.each([
    ['"v1"', 304],
    ['W/"v1"', 304],
    ['"v0", "v1"', 304],
    ['*', 304],
    ['"v0"', 200],
  ])('If-None-Match: %s is answered %i', async (ifNoneMatch, status) => {
    const given = await answer({ ifNoneMatch });
    expect([given.status, given.text]).toEqual([status, status === 304 ? '' : '0123456789']);
    expect(given.fields.get('ETag')).toBe(etag);
  });

  test.each([
    ['"v1"', 206],
    ['W/"v1"', 200],
    ['"v0"', 200],
    ['Sun, 22 Nov 2026 20:00:00 GMT', 200],
  ])('If-Range: %s is answered %i', async (ifRange, status) => {
    expect((await answer({ range: 'bytes=0-0', ifRange })).status).toBe(status);
  });

  test('HEAD ignores a range, and bytes without a tag have no condition to meet', async () => {
    expect((await answer({ method: 'HEAD', range: 'bytes=0-0' })).status).toBe(200);
    const untagged = await answer({ ifNoneMatch: '*' }, bytesOf(content, null));
    expect([untagged.status, untagged.fields.has('ETag')]).toEqual([200, false]);
  });
});

test('a range of any bytes is the part that its fields name', async () => {
  const place = fc.option(fc.nat({ max: 40 }), { nil: undefined });
  await fc.assert(
    fc.asyncProperty(fc.string({ maxLength: 30 }), place, place, async (text, first, last) => {
      const all = Buffer.from(text);
      const given = await answer({ range: `bytes=${first ?? ''}-${last ?? ''}` }, bytesOf(all));
      const [, start, end, size] =
        /^bytes (\d+)-(\d+)\/(\d+)$/.exec(given.fields.get('Content-Range') ?? '') ?? [];
      if (given.status === 206) {
        expect(Number(size)).toBe(all.length);
        expect(given.text).toBe(all.subarray(Number(start), Number(end) + 1).toString());
        if (first !== undefined) expect(Number(start)).toBe(first);
      } else expect(given.text).toBe(given.status === 200 ? all.toString() : '');
    }),
  );
});

test('shows when the bytes were written, to the second, also with 304', async () => {
  const expected = 'Sun, 22 Nov 2026 20:00:00 GMT';
  for (const given of [{}, { range: 'bytes=0-3' }, { ifModifiedSince: expected }]) {
    const { fields, status } = await answer(given);
    expect([status, fields.get('Last-Modified')]).toEqual([
      'range' in given ? 206 : 'ifModifiedSince' in given ? 304 : 200,
      expected,
    ]);
  }
});
