import { expect, test } from 'vitest';
import type { Json } from '../../kernel/canonical-json.ts';
import { checkConditions } from './check-conditions.ts';

const leaf = { path: '/type', value: 'note' };

test.each<[filter: Json]>([
  [null],
  [leaf],
  [{ path: '/a', op: 'exists' }],
  [{}],
  [{ path: null, op: null, value: null, combine: 'all', children: [leaf, {}] }],
  // The operation refuses this one.
  [{ combine: 'any' }],
  ['/type'],
])('conditions with their paths are taken: %j', (filter) => {
  expect(() => checkConditions({ filter })).not.toThrow();
});

test.each<[filter: Json, pointer: string]>([
  [{ op: 'gt', value: 2008 }, '/filter'],
  [{ value: 'note' }, '/filter'],
  [{ op: 'exists', path: null }, '/filter'],
  [{ path: '', value: false }, '/filter'],
  [{ combine: 'all', children: [leaf, { op: 'eq', value: 0 }] }, '/filter/children/1'],
])('a condition without its path is refused: %j', (filter, pointer) => {
  expect(() => checkConditions({ filter })).toThrow(`${pointer}: must have path beside op and value`);
});

test('an absent filter restricts nothing', () => {
  expect(() => checkConditions({ collection: 'notes' })).not.toThrow();
});
