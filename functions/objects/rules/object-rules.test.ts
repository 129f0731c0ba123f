import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkCondition } from './condition.ts';
import { readMediaType } from './media-type.ts';
import { metadataFields, metadataInFields, readMetadata } from './metadata.ts';
import { readObjectList } from './object-list.ts';
import { checkContainer, readObjectKey, readPlace, readPrefix } from './object-name.ts';

const fault = (pointer: string, code = 'validation_failed') =>
  expect.objectContaining({ code, extensions: { errors: [expect.objectContaining({ pointer })] } });

describe('the name of a container', () => {
  test.each(['abc', 'a1b', 'a-b-c', '0'.repeat(63), 'a'.repeat(3)])('may be %s', (name) => {
    expect(checkContainer(name, '/container')).toBe(name);
  });
  test.each([
    '',
    'ab',
    'a'.repeat(64),
    'Abc',
    'a_b',
    'a.b',
    '-ab',
    'ab-',
    'a--b',
    'a/b',
    'äbc',
    'abc\n',
    '..a',
  ])('may not be %j', (name) => {
    expect(() => checkContainer(name, '/container')).toThrow(fault('/container'));
  });
});

describe('the key of an object', () => {
  test.each([
    ['a', 'a'],
    ['a/b.txt', 'a/b.txt'],
    ['a\\b', 'a/b'],
    ['...', '...'],
    ['a b%2Fc?d#e', 'a b%2Fc?d#e'],
    ['é/\u{10ffff}', 'é/\u{10ffff}'],
    ['C:/x', 'C:/x'],
  ])('%j is %j', (text, key) => {
    expect(readObjectKey(text, '/key')).toBe(key);
  });
  test.each([
    '',
    '/',
    '/a',
    'a/',
    'a//b',
    '.',
    '..',
    'a/./b',
    'a/../b',
    '..\\..\\etc',
    '\\\\host\\share',
    'a\\',
    'a\0b',
    'a\nb',
    'a\u0085b',
    '\ud800',
    'a/\udc00',
  ])('may not be %j', (text) => {
    expect(() => readObjectKey(text, '/key')).toThrow(fault('/key'));
  });
  test('has at most 700 bytes', () => {
    expect(readObjectKey('é'.repeat(350), '/key')).toHaveLength(350);
    expect(() => readObjectKey(`${'é'.repeat(350)}a`, '/key')).toThrow(fault('/key', 'limit_exceeded'));
    expect(() => readPrefix('a'.repeat(701), '/prefix')).toThrow(fault('/prefix', 'limit_exceeded'));
  });
  test('never leaves its container, with any text of a caller', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('.', '..', '/', '\\', 'a', '%2e', '\u2024'), { maxLength: 12 }),
        (parts) => {
          let key: string;
          try {
            key = readObjectKey(parts.join(''), '/key');
          } catch {
            return;
          }
          const path = new URL(key.split('/').map(encodeURIComponent).join('/'), 'http://h/c/').pathname;
          // A segment of escaped dots is not one of dots once it was decoded.
          expect(path.startsWith('/c/')).toBe(true);
          expect(key.split('/')).not.toContain('..');
        },
      ),
      { numRuns: 500 },
    );
  });
  test('names the member of a manifest', () => {
    expect(() => readPlace({ container: 'abc', key: '../x' }, '/artifact')).toThrow(fault('/artifact/key'));
    expect(() => readPlace({ container: 'A', key: 'x' }, '/artifact')).toThrow(fault('/artifact/container'));
    expect(readPlace({ container: 'abc', key: 'x\\y' })).toEqual({ container: 'abc', key: 'x/y' });
  });
});

describe('the media type of an object', () => {
  test.each([
    'text/plain',
    'text/html; charset=utf-8',
    'application/vnd.a+json;v="1; 2" ; q=0',
    'image/svg+xml',
  ])('may be %s', (type) => {
    expect(readMediaType(` ${type} `, '/Content-Type')).toBe(type);
  });
  test.each([undefined, null, '', '  '])('is unknown where the caller gives %j', (type) => {
    expect(readMediaType(type, '/Content-Type')).toBeNull();
  });
  test.each([
    'text',
    'text/',
    '/plain',
    'text/plain;',
    'text/plain\r\nX: y',
    'text/plain; a',
    'text/plain; a="b',
    'text/plain; a="\\""',
    'tëxt/plain',
    `text/${'a'.repeat(260)}`,
    'text/plain, text/html',
  ])('may not be %j', (type) => {
    expect(() => readMediaType(type, '/Content-Type')).toThrow(fault('/Content-Type'));
  });
});

