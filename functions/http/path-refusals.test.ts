import { describe, expect, test } from 'vitest';
import { limits } from '../../contracts/generated/limits.ts';
import { refusalOf } from '../../test/support/refusal.ts';
import { decodeSegment, splitPath, splitTarget } from './path.ts';

/** The bounds of each rule by itself; `test/wire/path.test.ts` sends the same through every host. */

const invalid = (words: string) => ({
  code: 'invalid_path_segment',
  message: expect.stringContaining(words),
});

test.each(['', 'a', '*', 'http://host/a', 'host:443', '?/a'])('the target %j is no path', (target) => {
  expect(refusalOf(() => splitTarget(target))).toMatchObject(invalid('begins with a slash'));
});

test('the refusal of a long target names the limit', () => {
  const target = `/?${'a'.repeat(limits.requestTargetBytesMax)}`;
  expect(refusalOf(() => splitTarget(target))).toEqual({
    code: 'headers_too_large',
    message: expect.stringContaining(`${limits.requestTargetBytesMax} bytes`),
  });
});

describe('a path', () => {
  test('is split at its slashes, as the client sent it', () => {
    expect(splitPath('/a%2Fb/...;c/~d')).toEqual(['a%2Fb', '...;c', '~d']);
  });

  test.each(['/.', '/..', '/./a', '/../a', '/a/.', '/a/..', '/a/./b', '/a/../b', '//a', '/a//b', '//'])(
    '%s holds an empty or a dot segment',
    (path) => {
      expect(refusalOf(() => splitPath(path))).toMatchObject(invalid('empty segment or a dot segment'));
    },
  );

  test('holds undecoded exactly the characters that RFC 3986 allows', () => {
    const allowed = new Set(
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@%/",
    );
    for (let code = 0; code < 256; code++) {
      const character = String.fromCharCode(code);
      // First, in the middle and last: a rule that looks at one end only lets the others through.
      for (const path of [`/${character}ab`, `/a${character}b`, `/ab${character}`]) {
        if (path === '//ab' || allowed.has(character)) continue;
        expect(
          refusalOf(() => splitPath(path)),
          path,
        ).toMatchObject(invalid('must be percent-encoded'));
      }
      if (allowed.has(character)) expect(() => splitPath(`/a${character}b`), character).not.toThrow();
    }
  });
});

describe('the value of a segment', () => {
  test.each([
    ['%', 'not percent-encoded UTF-8'],
    ['%E0%A4%A', 'not percent-encoded UTF-8'],
    ['%C0%AF', 'not percent-encoded UTF-8'],
    ['', 'empty or a dot segment'],
    ['%2E', 'empty or a dot segment'],
    ['.%2e', 'empty or a dot segment'],
    ['a'.repeat(201), 'longer than 200 characters'],
    ['%E2%82%AC'.repeat(134), 'longer than 400 bytes'],
    ['b' + '%E2%82%AC'.repeat(133) + 'b', 'longer than 400 bytes'],
    ['a%2Fb', 'separator or a control character'],
    ['a%00', 'separator or a control character'],
    ['%20a', 'white space'],
    ['a%C2%A0', 'white space'],
    ['e%CC%81', 'normal form C'],
    ['%61cme', 'which are written as they are'],
    ['a%2Eb', 'which are written as they are'],
    ['caf%c3%A9', 'in lower-case digits'],
    ['caf%C3%a9', 'in lower-case digits'],
    ['a%2b', 'in lower-case digits'],
  ])('%s is refused: %s', (segment, words) => {
    expect(refusalOf(() => decodeSegment(segment))).toMatchObject(invalid(words));
  });

  test('is written without an encoding where RFC 3986 never needs one', () => {
    const unreserved = new Set('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~');
    const never = new Set('/\\%?#');
    for (let code = 0x21; code < 0x7f; code += 1) {
      const character = String.fromCharCode(code);
      const encoded = `a%${code.toString(16).toUpperCase()}`;
      if (unreserved.has(character))
        expect(
          refusalOf(() => decodeSegment(encoded)),
          encoded,
        ).toMatchObject(invalid('as they are'));
      else if (!never.has(character)) expect(decodeSegment(encoded), encoded).toBe(`a${character}`);
    }
  });

  test.each([
    ['a', 'a'],
    ['a%20b', 'a b'],
    ['%C3%A9', 'é'],
    ['...', '...'],
    ['.a', '.a'],
    ['a'.repeat(200), 'a'.repeat(200)],
    ['%E2%82%AC'.repeat(133) + 'b', `${'€'.repeat(133)}b`],
  ])('%s names %j', (segment, value) => {
    expect(decodeSegment(segment)).toBe(value);
  });
});

test.each([
  ['%20a', ' a'],
  ['a%C2%A0', 'a\u00a0'],
  ['a%0Ab%01', 'a\nb\u0001'],
  ['a%2Fb', 'a/b'],
])('%s names %j where the contract takes any text', (segment, value) => {
  expect(decodeSegment(segment, { strict: false, anyText: true })).toBe(value);
});

test.each(['', '.', '%2E', '..', '%2E%2E', '%ED%A0%80'])('any text is not %j', (segment) => {
  expect(refusalOf(() => decodeSegment(segment, { strict: false, anyText: true }))).not.toBeNull();
});

test('a parameter with a higher limit than the common one has that limit, in bytes too', () => {
  const rule = { strict: false, lengthMax: 1_023 };
  expect(decodeSegment('a'.repeat(1_023), rule)).toHaveLength(1_023);
  expect(refusalOf(() => decodeSegment('a'.repeat(1_024), rule))).toMatchObject(invalid('1023 characters'));
  expect(refusalOf(() => decodeSegment('%E4%B8%AD'.repeat(342), rule))).toMatchObject(invalid('1023 bytes'));
  expect(refusalOf(() => decodeSegment('a'.repeat(201), { strict: false, lengthMax: 160 }))).toMatchObject(
    invalid('200 characters'),
  );
});
