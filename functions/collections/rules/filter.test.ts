import { describe, expect, test } from 'vitest';
import { matches } from './filter.fixture.ts';
import { type Filter, type FilterNode, readFilter } from './filter.ts';

const read = (node: unknown, indexed: readonly string[] = []) => readFilter(node as FilterNode, indexed);
const holds = (record: object, node: unknown, indexed: readonly string[] = []) =>
  matches({ id: '1', partitionKey: 'p', ...record }, { partitionKeys: null, filter: read(node, indexed) });
const fault = (pointer: string, detail: unknown, code = 'validation_failed') =>
  expect.objectContaining({
    code,
    extensions: {
      errors: [{ pointer, detail: typeof detail === 'string' ? expect.stringContaining(detail) : detail }],
    },
  });

describe('a filter of a request', () => {
  const leaf = { path: '/a', value: 1 };

  test.each<[string, unknown]>([
    ['nothing', null],
    ['an empty node', {}],
    ['a blank path', { path: ' ', op: 'nonsense', value: [] }],
    ['an empty group', { combine: 'all', children: [] }],
    ['a group of empty groups', { combine: 'all', children: [{ combine: 'all', children: [{}] }] }],
    ['a word without children', { combine: 'all' }],
  ])('restricts nothing: %s', (_, node) => {
    expect(read(node)).toBeNull();
  });

  test.each<[string, unknown, string]>([
    ['a list', { children: [leaf] }, '/filter/combine'],
    ['a list beside a blank word', { combine: ' ', children: [leaf] }, '/filter/combine'],
    ['an empty list', { children: [] }, '/filter/combine'],
    ['a list beside a path', { ...leaf, children: [leaf] }, '/filter/combine'],
    [
      'such a group in a group',
      { combine: 'all', children: [leaf, { children: [leaf] }] },
      '/filter/children/1/combine',
    ],
  ])('says what to add to a group without a word: %s', (_, node, pointer) => {
    expect(() => read(node)).toThrow(fault(pointer, 'must be added beside children, as all or any'));
  });

  test.each<[string, unknown, string]>([
    ['another word', { combine: 'or', children: [leaf, leaf] }, '/filter/combine'],
    ['another word for an empty list', { combine: 'or', children: [] }, '/filter/combine'],
    [
      'another word in a group',
      { combine: 'all', children: [leaf, { combine: 'or', children: [leaf] }] },
      '/filter/children/1/combine',
    ],
  ])('needs all or any where it has children: %s', (_, node, pointer) => {
    expect(() => read(node)).toThrow(fault(pointer, 'must be all or any'));
  });

  test.each<[string, unknown, string]>([
    ['an empty list', { combine: 'any', children: [] }, '/filter/children'],
    ['no list', { combine: 'any' }, '/filter/children'],
    ['no list, in capitals', { combine: ' ANY ', children: null }, '/filter/children'],
    ['a list beside a path', { ...leaf, combine: 'any', children: [] }, '/filter/children'],
    ['a path whose condition is dropped', { ...leaf, combine: 'all', children: [] }, '/filter/children'],
    ['nodes that say nothing', { combine: 'any', children: [{}, { path: ' ' }] }, '/filter/children'],
    ['empty groups', { combine: 'any', children: [{ combine: 'all', children: [{}] }] }, '/filter/children'],
    [
      'in a group',
      { combine: 'all', children: [leaf, { combine: 'any', children: [] }] },
      '/filter/children/1/children',
    ],
  ])('does not match every record by mistake: %s', (_, node, pointer) => {
    expect(() => read(node)).toThrow(fault(pointer, 'must have a condition'));
  });

  test('drops nodes without a condition', () => {
    const group = { combine: 'all', children: [{}, { combine: 'ANY', children: [leaf, {}] }] };
    expect(read(group)).toEqual(read(leaf));
    expect(read({ combine: ' ALL ', children: [leaf, leaf] })).toMatchObject({ combine: 'all' });
    expect(read({ combine: 'Any', children: [leaf, leaf] })).toMatchObject({ combine: 'any' });
    // Clients that write every member.
    for (const rest of [{ children: null }, { children: [] }, { children: [], combine: null }])
      expect(read({ ...leaf, ...rest })).toEqual(read(leaf));
  });

  test('reads operators in any case, with white space, and eq by default', () => {
    for (const op of [undefined, null, '', ' eq ', 'EQ']) expect(read({ ...leaf, op })).toEqual(read(leaf));
    expect(read({ path: '/a', op: 'STARTSWITH', value: 'x' })).toMatchObject({ op: 'startsWith', text: 'x' });
  });

  test('reads both forms of a path, and four members in any case', () => {
    const pathOf = (path: string) => {
      const filter = read({ path }) as Exclude<Filter, { combine: unknown }>;
      return filter.path.text;
    };
    expect(pathOf('$.metadata.a-b')).toBe('/metadata/a-b');
    expect(['/ID', '$.partitionKEY', '/updatedat', '/Revision', '/Type', '/metadata/ID'].map(pathOf)).toEqual(
      ['/id', '/partitionKey', '/updatedAt', '/revision', '/Type', '/metadata/ID'],
    );
  });

  test.each(['a', '/', '$', '$.', '//a', '/a/', '/a b', '/a~1b', '/é', '/a.b', '$.a/b', '$a', ' /a'])(
    'refuses the path %j',
    (path) => {
      expect(() => read({ path })).toThrow(fault('/filter/path', 'JSON Pointer'));
    },
  );

  test.each<[string, unknown, string]>([
    ['eq', [1], 'scalar'],
    ['neq', { a: 1 }, 'scalar'],
    ['gt', [], 'scalar'],
    ['exists', {}, 'scalar'],
    ['contains', ['x'], 'scalar'],
    ['gte', null, 'null'],
    ['lt', undefined, 'null'],
    ['exists', 1, 'true, false or null'],
    ['exists', 'true', 'true, false or null'],
    ['contains', 1, 'string'],
    ['startsWith', null, 'string'],
    ['in', 'x', 'array'],
    ['in', undefined, 'array'],
  ])('refuses for %s the value %j', (op, value, detail) => {
    expect(() => read({ path: '/a', op, value })).toThrow(fault('/filter/value', detail));
  });

  test('names the place of a fault', () => {
    const bad = {
      combine: 'all',
      children: [leaf, { combine: 'any', children: [{ path: '/a', op: 'like' }] }],
    };
    expect(() => read(bad)).toThrow(fault('/filter/children/1/children/0/op', 'must be one of eq'));
    expect(() => read({ path: '/a', op: 'in', value: [1, [2]] })).toThrow(fault('/filter/value/1', 'scalar'));
  });

  test('compares an indexed path with numbers alone, in any spelling', () => {
    for (const path of ['/metadata/a', '$.metadata.a']) {
      const node = { path, op: 'gt', value: 'x' };
      expect(() => read(node, ['/metadata/a'])).toThrow(fault('/filter/value', 'must be a number'));
      expect(read(node, ['/metadata/b'])).not.toBeNull();
    }
    expect(() => read({ path: '/id', op: 'lt', value: 'x' }, ['/ID'])).toThrow(
      fault('/filter/value', 'number'),
    );
  });

  test('may be 16 deep and have 100 nodes', () => {
    const nested = (depth: number): FilterNode =>
      depth === 1 ? leaf : { combine: 'all', children: [nested(depth - 1)] };
    expect(read(nested(16))).toEqual(read(leaf));
    const deep = `/filter${'/children/0'.repeat(16)}`;
    expect(() => read(nested(17))).toThrow(fault(deep, '16', 'limit_exceeded'));
    expect(() => read(nested(5_000))).toThrow(fault(deep, '16', 'limit_exceeded'));
    const wide = (leaves: number) => ({
      combine: 'any',
      children: Array.from({ length: leaves }, () => leaf),
    });
    expect(read(wide(99))).toMatchObject({ combine: 'any' });
    expect(() => read(wide(100))).toThrow(fault('/filter/children/99', '100', 'limit_exceeded'));
  });

  test('holds a list of 10,000 values', () => {
    const value = Array.from({ length: 10_000 }, (_, index) => index);
    expect(holds({ a: 9_999 }, { path: '/a', op: 'in', value })).toBe(true);
    expect(holds({ a: '1' }, { path: '/a', op: 'in', value })).toBe(false);
  });
});

