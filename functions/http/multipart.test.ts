import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FormPart } from '../../contracts/operation.ts';
import { ServiceError } from '../kernel/errors.ts';
import { readForm } from './multipart.ts';
import { boundaryOf, MultipartParser } from './multipart-parser.ts';

const parts: readonly FormPart[] = [
  { name: 'manifest', kind: 'json', required: true },
  { name: 'artifact', kind: 'bytes', required: true },
];
const contentType = 'multipart/form-data; boundary=b1';

const manifest = 'Content-Disposition: form-data; name="manifest"\r\n\r\n{"id":"a"}';
const artifact =
  'Content-Disposition: form-data; name="artifact"; filename="a.bin"\r\nContent-Type: image/png\r\n\r\nbytes';
const formOf = (...sections: readonly string[]): string =>
  `${sections.map((section) => `--b1\r\n${section}\r\n`).join('')}--b1--\r\n`;

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

async function read(form: string | Uint8Array, chunkSize = 7, type = contentType) {
  const { values, streams } = await readForm(inChunks(Buffer.from(form), chunkSize), type, { parts });
  const stream = streams['artifact'];
  return { values, stream, content: stream && (await collect(stream)).toString() };
}

async function codeOf(action: () => Promise<unknown>): Promise<string> {
  try {
    await action();
  } catch (error) {
    if (error instanceof ServiceError) return error.code;
    throw error;
  }
  return 'accepted';
}

test('a form is read as its JSON parts and a stream, in chunks of any size', async () => {
  for (const size of [1, 2, 3, 16, 10_000]) {
    const { values, stream, content } = await read(formOf(manifest, artifact), size);
    expect([values, content]).toEqual([{ manifest: { id: 'a' } }, 'bytes']);
    expect([stream?.fileName, stream?.mediaType]).toEqual(['a.bin', 'image/png']);
    expect(await stream?.digest).toEqual({
      size: 5,
      hash: 'sha256:277089d91c0bdf4f2e6862ba7e4a07605119431f5d13f726dd352b06f1b206a9',
    });
  }
});

test('any bytes come through any chunks unchanged, also pieces of the delimiter', async () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    fc
      .constantFrom('\r\n', '\r\n--', '\r\n--b', '--b1', '\r', '\n--b1--', '\r\r\n--b')
      .map((text) => Buffer.from(text)),
  );
  const pieces = fc.array(piece, { maxLength: 12 }).map((each) => Buffer.concat(each));
  const content = pieces.filter((bytes) => !Buffer.concat([Buffer.from('\r\n'), bytes]).includes('\r\n--b1'));
  await fc.assert(
    fc.asyncProperty(content, fc.integer({ min: 1, max: 30 }), async (bytes, size) => {
      const [head = ''] = artifact.split('bytes');
      const form = Buffer.concat([
        Buffer.from(`--b1\r\n${manifest}\r\n--b1\r\n${head}`),
        bytes,
        Buffer.from('\r\n--b1--'),
      ]);
      const { streams } = await readForm(inChunks(form, size), contentType, { parts });
      const stream = streams['artifact'];
      if (!stream) throw new Error('no stream');
      expect((await collect(stream)).equals(bytes)).toBe(true);
      expect((await stream.digest).size).toBe(bytes.length);
    }),
    { numRuns: 200 },
  );
});

test('a cut form is never accepted, wherever it is cut', async () => {
  const whole = formOf(manifest, artifact);
  // Behind the last boundary only its line end is left.
  for (let length = 0; length < whole.length - 2; length += 1)
    expect(await codeOf(() => read(whole.slice(0, length))), String(length)).toBe('malformed_request');
});

