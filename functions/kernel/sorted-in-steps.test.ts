import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { mappedInSteps, sortedInSteps } from './sorted-in-steps.ts';
import { finished } from './turns.ts';

function sorted<T>(items: readonly T[], compare: (left: T, right: T) => number) {
  const steps = sortedInSteps(items, compare);
  for (let count = 0; ; count += 1) {
    const { done, value } = steps.next();
    if (done === true) return { value, count };
  }
}

test('any items are sorted, and equal ones keep their order', () => {
  const item = fc.record({ key: fc.nat(20), at: fc.nat() });
  fc.assert(
    fc.property(fc.array(item, { maxLength: 3_000, size: 'max' }), (items) => {
      const compare = (left: (typeof items)[number], right: (typeof items)[number]) => left.key - right.key;
      expect(sorted(items, compare).value).toEqual(items.toSorted(compare));
    }),
    { numRuns: 30 },
  );
});

test('many items take many steps', () => {
  const items = Array.from({ length: 100_000 }, (_, n) => (n * 7_919) % 100_003);
  const { value, count } = sorted(items, (left, right) => left - right);
  expect(value).toEqual(items.toSorted((left, right) => left - right));
  expect(count).toBeGreaterThan(1_500);
});

test('items are mapped in steps of 512, or of as many as asked', () => {
  const items = Array.from({ length: 1_100 }, (_, n) => n);
  expect([...mappedInSteps(items, String)]).toHaveLength(2);
  expect([...mappedInSteps(items, String, 1)]).toHaveLength(1_100);
  expect(finished(mappedInSteps(items, String))).toEqual(items.map(String));
});
