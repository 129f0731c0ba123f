import { expect, test } from 'vitest';
import { failureOf } from './outcome.ts';
import { RunFailure } from './plugin.ts';

test.each<[unknown, string]>([
  ['validation', 'validation'],
  ['  spaced  ', 'spaced'],
  ['x'.repeat(160), 'x'.repeat(160)],
  ['x'.repeat(161), 'unknown'],
  ['', 'unknown'],
  ['a\nb', 'unknown'],
  ['\ud800', 'unknown'],
  [Symbol('s'), 'Symbol(s)'],
  [Object.create(null), 'unknown'],
])('the class %j of a failure becomes %j', (given, expected) => {
  expect(failureOf(new RunFailure(given as string, 'm')).failureClass).toBe(expected);
});

test.each<[unknown, string]>([
  ['failed', 'failed'],
  ['timed_out', 'timed_out'],
  ['rejected', 'rejected'],
  ['succeeded', 'failed'],
  ['cancelled', 'cancelled'],
  [7, 'failed'],
])('the status %j of a failure becomes %j', (given, expected) => {
  expect(failureOf(new RunFailure('c', 'm', { status: given as 'failed' })).status).toBe(expected);
});
