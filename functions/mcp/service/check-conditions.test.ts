import { expect, test } from 'vitest';
import type { Json } from '../../kernel/canonical-json.ts';
import { checkConditions, checkGroups } from './check-conditions.ts';

const leaf = { path: '/type', value: 'note' };
const group = { combine: 'any', children: [leaf] };

test.each<[filter: Json]>([
  [null],
  [leaf],
  [{ path: '/a', op: 'exists' }],
  [{ path: '/a', value: '' }],
  [{}],
  [{ path: null, op: null, value: null, combine: null, children: null }],
  [{ path: null, op: null, value: null, combine: 'all', children: [leaf] }],
  [{ path: '', value: '', combine: 'all', children: [{ ...leaf, combine: null, children: null }] }],
  // The schema of the tool or the operation refuses these.
  [{ children: [leaf] }],
  [{ combine: 'all', children: ['/type'] }],
  ['/type'],
])('conditions with their paths are taken: %j', (filter) => {
  expect(() => checkConditions({ filter })).not.toThrow();
});

const NO_PATH = 'must have path beside op and value';
const BOTH = 'must be a condition or a group: put path, op and value into children';
const ALONE = 'must have children beside combine, or a condition without combine';

test.each<[filter: Json, pointer: string, words: string]>([
  [{ op: 'gt', value: 2008 }, '/filter', NO_PATH],
  [{ value: 'note' }, '/filter', NO_PATH],
  [{ op: 'exists', path: null }, '/filter', NO_PATH],
  [{ path: '', value: false }, '/filter', NO_PATH],
  [{ path: '' }, '/filter', NO_PATH],
  [{ path: ' ' }, '/filter', NO_PATH],
  [{ combine: 'all', children: [leaf, { op: 'eq', value: 0 }] }, '/filter/children/1', NO_PATH],
  [{ combine: 'all', children: [{}] }, '/filter/children/0', NO_PATH],
  [{ combine: 'all', children: [] }, '/filter/children', 'must have a condition'],
  [{ ...leaf, children: [] }, '/filter/children', 'must have a condition'],
  [{ ...leaf, ...group }, '/filter', BOTH],
  [{ path: '/type', ...group }, '/filter', BOTH],
  [{ op: 'eq', ...group }, '/filter', BOTH],
  [{ value: 0, ...group }, '/filter', BOTH],
  [{ combine: 'any' }, '/filter', ALONE],
  [{ combine: 'all', ...leaf }, '/filter', ALONE],
  [{ combine: 'all', children: [leaf, { ...leaf, combine: 'all' }] }, '/filter/children/1', ALONE],
])('a filter without a meaning is refused: %j', (filter, pointer, words) => {
  expect(() => checkConditions({ filter })).toThrow(`${pointer}: ${words}`);
});

test('an absent filter restricts nothing', () => {
  expect(() => checkConditions({ collection: 'notes' })).not.toThrow();
});

test('a group in a group is refused with the two ways out', () => {
  for (const child of [group, { ...leaf, children: [] }])
    expect(() => checkGroups({ filter: { combine: 'all', children: [leaf, child] } })).toThrow(
      '/filter/children/1: must be a condition, because a group holds no groups: use in for several values of one path, or one call for each group',
    );
});

test.each<[filter: Json]>([
  [null],
  [leaf],
  [group],
  [{ combine: 'all', children: [null, { children: null }] }],
])('a filter without a group in a group is taken: %j', (filter) => {
  expect(() => checkGroups({ filter })).not.toThrow();
});
