import { expect, test } from 'vitest';
import { APIConnectionError, APIStatusError, SvcError } from '../sdk/typescript/src/index.ts';
import { lineOf, passes } from './run-example.ts';

/** How examples end. */

test('an error is one line, with what is behind it', () => {
  expect(lineOf(new Error('first\n  at second'))).toBe('first');
  expect(lineOf(new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') }))).toBe(
    'TypeError: fetch failed (ECONNREFUSED)',
  );
  expect(lineOf('a text')).toBe('a text');
});

test('a broken promise is no matter of a busy machine', () => {
  expect(passes(new Error('3 reads saw neither edition whole'))).toBe(false);
  expect(passes(new Error('The job 1 is failed with 3 of 4: transient'))).toBe(true);
  expect(passes(new APIConnectionError('no answer'))).toBe(true);
  expect(passes(new SvcError('another'))).toBe(false);
  expect(passes(Object.create(APIStatusError.prototype, { status: { value: 503 } }))).toBe(true);
  expect(passes(Object.create(APIStatusError.prototype, { status: { value: 400 } }))).toBe(false);
});
