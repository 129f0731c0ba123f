import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { seedOf } from './effort.ts';

test('a property that names no seed draws from the fixed one', () => {
  expect(fc.readConfigureGlobal()).toEqual({ seed: seedOf('properties') });
  const failed = () => fc.check(fc.property(fc.nat(), (n) => n < 1_000_000));
  expect(failed()).toMatchObject({ failed: true, seed: seedOf('properties') });
  expect(failed().counterexamplePath).toBe(failed().counterexamplePath);
});
