import { describe, expect, test } from 'vitest';
import { readLimit, readPrune } from './prune-request.ts';

describe('a request to prune', () => {
  test.each([
    ['nothing', {}, ''],
    ['only a limit', { limit: 5 }, ''],
    ['only nulls', { operation: null, olderThan: null, keepLatest: null }, ''],
    ['a negative keepLatest', { keepLatest: -1 }, '/keepLatest'],
    ['a time that is none', { olderThan: '2026-13-01T00:00:00Z' }, '/olderThan'],
    ['a limit of 0', { keepLatest: 0, limit: 0 }, '/limit'],
    ['a limit above the largest', { keepLatest: 0, limit: 5_001 }, '/limit'],
  ])('with %s is refused', (_, request, pointer) => {
    expect(() => readPrune(request)).toThrow(
      expect.objectContaining({
        code: 'validation_failed',
        extensions: { errors: [expect.objectContaining({ pointer })] },
      }),
    );
  });

  test('has defaults', () => {
    expect(readPrune({ keepLatest: 0 })).toEqual({
      operation: null,
      olderThan: null,
      keepLatest: 0,
      limit: 100,
      dryRun: false,
    });
    expect(readLimit(null)).toBe(100);
  });
});
