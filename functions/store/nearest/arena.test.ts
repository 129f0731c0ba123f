import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Arena, type Block, blockMax, blockMin, scratchBytes } from './arena.ts';

test('blocks do not overlap, stay within the bound, and leave nothing behind', () => {
  const sizes = fc.constantFrom(blockMin, 2 * blockMin, 8 * blockMin, blockMax / 2, blockMax);
  const steps = fc.array(fc.oneof(sizes, fc.record({ give: fc.nat(40) })), { maxLength: 120 });
  const bounds = fc.constantFrom(blockMin, 3 * blockMax, 40 * blockMax);
  fc.assert(
    fc.property(steps, bounds, (taken, bytesMax) => {
      const arena = new Arena(bytesMax);
      const held: Block[] = [];
      for (const step of taken) {
        if (typeof step === 'number') {
          const block = arena.take(step);
          if (block !== null) held.push(block);
        } else {
          const [block] = held.splice(step.give % Math.max(1, held.length), 1);
          if (block !== undefined) arena.give(block);
        }
        const regions = new Set(held.map(({ region }) => region)).size;
        const bytes = held.reduce((sum, block) => sum + block.bytes, 0);
        expect(arena.used).toBe(bytes + regions * scratchBytes);
        expect(arena.used).toBeLessThanOrEqual(bytesMax);
      }
      for (const [at, one] of held.entries()) {
        for (const other of held.slice(at + 1)) {
          const apart = one.offset + one.bytes <= other.offset || other.offset + other.bytes <= one.offset;
          expect(one.region !== other.region || apart).toBe(true);
        }
      }
      for (const block of held) arena.give(block);
      expect(arena.used).toBe(0);
    }),
    { numRuns: 60 },
  );
});

test('memory that lies elsewhere is counted', () => {
  const arena = new Arena(blockMax);
  expect(arena.charge(blockMax)).toBe(true);
  expect(arena.charge(1)).toBe(false);
  expect(arena.take(blockMin)).toBeNull();
  arena.refund(blockMax);
  expect(arena.take(blockMin)).not.toBeNull();
});