describe('a form is refused', () => {
  test.each([
    ['of another type', formOf(manifest, artifact), 'text/plain', 'unsupported_media_type'],
    ['without a boundary', formOf(manifest), 'multipart/form-data', 'malformed_request'],
    ['with two boundaries', formOf(manifest), `${contentType}; boundary=b2`, 'malformed_request'],
    [
      'with text glued to its first boundary',
      `x${formOf(manifest, artifact)}`,
      contentType,
      'malformed_request',
    ],
    [
      'with text glued to its last boundary',
      `${formOf(manifest, artifact).trimEnd()}x`,
      contentType,
      'malformed_request',
    ],
    [
      'with text glued to a boundary',
      formOf(manifest, artifact).replace('--b1\r\nContent-Disposition: form-data; name="a', '--b1x$&'),
      contentType,
      'malformed_request',
    ],
    [
      'with a part behind its end',
      `${formOf(manifest, artifact)}--b1\r\n${artifact}\r\n--b1--\r\n`,
      contentType,
      'malformed_request',
    ],
    [
      'with much text before it',
      `${'x'.repeat(70_000)}\r\n${formOf(manifest, artifact)}`,
      contentType,
      'malformed_request',
    ],
    [
      'with much text behind it',
      `${formOf(manifest, artifact)}${'x'.repeat(70_000)}`,
      contentType,
      'malformed_request',
    ],
    [
      'with JSON of another charset',
      formOf(manifest.replace('\r\n\r\n', '\r\nContent-Type: application/json; charset=utf-16\r\n\r\n')),
      contentType,
      'validation_failed',
    ],
    ['with another boundary', formOf(manifest), 'multipart/form-data; boundary=b2', 'malformed_request'],
    ['with a part behind the bytes', formOf(artifact, manifest), contentType, 'validation_failed'],
    ['with a part twice', formOf(manifest, manifest, artifact), contentType, 'validation_failed'],
    ['without a required part', formOf(manifest), contentType, 'validation_failed'],
    ['with an unknown part', formOf(manifest.replace('manifest', 'other')), contentType, 'validation_failed'],
    ['with a part without a name', formOf('X: y\r\n\r\n{}'), contentType, 'malformed_request'],
    [
      'with JSON of another type',
      formOf(manifest.replace('\r\n\r\n', '\r\nContent-Type: text/css\r\n\r\n')),
      contentType,
      'validation_failed',
    ],
    ['with JSON that is none', formOf(manifest.replace('{', '[')), contentType, 'malformed_request'],
    [
      'with a member twice',
      formOf(manifest.replace('"id":"a"', '"id":1,"id":2')),
      contentType,
      'malformed_request',
    ],
    [
      'with a header that is too long',
      formOf(`X: ${'y'.repeat(9_000)}\r\n${manifest}`),
      contentType,
      'malformed_request',
    ],
    [
      'with a coded part',
      formOf(`Content-Transfer-Encoding: base64\r\n${manifest}`),
      contentType,
      'malformed_request',
    ],
    [
      'with a JSON part that is too large',
      formOf(manifest.replace('"a"', `"${'a'.repeat(1024 * 1024)}"`)),
      contentType,
      'limit_exceeded',
    ],
  ])('%s', async (_, form, type, code) => {
    expect(await codeOf(() => read(form, 4_096, type))).toBe(code);
  });

  test.each(['../a', 'a\\b', '..', 'a\u0000', 'x'.repeat(256)])('with the file name %j', async (name) => {
    expect(await codeOf(() => read(formOf(manifest, artifact.replace('a.bin', name))))).toBe(
      'malformed_request',
    );
  });

  test.each([
    'form-data; name="a"; name="b"',
    'form-data; filename*=utf-8\'\'%ff; name="a"',
    'form-data; filename*=utf-8\'\'..%2fa; name="a"',
    'form-data; filename*=utf-7\'\'a; name="a"',
    'form-data; filename*=a; name="a"',
    "form-data; filename*=utf-8''a; filename*=utf-8''b; name=\"a\"",
    "form-data; name*=utf-8''b",
    'form-data; name="a"; name*=utf-8\'\'b',
    'form-data; name*0="a"; name*1="b"; name="a"',
    'form-data; name="a"; x',
    'form-dataname="a"',
    'attachment; name="a"',
    'form-data; name=""',
    'form-data; name="a',
  ])('with the disposition %j', async (disposition) => {
    const form = formOf(`Content-Disposition: ${disposition}\r\n\r\nx`);
    const parser = new MultipartParser(inChunks(Buffer.from(form), 64), 'b1');
    expect(await codeOf(() => parser.next())).toBe('malformed_request');
  });
});

