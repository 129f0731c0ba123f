import { expect, test } from 'vitest';
import { forEachBounded } from './bounded.ts';

test('work is bounded; a failure of an item or of the work lets the rest end, begins none, and closes the source', async () => {
  for (const failing of ['item', 'work'] as const) {
    let closed = false;
    const begun: number[] = [];
    const ended: number[] = [];
    async function* numbers() {
      try {
        for (let n = 0; n < 10; n++) {
          if (failing === 'item' && n === 4) throw new RangeError('broken');
          yield n;
        }
      } finally {
        closed = true;
      }
    }
    const gate = Promise.withResolvers<void>();
    const work = async (n: number) => {
      begun.push(n);
      if (n === 2) gate.resolve();
      await gate.promise;
      if (failing === 'work' && n === 1) throw new RangeError('broken');
      ended.push(n);
    };
    await expect(forEachBounded(numbers(), 3, work)).rejects.toThrow('broken');
    expect(begun.slice(0, 3)).toEqual([0, 1, 2]);
    expect(begun.length).toBeLessThanOrEqual(failing === 'item' ? 4 : 5);
    expect(ended).toEqual(begun.filter((n) => failing === 'item' || n !== 1));
    expect(closed).toBe(true);
  }
});
