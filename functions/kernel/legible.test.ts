import { expect, test } from 'vitest';
import { hostileErrors } from '../../test/support/hostile-errors.ts';
import { legible } from './legible.ts';
import { describeFailure } from './log.ts';

test('a value is read, or replaced where the reading throws', () => {
  expect(legible(() => 1, 2)).toBe(1);
  const unreadable = (): number => {
    throw new Error('no');
  };
  expect(legible(unreadable, 2)).toBe(2);
});

test.each([...hostileErrors(Error)])('the log describes %s', (_, thrown) => {
  const text = describeFailure(thrown);
  expect(text).not.toBe('');
  expect(text).not.toContain('canary');
});
