import { describe, expect, test } from 'vitest';
import { describeFailure } from '../../kernel/log.ts';
import { isLostRace, StatementError } from './errors.ts';

const failed = (code: string, more: object = {}) =>
  new StatementError(Object.assign(new Error('words'), { code, ...more }));

describe('a failed statement', () => {
  test.each([
    ['53100', 'full'],
    ['40001', 'contention'],
    ['40P01', 'contention'],
    ['55P03', 'contention'],
    ['54000', 'too_large'],
    ['23505', 'corrupt'],
    ['XX001', 'corrupt'],
    ['53300', 'unavailable'],
    ['57P01', 'unavailable'],
    ['57014', 'unavailable'],
    ['08006', 'unavailable'],
    ['28P01', 'unavailable'],
    ['ECONNREFUSED', 'unavailable'],
    ['EPIPE', 'unavailable'],
  ])('%s is %s', (code, failure) => {
    expect(failed(code).failure).toBe(failure);
  });

  test('is tried again where a rival was first, and nowhere else', () => {
    expect(['40001', '40P01', '55P03'].map((code) => isLostRace(failed(code)))).toEqual([true, true, true]);
    expect(isLostRace(failed('23505', { constraint: 'records_pkey' }))).toBe(true);
    expect(isLostRace(failed('23505', { constraint: 'parts_pkey' }))).toBe(true);
    expect(isLostRace(failed('23505', { constraint: 'schema_versions_pkey' }))).toBe(false);
    for (const code of ['57P01', '08006', '53100', 'EPIPE', 'ECONNRESET']) {
      expect(isLostRace(failed(code))).toBe(false);
    }
    expect(isLostRace(new StatementError(new Error('Connection terminated unexpectedly')))).toBe(false);
  });

  test('names the error of the server, without values and addresses', () => {
    expect(failed('42501').message).toBe('PostgreSQL: words (42501)');
    expect(failed('22P02').message).toBe('PostgreSQL: it refused a value (22P02)');
    expect(failed('ECONNREFUSED').message).toBe('PostgreSQL: the connection failed (ECONNREFUSED)');
    const two = new AggregateError([Object.assign(new Error('::1'), { code: 'ECONNREFUSED' })]);
    expect(new StatementError(two).message).toBe('PostgreSQL: the connection failed (ECONNREFUSED)');
    expect(new StatementError(new Error('no such host db.example')).message).toBe(
      'PostgreSQL: the connection failed',
    );
    expect(new StatementError(new Error('timeout expired')).message).toBe('PostgreSQL: timeout expired');
    expect(failed('42501').cause).toBeUndefined();
  });

  test('is known to the log by its code, since the log keeps no message', () => {
    const logged = (error: unknown) => describeFailure(error).split('\n')[0];
    expect(logged(failed('ECONNREFUSED'))).toBe('StatementError ECONNREFUSED');
    expect(logged(failed('28P01'))).toBe('StatementError 28P01');
    expect(logged(new StatementError(new Error('timeout expired')))).toBe('StatementError');
  });
});
