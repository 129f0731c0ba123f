import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareUtf8 } from './utf8-order.ts';

const units = fc.constantFrom('a', 'b', 'é', '\uD7FF', '\uE000', '\uFFFF', '😀', '\u{10FFFF}', '\0');
const parts = fc.string({ unit: units, maxLength: 4 });

test('texts are ordered as their UTF-8 bytes are, also behind a long beginning', () => {
  const beginnings = fc.tuple(units, fc.constantFrom(0, 1, 31, 32, 33, 100));
  fc.assert(
    fc.property(beginnings, parts, parts, ([unit, count], left, right) => {
      const [a, b] = [unit.repeat(count) + left, unit.repeat(count) + right];
      expect(Math.sign(compareUtf8(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
    { numRuns: 5_000 },
  );
});