describe('a form of another platform is read', () => {
  const json = '{"id":"a"}';
  const types = [
    'text/plain; charset=utf-8',
    'application/json; charset="UTF-8"',
    'application/octet-stream',
  ];
  test.each([
    // MultipartFormDataContent of .NET.
    ...types.map((type) => `CONTENT-TYPE: ${type}\r\nContent-Disposition: form-data; name=manifest`),
    'content-disposition: Form-Data; name=manifest; filename="m.json"; size=10',
    'Content-Disposition: form-data;\r\n\tname="manifest"',
    'Content-Disposition: form-data ; name="manifest"\r\nContent-ID: <1>',
  ])('with the manifest %j', async (head) => {
    const { values, content } = await read(formOf(`${head}\r\n\r\n${json}`, artifact));
    expect([values, content]).toEqual([{ manifest: { id: 'a' } }, 'bytes']);
  });

  test.each([
    ["filename*=utf-8''a%20b.bin", 'a b.bin'],
    [`filename="=?utf-8?B?w6Qv?="; filename*=UTF-8'de'%C3%A4.bin`, 'ä.bin'],
    ["filename*=iso-8859-1''%e4.bin; filename=x", 'ä.bin'],
    ['filename=a.bin', 'a.bin'],
    ['filename="a \\"b\\".bin"', 'a "b".bin'],
    ['filename*0="a"; filename*1=".bin"', null],
    ['filename=""', null],
  ])('with the file name %j', async (parameter, fileName) => {
    const head = `Content-Disposition: form-data; name=artifact; ${parameter}`;
    const { stream, content } = await read(formOf(manifest, `${head}\r\n\r\nbytes`));
    expect([stream?.fileName, stream?.mediaType, content]).toEqual([
      fileName,
      'application/octet-stream',
      'bytes',
    ]);
  });

  test.each([
    ['text before it', `This is a form.\r\n--b\r\n${formOf(manifest, artifact)}`],
    ['an empty line before it', `\r\n${formOf(manifest, artifact)}`],
    ['text behind it', `${formOf(manifest, artifact)}This was a form.\r\n--b\r\n`],
    ['no line end behind it', formOf(manifest, artifact).trimEnd()],
    ['white space behind its boundaries', formOf(manifest, artifact).replaceAll(/--b1(?:--)?/g, '$& \t')],
  ])('with %s', async (_, form) => {
    for (const size of [1, 2, 5, 10_000]) {
      const { values, content } = await read(form, size);
      expect([values, content]).toEqual([{ manifest: { id: 'a' } }, 'bytes']);
    }
  });
});

test('a boundary is what RFC 2046 allows', () => {
  expect(boundaryOf('multipart/form-data; boundary="a b"')).toBe('a b');
  expect(boundaryOf(`multipart/form-data; boundary=${'a'.repeat(70)}`)).toHaveLength(70);
  for (const boundary of ['', 'a'.repeat(71), '"a "', '"a\u00e9"'])
    expect(() => boundaryOf(`multipart/form-data; boundary=${boundary}`)).toThrow(ServiceError);
  expect(boundaryOf('multipart/form-data; charset=utf-8; Boundary=b;')).toBe('b');
  // Two readers must not disagree on the boundary.
  for (const type of ['x="; boundary=b"', 'boundary=b"x', 'boundary=a; boundary=b', 'boundary=a b'])
    expect(() => boundaryOf(`multipart/form-data; ${type}`)).toThrow(ServiceError);
});
