import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../test/support/refusal.ts';
import { checkBytes, checkText, identifier, optionalIdentifier, pathIdentifier } from './identifiers.ts';

const refused = (code: string, detail: string) =>
  expect.objectContaining({ code, errors: [{ pointer: '/m', detail: expect.stringContaining(detail) }] });

describe('an identifier', () => {
  test.each([
    ['', 'validation_failed', 'blank'],
    [' \t\n', 'validation_failed', 'blank'],
    ['a\u0000b', 'validation_failed', 'control characters'],
    ['a\u0085b', 'validation_failed', 'control characters'],
    ['a\ud800b', 'validation_failed', 'well-formed'],
    ['x'.repeat(161), 'limit_exceeded', '160 characters'],
    ['€'.repeat(134), 'limit_exceeded', '400 bytes'],
  ])('%j is refused', (value, code, detail) => {
    expect(refusalOf(() => identifier(value, '/m'))).toEqual(refused(code, detail));
  });

  test.each([['  a b '], ['x'.repeat(160)], [`${'€'.repeat(133)}x`], ['a/b'], ['..'], ['e\u0301']])(
    '%j is one, without the white space around it',
    (value) => {
      expect(identifier(value, '/m')).toBe(value.trim());
    },
  );

  test('may be left out where it is optional, and is held to the same rules where it is not', () => {
    expect(optionalIdentifier(undefined, '/m')).toBeNull();
    expect(optionalIdentifier(null, '/m')).toBeNull();
    expect(optionalIdentifier(' a ', '/m')).toBe('a');
    expect(refusalOf(() => optionalIdentifier(' ', '/m'))).toEqual(refused('validation_failed', 'blank'));
  });
});

describe('an identifier that a path carries', () => {
  test.each(['a/b', 'a\\b', 'a%b', 'a?b', 'a#b', 'a\u200db', '.', '..', ' .. ', 'e\u0301'])(
    '%j is refused',
    (value) => {
      expect(refusalOf(() => pathIdentifier(value, '/m'))).toEqual(
        refused('invalid_path_segment', 'a single path segment'),
      );
    },
  );

  test.each(['...', '.a', 'a.', 'é', 'a b', '0192:3'])('%j is accepted', (value) => {
    expect(pathIdentifier(` ${value} `, '/m')).toBe(value);
  });

  test('is an identifier first', () => {
    expect(refusalOf(() => pathIdentifier('x'.repeat(161), '/m'))).toEqual(
      refused('limit_exceeded', '160 characters'),
    );
  });
});

test('a text may be empty, and its bytes are counted as UTF-8', () => {
  expect(() => checkText('', '/m')).not.toThrow();
  expect(() => checkBytes('€'.repeat(3), 9, '/m')).not.toThrow();
  expect(refusalOf(() => checkBytes('€'.repeat(3), 8, '/m'))).toEqual(refused('limit_exceeded', '8 bytes'));
});
