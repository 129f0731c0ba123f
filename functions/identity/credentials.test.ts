import { expect, test } from 'vitest';
import { bearerToken } from './credentials.ts';

test.each([
  ['Bearer a', 'a'],
  ['BEARER  a ', 'a'],
  ['Bearer', undefined],
  ['Bearer ', undefined],
  ['Bearera', undefined],
  ['Bearer\ta', undefined],
  [undefined, undefined],
])('the value %j holds the bearer token %j', (value, token) => {
  expect(bearerToken(value)).toBe(token);
});
