import { describe, expect, test } from 'vitest';
import { describeFailure } from '../../kernel/log.ts';
import { StatementError } from './errors.ts';

describe('a failed statement', () => {
  test('is known to the log by its code, since the log keeps no message', () => {
    const logged = (facts: object) =>
      describeFailure(new StatementError(Object.assign(new Error('text'), facts))).split('\n')[0];
    expect(logged({ code: 'ECONNREFUSED', errno: -111 })).toBe('StatementError ECONNREFUSED');
    expect(logged({ code: 'ER_BAD_DB_ERROR', errno: 1049, sqlState: '42000' })).toBe(
      'StatementError ER_BAD_DB_ERROR',
    );
  });
});
