import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { incarnationOf, isIncarnation } from './incarnation.ts';
import { checkCollectionName, normalPolicy, type PolicyRequest, readPolicy, samePolicy } from './policy.ts';

const fault = (pointer: string, code = 'validation_failed') =>
  expect.objectContaining({ code, extensions: { errors: [expect.objectContaining({ pointer })] } });
const vector = (members: object = {}) => ({
  name: 'v',
  path: '/vectors/v/values',
  dimensions: 3,
  ...members,
});

describe('a collection name', () => {
  test.each(['a', '7', 'A.b_c-d', 'a..b', 'x'.repeat(255)])('may be %j', (name) => {
    expect(checkCollectionName(name, '/name')).toBe(name);
  });

  test.each(['', '-a', 'a.', '_', '.', 'a b', 'é', 'a/b', 'a\n', '\na'])('may not be %j', (name) => {
    expect(() => checkCollectionName(name, '/name')).toThrow(fault('/name'));
  });

  test('has at most 255 characters', () => {
    expect(() => checkCollectionName('x'.repeat(256), '/name')).toThrow(fault('/name', 'limit_exceeded'));
  });
});

describe('a policy', () => {
  test('has defaults for all but its name', () => {
    const plain = { name: 'c', partitionKeyPath: '/partitionKey', vectorPolicies: [], indexedMetadata: [] };
    expect(readPolicy({ name: 'c' })).toEqual(plain);
    const nulls = { name: 'c', partitionKeyPath: null, vectorPolicies: null, indexedMetadata: null };
    expect(readPolicy(nulls)).toEqual(plain);
    expect(readPolicy({ name: 'c', vectorPolicies: [vector({ datatype: null })] }).vectorPolicies).toEqual([
      vector({ datatype: 'float32', distanceFunction: 'cosine', indexType: 'flat' }),
    ]);
  });

  test('keeps order and spelling of the request', () => {
    const request = {
      name: 'c',
      indexedMetadata: ['/b', '/a'],
      vectorPolicies: [
        vector({ datatype: 'FLOAT32', distanceFunction: 'DotProduct', indexType: 'diskann' }),
        vector({ name: 'a', path: '/vectors/a/values' }),
      ],
    };
    expect(readPolicy(request)).toMatchObject(request);
  });

  test.each<[string, Partial<PolicyRequest>]>([
    ['/policy/name', { name: 'c/d' }],
    ['/policy/partitionKeyPath', { partitionKeyPath: '/tenant' }],
    ['/policy/vectorPolicies/0/name', { vectorPolicies: [vector({ name: 'a.b' })] }],
    ['/policy/vectorPolicies/0/name', { vectorPolicies: [vector({ name: '' })] }],
    [
      '/policy/vectorPolicies/0/name',
      { vectorPolicies: [vector({ name: '__proto__', path: '/vectors/__proto__/values' })] },
    ],
    ['/policy/vectorPolicies/1/name', { vectorPolicies: [vector(), vector()] }],
    ['/policy/vectorPolicies/0/path', { vectorPolicies: [vector({ path: '/vectors/w/values' })] }],
    ['/policy/vectorPolicies/0/path', { vectorPolicies: [vector({ path: '/vectors/v' })] }],
    ['/policy/vectorPolicies/0/dimensions', { vectorPolicies: [vector({ dimensions: 0 })] }],
    ['/policy/vectorPolicies/0/dimensions', { vectorPolicies: [vector({ dimensions: 1.5 })] }],
    ['/policy/vectorPolicies/0/datatype', { vectorPolicies: [vector({ datatype: 'float64' })] }],
    ['/policy/vectorPolicies/0/distanceFunction', { vectorPolicies: [vector({ distanceFunction: '' })] }],
    ['/policy/vectorPolicies/0/indexType', { vectorPolicies: [vector({ indexType: 'hnsw' })] }],
    ['/policy/indexedMetadata/1', { indexedMetadata: ['/a', 'b'] }],
    ['/policy/indexedMetadata/0', { indexedMetadata: ['/a/'] }],
    ['/policy/indexedMetadata/0', { indexedMetadata: [''] }],
    ['/policy/indexedMetadata/0', { indexedMetadata: ['/a~0b'] }],
    ['/policy/indexedMetadata/0', { indexedMetadata: ['$.a'] }],
    ['/policy/indexedMetadata/2', { indexedMetadata: ['/a', '/b', '/a'] }],
  ])('is refused at %s', (pointer, members) => {
    expect(() => readPolicy({ name: 'c', ...members }, '/policy')).toThrow(fault(pointer));
  });
});

