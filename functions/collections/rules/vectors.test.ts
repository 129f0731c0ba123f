import { describe, expect, test } from 'vitest';
import { readPolicy } from './policy.ts';
import { readVectors, type VectorRequest } from './vectors.ts';

const policy = readPolicy({
  name: 'c',
  vectorPolicies: [
    { name: 'v', path: '/vectors/v/values', dimensions: 2 },
    { name: 'dot', path: '/vectors/dot/values', dimensions: 1, distanceFunction: 'DotProduct' },
  ],
});
const fault = (pointer: string) =>
  expect.objectContaining({
    code: 'validation_failed',
    extensions: { errors: [expect.objectContaining({ pointer })] },
  });

describe('the vectors of a record', () => {
  test('are float32 with every member filled in', () => {
    expect(readVectors({ v: { values: [0.1, -0] } }, policy).get('v')).toEqual({
      values: Float32Array.of(Math.fround(0.1), -0),
      dimensions: 2,
      datatype: 'float32',
      distanceFunction: 'cosine',
      model: null,
      generatedAt: null,
      sourceField: null,
    });
    expect(readVectors({}, policy).size).toBe(0);
  });

  test('may say 0 dimensions, and words in any case', () => {
    const vectors = {
      v: { values: [1, 2], dimensions: 0, datatype: 'FLOAT32', model: 'm' },
      dot: { values: [1], dimensions: 1, distanceFunction: 'dotproduct' },
    };
    const read = readVectors(vectors, policy);
    expect(read.get('v')).toMatchObject({ dimensions: 2, datatype: 'FLOAT32', model: 'm' });
    expect(read.get('dot')).toMatchObject({ dimensions: 1, distanceFunction: 'dotproduct' });
  });

  test.each<[string, Record<string, VectorRequest>]>([
    ['/vectors/other', { other: { values: [1] } }],
    ['/vectors/a~1b', { 'a/b': { values: [1] } }],
    ['/vectors/toString', { toString: { values: [1] } }],
    ['/vectors/v/values', { v: { values: [1] } }],
    ['/vectors/v/values', { v: { values: [1, 2, 3] } }],
    ['/vectors/v/dimensions', { v: { values: [1, 2], dimensions: 3 } }],
    ['/vectors/v/values/1', { v: { values: [1, Number.NaN] } }],
    ['/vectors/v/values/0', { v: { values: [1e39, 1] } }],
    ['/vectors/v/datatype', { v: { values: [1, 2], datatype: 'float64' } }],
    ['/vectors/v/distanceFunction', { v: { values: [1, 2], distanceFunction: 'euclidean' } }],
    ['/vectors/dot/distanceFunction', { dot: { values: [1] } }],
  ])('are refused at %s', (pointer, vectors) => {
    expect(() => readVectors(vectors, policy)).toThrow(fault(pointer));
  });

  test('name the dimensions that are wanted', () => {
    expect(() => readVectors({ v: { values: [] } }, policy)).toThrow('2 dimensions');
  });
});
