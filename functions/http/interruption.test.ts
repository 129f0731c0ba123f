import { expect, test } from 'vitest';
import { Interruption } from './interruption.ts';

test('a wait settles with its action', async () => {
  const interruption = new Interruption();
  await expect(interruption.wait(Promise.resolve(1))).resolves.toBe(1);
  await expect(interruption.wait(Promise.reject(new Error('failed')))).rejects.toThrow('failed');
});

test('an interruption ends the current wait and every later one', async () => {
  const interruption = new Interruption();
  const pending = interruption.wait(new Promise(() => {}));
  interruption.interrupt(new Error('gone'));
  interruption.interrupt(new Error('later'));
  await expect(pending).rejects.toThrow('gone');
  await expect(interruption.wait(new Promise(() => {}))).rejects.toThrow('gone');
});

test('nothing of a wait is kept after it', async () => {
  const interruption = new Interruption();
  const collected: number[] = [];
  const registry = new FinalizationRegistry((n: number) => collected.push(n));
  for (let n = 0; n < 100; n += 1) {
    const chunk = { bytes: new Uint8Array(100_000) };
    registry.register(chunk, n);
    await interruption.wait(Promise.resolve(chunk));
  }
  // Memory pressure makes the collector run; the loop ends with the first objects that it found.
  for (let n = 0; n < 2_000 && collected.length < 50; n += 1) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    new Uint8Array(1_000_000).fill(n);
  }
  expect(collected.length).toBeGreaterThanOrEqual(50);
});