describe('a leaf', () => {
  const record = { s: 'Text', n: 5, t: true, z: null, list: [1, 'two'], object: { a: 1 }, 'b-c': 1 };
  test.each<[boolean, string, string, unknown]>([
    [true, '/s', 'eq', 'Text'],
    [false, '/s', 'eq', 'text'],
    [false, '/n', 'eq', '5'],
    [false, '/t', 'eq', 'true'],
    [false, '/t', 'eq', 1],
    [true, '/z', 'eq', null],
    [false, '/none', 'eq', null],
    [false, '/none', 'neq', null],
    [false, '/none', 'neq', 'x'],
    [true, '/s', 'neq', null],
    [false, '/z', 'neq', null],
    [true, '/z', 'neq', 'x'],
    [true, '/n', 'neq', '5'],
    [true, '/list', 'neq', 1],
    [false, '/list', 'eq', 1],
    [true, '/list/1', 'eq', 'two'],
    [false, '/list/01', 'eq', 'two'],
    [false, '/list/length', 'exists', true],
    [true, '/object/a', 'eq', 1],
    [false, '/s/length', 'exists', true],
    [false, '/__proto__', 'exists', true],
    [false, '/constructor', 'exists', true],
    [true, '/n', 'in', ['5', 5]],
    [false, '/n', 'in', []],
    [true, '/z', 'in', [null]],
    [false, '/none', 'in', [null]],
    [true, '/n', 'gt', 4],
    [false, '/n', 'gt', 5],
    [true, '/n', 'gte', 5],
    [true, '/n', 'lt', 5.5],
    [false, '/n', 'lt', 5],
    [true, '/n', 'lte', 5],
    [false, '/n', 'gt', '4'],
    [true, '/s', 'gt', 'Tex'],
    [false, '/s', 'lt', 'Text'],
    [false, '/t', 'gte', true],
    [false, '/none', 'lt', 1],
    [false, '/z', 'lte', 1],
    [true, '/z', 'exists', null],
    [true, '/z', 'exists', true],
    [false, '/z', 'exists', false],
    [true, '/none', 'exists', false],
    [true, '/s', 'contains', 'ex'],
    [false, '/s', 'contains', 'EX'],
    [false, '/list', 'contains', 'two'],
    [true, '/s', 'startsWith', ''],
    [true, '/s', 'startsWith', 'Te'],
    [false, '/n', 'startsWith', '5'],
  ])('%s: %s %s %j', (expected, path, op, value) => {
    expect(holds(record, { path, op, value })).toBe(expected);
  });

  test('compares texts by code points', () => {
    expect(holds({ s: '😀' }, { path: '/s', op: 'gt', value: '\uE000' })).toBe(true);
  });
});
