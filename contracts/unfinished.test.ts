import { expect, test } from 'vitest';
import { unfinishedStubs } from '../scripts/new-operation/unfinished.fixture.ts';

test('every stub of npm run new-operation is written', () => {
  expect(unfinishedStubs('.')).toEqual([]);
});
