import { expect, test } from 'vitest';
import { operations } from '../../contracts/generated/operations.ts';
import { operations as own } from './contracts/generated/operations.ts';

test('the fixture group is not in the published catalog', () => {
  expect(Object.keys(own).filter((id) => id in operations)).toEqual([]);
});
