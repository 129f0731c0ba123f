import { expect, test } from 'vitest';
import { Lanes } from './lanes.ts';

const both = ['a', 'b'];

test('gives the run that is oldest at the head of any of the lanes, each once', () => {
  const lanes = new Lanes();
  for (const [handlerId, runId] of [
    ['a', '3'],
    ['b', '1'],
    ['a', '4'],
    ['b', '2'],
    ['c', '0'],
    ['a', '3'],
  ] as const) {
    lanes.add(handlerId, runId);
  }
  expect([lanes.take(both), lanes.take(both)]).toEqual(['1', '2']);
  lanes.remove('3');
  lanes.remove('none');
  expect([lanes.take(both), lanes.take(both), lanes.take(both)]).toEqual(['4', null, null]);
  expect(lanes.take(['c'])).toBe('0');
  expect(lanes.take(['nobody'])).toBeNull();
});

test('a lane is in doubt until the store was asked, and again when anything may be missing', () => {
  const lanes = new Lanes();
  expect(lanes.isComplete(['a'])).toBe(false);
  lanes.setComplete('a', true);
  expect(lanes.isComplete(['a'])).toBe(true);
  expect(lanes.isComplete(both)).toBe(false);
  lanes.setComplete('b', true);
  expect(lanes.isComplete(both)).toBe(true);
  lanes.doubtAll();
  expect(lanes.isComplete(['a'])).toBe(false);
  expect(lanes.isComplete(['b'])).toBe(false);
});

test('what does not fit puts the lane in doubt, and is not remembered', () => {
  const lanes = new Lanes();
  lanes.setComplete('a', true);
  for (let index = 0; index < 4_096; index += 1) lanes.add('a', String(index).padStart(5, '0'));
  expect(lanes.isComplete(['a'])).toBe(true);
  lanes.add('a', '99999');
  expect(lanes.isComplete(['a'])).toBe(false);
  for (let index = 0; index < 4_096; index += 1)
    expect(lanes.take(['a'])).toBe(String(index).padStart(5, '0'));
  expect(lanes.take(['a'])).toBeNull();
});

test('nothing is remembered of a handler that was only asked about, or of which nothing is certain', () => {
  const lanes = new Lanes();
  expect([lanes.isComplete(['x']), lanes.holdsAny(['x']), lanes.take(['x'])]).toEqual([false, false, null]);
  lanes.setComplete('x', false);
  expect(lanes.size).toBe(0);
  lanes.add('x', '1');
  lanes.setComplete('y', true);
  expect(lanes.size).toBe(2);
  lanes.remove('1');
  lanes.doubtAll();
  expect(lanes.size).toBe(0);
});

test('of handlers without a run the thousand that were asked about last are remembered', () => {
  const lanes = new Lanes();
  lanes.setComplete('used', true);
  lanes.setComplete('forgotten', true);
  lanes.setComplete('waiting', true);
  lanes.add('waiting', '1');
  for (let index = 0; index < 5_000; index += 1) {
    lanes.setComplete(`made-up-${index}`, true);
    expect(lanes.isComplete(['used'])).toBe(true);
  }
  expect(lanes.size).toBe(1_001);
  expect(lanes.isComplete(['forgotten'])).toBe(false);
  expect(lanes.isComplete(['waiting'])).toBe(true);
  expect(lanes.take(['waiting'])).toBe('1');
});
