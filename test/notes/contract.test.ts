import { expect, test } from 'vitest';
import { operations } from '../../contracts/generated/operations.ts';
import { operations as own } from './contracts/generated/operations.ts';
import { notesDrift } from './generate.ts';

test('the generated files of the fixture group are what node test/notes/generate.ts makes', async () => {
  expect(await notesDrift()).toEqual([]);
});

test('the fixture group is not in the published catalog', () => {
  expect(Object.keys(own).filter((id) => id in operations)).toEqual([]);
});
