import { expect, test } from 'vitest';
import { ReadyRunLanes } from './lanes.ts';

const both = ['a', 'b'];

test('gives the run that is oldest at the head of any of the lanes, each once', () => {
  const lanes = new ReadyRunLanes();
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
  expect(lanes.take(['unknown'])).toBeNull();
});

test('a lane is incomplete until a search of the store, and again when messages may be missing', () => {
  const lanes = new ReadyRunLanes();
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

test('a run that does not fit makes the lane incomplete, and is not kept', () => {
  const lanes = new ReadyRunLanes();
  lanes.setComplete('a', true);
  for (let index = 0; index < 4_096; index += 1) lanes.add('a', String(index).padStart(5, '0'));
  expect(lanes.isComplete(['a'])).toBe(true);
  lanes.add('a', '99999');
  expect(lanes.isComplete(['a'])).toBe(false);
  for (let index = 0; index < 4_096; index += 1)
    expect(lanes.take(['a'])).toBe(String(index).padStart(5, '0'));
  expect(lanes.take(['a'])).toBeNull();
});

test('no lane is kept for a handler that was only queried, or whose lane is incomplete', () => {
  const lanes = new ReadyRunLanes();
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
  const lanes = new ReadyRunLanes();
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

test('of owners that may not have a run none is taken, and the others keep their order', () => {
  const lanes = new ReadyRunLanes();
  for (const [runId, owner] of [
    ['1', 'ada'],
    ['2', 'ada'],
    ['3', 'bob'],
    ['4', null],
    ['5', 'bob'],
  ] as const) {
    lanes.add('a', runId, owner);
  }
  const butAda = (owner: string | null) => owner !== 'ada';
  expect(lanes.holdsOther(['a'], 'ada')).toBe(true);
  expect([lanes.take(both, butAda), lanes.take(both, butAda)]).toEqual(['3', '4']);
  expect([lanes.take(both), lanes.take(both, butAda), lanes.take(both, butAda)]).toEqual(['1', '5', null]);
  expect([lanes.holdsOther(['a'], 'ada'), lanes.holdsOther(['a'], 'bob')]).toEqual([false, true]);
  expect(lanes.take(both)).toBe('2');
  expect(lanes.holdsAny(both)).toBe(false);
});

test('a lane that lacks the runs of some owners is complete for the others', () => {
  const lanes = new ReadyRunLanes();
  const owners = new Set(['ada']);
  const butAda = (owner: string | null) => owner !== 'ada';
  lanes.learn('a', [], true, { owners, isWhole: true });
  expect([lanes.isComplete(['a']), lanes.isComplete(['a'], butAda)]).toEqual([false, true]);
  // A search for the missing runs finds some of them, and does not exclude others.
  lanes.learn('a', [{ runId: '1', owner: 'ada' }], false);
  expect([lanes.isComplete(['a']), lanes.isComplete(['a'], butAda)]).toEqual([false, true]);
  lanes.learn('a', [{ runId: '2', owner: 'bob' }], false);
  expect(lanes.isComplete(['a'], butAda)).toBe(false);
  // Where the first search saw a part of the queue, the next one may be about another part.
  lanes.learn('a', [], true, { owners, isWhole: false });
  expect(lanes.isComplete(['a'], butAda)).toBe(true);
  lanes.learn('a', [{ runId: '3', owner: 'ada' }], false);
  expect(lanes.isComplete(['a'], butAda)).toBe(false);
  lanes.learn('a', [], true);
  expect(lanes.isComplete(['a'])).toBe(true);
});

test('a full lane takes runs of a further owner, and lacks those of the owner that fills it', () => {
  const lanes = new ReadyRunLanes();
  lanes.setComplete('a', true);
  const id = (index: number) => String(index).padStart(5, '0');
  for (let index = 0; index <= 4_096; index += 1) lanes.add('a', id(index), 'ada');
  lanes.add('a', '90000', 'bob');
  const butAda = (owner: string | null) => owner !== 'ada';
  expect([lanes.isComplete(['a']), lanes.isComplete(['a'], butAda)]).toEqual([false, true]);
  expect(lanes.take(['a'], butAda)).toBe('90000');
  for (let index = 0; index <= 4_096; index += 1) lanes.add('a', `9${id(index)}`, `owner ${index}`);
  expect(lanes.isComplete(['a'], butAda)).toBe(false);
});