describe('metadata', () => {
  test('comes from its fields alone, and goes back into them', () => {
    const fields = [
      ['X-Svc-Meta-Source', ' a b '],
      ['x-svc-meta-_1', ''],
      ['X-Svc-Metadata', 'no'],
      ['content-type', 'text/plain'],
    ] as const;
    const metadata = metadataInFields(fields);
    expect(Object.entries(metadata)).toEqual([
      ['_1', ''],
      ['source', 'a b'],
    ]);
    expect(metadataFields(metadata)).toEqual({ 'X-Svc-Meta-_1': '', 'X-Svc-Meta-source': 'a b' });
  });
  test.each([
    ['1a', 'v'],
    ['a-b', 'v'],
    ['', 'v'],
    ['svc_x', 'v'],
    ['SVC_x', 'v'],
    ['é', 'v'],
    ['a'.repeat(65), 'v'],
    ['a', 'é'],
    ['a', 'x\r\nY: z'],
    ['a', ' x'],
    ['a', 'x\t'],
  ])('may not have %j: %j', (name, value) => {
    expect(() => readMetadata([[name, value]], '/metadata')).toThrow(
      fault(`/metadata/${name.toLowerCase()}`),
    );
  });
  test('keeps a name of the engine as an own member', () => {
    expect(Object.entries(readMetadata([['__proto__', 'x']], ''))).toEqual([['__proto__', 'x']]);
  });
  test('has a bound for each name, for names, and for all together', () => {
    const many = Array.from({ length: 33 }, (_, index) => [`a${index}`, 'x'] as const);
    expect(() => readMetadata(many, '/m')).toThrow(fault('/m', 'limit_exceeded'));
    expect(Object.keys(readMetadata(many.slice(1), '/m'))).toHaveLength(32);
    expect(() => readMetadata([['a', 'x'.repeat(8_192)]], '/m')).toThrow(fault('/m', 'limit_exceeded'));
    const twice = [
      ['a', '1'],
      ['A', '2'],
    ] as const;
    expect(() => readMetadata(twice, '/m')).toThrow(fault('/m/a'));
  });
});

describe('a condition', () => {
  const etag = `sha256:${'0'.repeat(64)}`;
  const failed = expect.objectContaining({
    code: 'precondition_failed',
    message: expect.stringContaining('precondition failed') as string,
  }) as Error;

  test.each([
    [null, {}],
    [etag, {}],
    [etag, { ifMatch: '*' }],
    [etag, { ifMatch: etag }],
    [etag, { ifMatch: `"${etag}"` }],
    [etag, { ifMatch: `"x", "${etag}"` }],
    [etag, { ifNoneMatch: '"x"' }],
    [null, { ifNoneMatch: '*' }],
    [null, { ifNoneMatch: etag }],
  ])('of %j holds under %j', (current, condition) => {
    expect(() => checkCondition(current, condition)).not.toThrow();
  });
  test.each([
    [null, { ifMatch: '*' }],
    [null, { ifMatch: etag }],
    [etag, { ifMatch: 'x' }],
    [etag, { ifMatch: '' }],
    [etag, { ifMatch: `W/"${etag}"` }],
    [etag, { ifMatch: etag.toUpperCase() }],
    [etag, { ifNoneMatch: '*' }],
    [etag, { ifNoneMatch: etag }],
    [etag, { ifNoneMatch: `W/"${etag}"` }],
    [etag, { ifMatch: etag, ifNoneMatch: '*' }],
  ])('of %j fails under %j', (current, condition) => {
    expect(() => checkCondition(current, condition)).toThrow(failed);
  });
});

describe('a list', () => {
  test('has 100 objects unless its caller asks for 1 to 5,000', () => {
    const container = 'abc';
    expect(readObjectList({ container })).toEqual({ container, prefix: '', limit: 100, after: null });
    expect(readObjectList({ container, prefix: 'a\\', limit: 5_000, after: 'a/b' })).toEqual({
      container,
      prefix: 'a/',
      limit: 5_000,
      after: 'a/b',
    });
    for (const limit of [0, -1, 1.5, 5_001, Number.NaN])
      expect(() => readObjectList({ container, limit })).toThrow(fault('/limit'));
    expect(() => readObjectList({ container: 'A' })).toThrow(fault('/container'));
  });
  test('refuses a position of another list', () => {
    expect(() => readObjectList({ container: 'abc', prefix: 'b', after: 'a' })).toThrow(
      fault('/continuationToken', 'continuation_token_invalid'),
    );
    for (const after of ['', '../a', 'a\\b'])
      expect(() => readObjectList({ container: 'abc', after })).toThrow(
        expect.objectContaining({
          extensions: { errors: [expect.objectContaining({ pointer: '/continuationToken' })] },
        }),
      );
  });
});