describe('the same policy', () => {
  const anyCase = (words: string[]) =>
    fc
      .tuple(fc.constantFrom(...words), fc.boolean())
      .map(([word, upper]) => (upper ? word.toUpperCase() : word));
  const vectors = fc
    .uniqueArray(fc.constantFrom('a', 'b', 'C', 'constructor'), { maxLength: 3 })
    .chain((names) =>
      fc.tuple(
        ...names.map((name) =>
          fc.record({
            name: fc.constant(name),
            path: fc.constant(`/vectors/${name}/values`),
            dimensions: fc.integer({ min: 1, max: 2 }),
            distanceFunction: anyCase(['cosine', 'dotProduct']),
            indexType: anyCase(['flat', 'quantizedFlat', 'diskANN']),
          }),
        ),
      ),
    );
  const policies = fc
    .record({
      name: fc.constantFrom('c', 'C'),
      vectorPolicies: vectors,
      indexedMetadata: fc.uniqueArray(fc.constantFrom('/a', '/b', '/c'), { maxLength: 2 }),
    })
    .map((request) => readPolicy(request));
  type Policy = ReturnType<typeof readPolicy>;

  /** Every entry of the one in the other and the other way round, member by member. */
  function naive(a: Policy, b: Policy): boolean {
    const within = (left: Policy, right: Policy) =>
      left.vectorPolicies.every((one) =>
        right.vectorPolicies.some(
          (other) =>
            one.name === other.name &&
            one.dimensions === other.dimensions &&
            one.datatype.toLowerCase() === other.datatype.toLowerCase() &&
            one.distanceFunction.toLowerCase() === other.distanceFunction.toLowerCase() &&
            one.indexType.toLowerCase() === other.indexType.toLowerCase(),
        ),
      ) && left.indexedMetadata.every((path) => right.indexedMetadata.includes(path));
    return a.name === b.name && within(a, b) && within(b, a);
  }

  /** The same policy in another order and in capitals: two that are drawn apart are seldom equal. */
  const respelt = (policy: Policy): Policy => ({
    ...policy,
    vectorPolicies: policy.vectorPolicies
      .map((each) => ({ ...each, distanceFunction: each.distanceFunction.toUpperCase() }))
      .reverse(),
    indexedMetadata: [...policy.indexedMetadata].reverse(),
  });
  const pairs = fc.oneof(
    fc.tuple(policies, policies),
    policies.map((policy): [Policy, Policy] => [policy, respelt(policy)]),
  );

  const differs = (same: typeof samePolicy) =>
    fc.check(
      fc.property(pairs, ([a, b]) => same(a, b) === naive(a, b)),
      { numRuns: 5_000 },
    ).failed;

  test('agrees with a second implementation', () => {
    expect(differs(samePolicy)).toBe(false);
  });

  test('the comparison finds order and case', () => {
    expect(differs((a, b) => JSON.stringify(a) === JSON.stringify(b))).toBe(true);
    expect(differs((a, b) => samePolicy({ ...a, indexedMetadata: [] }, { ...b, indexedMetadata: [] }))).toBe(
      true,
    );
  });

  test('has one normal form', () => {
    fc.assert(
      fc.property(policies, (policy) => {
        const normal = normalPolicy(policy);
        expect(normalPolicy(normal)).toEqual(normal);
        expect(readPolicy(normal)).toEqual(normal);
        expect(samePolicy(policy, normal)).toBe(true);
      }),
    );
  });
});

test('an incarnation is 16 random bytes as hexadecimal', () => {
  const incarnation = incarnationOf(Uint8Array.from({ length: 16 }, (_, index) => index * 17));
  expect(incarnation).toBe('00112233445566778899aabbccddeeff');
  expect(isIncarnation(incarnation)).toBe(true);
  expect([incarnation.toUpperCase(), incarnation.slice(1), `${incarnation}0`, ''].some(isIncarnation)).toBe(
    false,
  );
  expect(() => incarnationOf(new Uint8Array(15))).toThrow(TypeError);
});
