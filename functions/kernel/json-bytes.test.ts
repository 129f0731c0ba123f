import { describe, expect, test } from 'vitest';
import { checkJson, checkJsonBytes } from './json-bytes.ts';

const value = { b: ['é', 1e21, null], a: { text: '"\n' } };
const size = Buffer.byteLength(JSON.stringify(value));

describe('the size of a JSON value', () => {
  test('is that of its text in UTF-8', () => {
    expect(checkJson(value, size, '/x')).toBe(size);
    expect(() => checkJsonBytes(value, size, '/x')).not.toThrow();
  });

  test.each([checkJson, checkJsonBytes])('%o refuses one byte more, by the place of the value', (check) => {
    expect(() => check(value, size - 1, '/a/0')).toThrow(
      expect.objectContaining({
        code: 'limit_exceeded',
        extensions: { errors: [{ pointer: '/a/0', detail: `must be at most ${size - 1} bytes as JSON` }] },
      }),
    );
  });

  test('is that of no value which JSON cannot hold', () => {
    expect(() => checkJson({ a: '\ud800' }, 100, '/x')).toThrow(
      expect.objectContaining({ code: 'validation_failed' }),
    );
  });
});
