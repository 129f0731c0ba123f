import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limits } from '../../contracts/generated/limits.ts';
import { codePoint } from '../../test/support/code-points.ts';
import { ServiceError } from '../kernel/errors.ts';
import { decodeSegment, splitPath, splitTarget } from './path.ts';

describe('decodeSegment', () => {
  test('an accepted segment encodes back to the same text, and cannot change the path', () => {
    const raw = fc.oneof(
      fc
        .string({ unit: codePoint, maxLength: 12 })
        .filter((text) => text.isWellFormed())
        .map(encodeURIComponent),
      fc.stringMatching(/^(?:%[0-9A-Fa-f]{2}|[a-z.:%/]){0,12}$/),
    );
    fc.assert(
      fc.property(raw, (segment) => {
        const value = accepted(segment);
        if (value === null) return;
        expect(decodeSegment(encodeURIComponent(value))).toBe(value);
        // One spelling, but for the marks in which encoders differ.
        expect(withMarksEncoded(segment)).toBe(withMarksEncoded(encodeURIComponent(value)));
        expect(value).not.toMatch(/[/\\%?#\p{C}]/u);
        expect(['', '.', '..']).not.toContain(value);
        expect(value).toBe(value.trim().normalize('NFC'));
        expect(new URL(`http://host/${encodeURIComponent(value)}`).pathname).toBe(
          `/${encodeURIComponent(value)}`,
        );
      }),
      { numRuns: 2_000 },
    );
  });

  test('it decodes once: a value that is still encoded is refused', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 8 }), (text) => {
        const once = [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
        expect(accepted(encodeURIComponent(once))).toBeNull();
      }),
    );
  });

  test('two accepted spellings of one value are one value', () => {
    expect(decodeSegment('0192%3A3')).toBe(decodeSegment('0192:3'));
  });

  test('200 characters are the most', () => {
    expect(decodeSegment('a'.repeat(200))).toHaveLength(200);
    expect(accepted('a'.repeat(201))).toBeNull();
  });
});

describe('splitTarget and splitPath', () => {
  test('the query starts at the first question mark', () => {
    expect(splitTarget('/a?b=c?d')).toEqual({ path: '/a', query: 'b=c?d' });
    expect(splitTarget('/a')).toEqual({ path: '/a', query: '' });
  });

  test('a target that is too long is refused as one, not as a path', () => {
    const most = limits.requestTargetBytesMax;
    expect(splitTarget(`/${'a'.repeat(most - 1)}`).path).toHaveLength(most);
    expect(() => splitTarget(`/${'a'.repeat(most)}`)).toThrow(
      expect.objectContaining({ code: 'headers_too_large' }),
    );
  });

  test('an empty segment is kept at the end only', () => {
    expect(splitPath('/')).toEqual(['']);
    expect(splitPath('/a/')).toEqual(['a', '']);
    expect(() => splitPath('/a//b')).toThrow(ServiceError);
  });
});

function withMarksEncoded(segment: string): string {
  return segment.replace(/[!$&'()*+,;=:@]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}

function accepted(segment: string): string | null {
  try {
    return decodeSegment(segment);
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_path_segment' });
    return null;
  }
}
