import { expect, test } from 'vitest';
import { distance, nearName } from './near-names.ts';

test.each([
  ['limit', 'limit', 0],
  ['Limit', 'limit', 0],
  ['limt', 'limit', 1],
  ['limit', 'timil', 2],
  ['', 'abc', 3],
])('the distance from %s to %s is %i', (left, right, edits) => {
  expect(distance(left, right)).toBe(edits);
  expect(distance(right, left)).toBe(edits);
});

test.each<[string, string | undefined]>([
  ['tenatId', 'tenantId'],
  ['documentTypes', 'documentType'],
  ['x', undefined],
  ['id', 'id'],
  ['somethingElse', undefined],
  [`tenantId${'x'.repeat(100_000)}`, undefined],
])('near %s is %s', (name, meant) => {
  expect(nearName(name, ['id', 'tenantId', 'documentType', 'limit'])).toBe(meant);
});
