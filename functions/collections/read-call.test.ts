import { expect, test } from 'vitest';
import { attemptsOf } from './read-call.ts';

test('a call counts the most that one of its attempts held, and counts nothing that was refused', () => {
  const counted: number[] = [];
  const grow = (bytes: number): void => {
    if (counted.length === 3) throw new Error('busy');
    counted.push(bytes);
  };
  const attempt = attemptsOf({ grow });
  const first = attempt();
  first.add(10);
  first.drop(10);
  first.add(4);
  first.add(9);
  const second = attempt();
  second.add(13);
  expect(counted).toEqual([10, 3]);
  second.add(1);
  expect(() => second.add(5)).toThrow('busy');
  expect(() => attempt().add(19)).toThrow('busy');
  attempt().add(14);
  expect(counted).toEqual([10, 3, 1]);
});
