import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { indexValue, numberValue } from './index-value.ts';
import { isIndexPointer, readPath } from './path.ts';
import { indexName, projectedPaths, projectValues } from './projection.ts';

const numbers = fc.double({ noNaN: true, noDefaultInfinity: true });

describe('the text of an index value', () => {
  test.each([
    [null, 'z'],
    [true, 'b1'],
    [false, 'b0'],
    ['', 's'],
    ['a', 'sa'],
    [0, 'n8000000000000000'],
    [-0, 'n8000000000000000'],
    [1, 'nbff0000000000000'],
    [-1, 'n400fffffffffffff'],
    [Number.MAX_VALUE, 'nffefffffffffffff'],
    [-Number.MAX_VALUE, 'n0010000000000000'],
    [5e-324, 'n8000000000000001'],
    ['a\0b', 'sa'],
  ])('of %j is %j', (value, text) => {
    expect(indexValue(value)).toBe(text);
  });

  test('is missing for a value that is not scalar', () => {
    expect([undefined, [], ['a'], {}].map(indexValue)).toEqual([undefined, undefined, undefined, undefined]);
  });

  test('sorts numbers as numbers', () => {
    const sorts = (text: (value: number) => string) =>
      !fc.check(
        fc.property(numbers, numbers, (a, b) => {
          const order = a === b ? 0 : a < b ? -1 : 1;
          const [left, right] = [text(a), text(b)];
          return (left === right ? 0 : left < right ? -1 : 1) === order;
        }),
        { numRuns: 10_000 },
      ).failed;
    expect(sorts(numberValue)).toBe(true);
    const withoutSigns = (value: number) => `n${numberValue(Math.abs(value)).slice(1)}`;
    expect(sorts(withoutSigns)).toBe(false);
  });

  test('cuts a string at 700 bytes, at a whole character', () => {
    expect(indexValue('x'.repeat(700))).toHaveLength(701);
    expect(indexValue(`${'x'.repeat(699)}é`)).toBe(`s${'x'.repeat(699)}`);
    expect(indexValue('😀'.repeat(300))).toBe(`s${'😀'.repeat(175)}`);
  });

  test('distinguishes types', () => {
    const values = ['1', 1, true, 'true', '1b', 'z', null, 'null', false, 0, ''];
    expect(new Set(values.map(indexValue)).size).toBe(values.length);
  });
});

describe('the projection', () => {
  test('holds the type, three members of RAG records and 28 paths of the policy', () => {
    const policy = Array.from({ length: 40 }, (_, index) => `/metadata/m${index}`);
    const paths = projectedPaths(policy).map(({ text }) => text);
    expect(paths).toHaveLength(32);
    expect(paths.slice(0, 5)).toEqual([
      '/type',
      '/metadata/documentId',
      '/metadata/textHash',
      '/metadata/embeddingTextHash',
      '/metadata/m0',
    ]);
    expect(paths.at(-1)).toBe('/metadata/m27');
  });

  test('holds a path once', () => {
    const paths = projectedPaths(['/type', '/metadata/documentId', '/ID', '/id']).map(({ text }) => text);
    expect(paths).toEqual([
      '/type',
      '/metadata/documentId',
      '/metadata/textHash',
      '/metadata/embeddingTextHash',
      '/id',
    ]);
  });

  test('has entries for scalar values alone, and for own members alone', () => {
    const record = {
      type: 'rag.chunk',
      metadata: { documentId: 'd', textHash: null, a: [1], b: 2, nested: { c: true } },
    };
    const paths = projectedPaths([
      '/metadata/a',
      '/metadata/b',
      '/metadata/nested/c',
      '/__proto__',
      '/toString',
    ]);
    expect(projectValues(record, paths)).toEqual({
      '/type': 'srag.chunk',
      '/metadata/documentId': 'sd',
      '/metadata/textHash': 'z',
      '/metadata/b': 'nc000000000000000',
      '/metadata/nested/c': 'b1',
    });
  });

  test('names an index by its path, in at most 64 characters', () => {
    const long = (end: string) => indexName(readPath(`/${'a'.repeat(100)}${end}`, ''));
    expect(indexName(readPath('/metadata/a', ''))).toBe('/metadata/a');
    expect(long('x')).toHaveLength(64);
    expect(long('x')).not.toBe(long('y'));
    expect(isIndexPointer(long('x'))).toBe(false);
  });
});

test('a path of another form is refused with an example that is a path', () => {
  const words = 'must be a JSON Pointer whose segments hold letters, digits, _ and -, such as /metadata/type';
  for (const text of ['', 'type', 'metadata.type', '/a b', '/'])
    expect(() => readPath(text, '/filter/path')).toThrow(`/filter/path: ${words}`);
  expect(isIndexPointer(words.split(' ').at(-1) ?? '')).toBe(true);
});
