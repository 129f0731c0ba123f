import { afterEach, describe, expect, test, vi } from 'vitest';
import { tokenHashVector } from './token-hash.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** How often a method was called before each of the first steps over a text of 100,000 characters. */
function callsOf(spy: { readonly mock: { readonly calls: readonly unknown[] } }, text: string): number[] {
  const steps = tokenHashVector(text, 8);
  return [0, 1, 2, 3].map(() => {
    steps.next();
    return spy.mock.calls.length;
  });
}

describe('a long text is read step by step', () => {
  test('word by word', () => {
    const exec = vi.spyOn(RegExp.prototype, 'exec');
    for (const count of callsOf(exec, 'the '.repeat(25_000))) expect(count).toBeLessThan(8);
  });

  test('and in a long word run by run', () => {
    const join = vi.spyOn(Array.prototype, 'join');
    for (const count of callsOf(join, 'a'.repeat(100_000))) expect(count).toBeLessThan(8);
  });
});
