import { expect, test } from 'vitest';
import { createLargeAnswers } from './large-answers.ts';

/** The turns of the event loop that lie between two large answers. */
const TURNS = 64;

/** A turn of the event loop lasts until the test begins the next. */
function answers() {
  const callbacks: (() => void)[] = [];
  const large = createLargeAnswers((callback) => callbacks.push(callback));
  const done: string[] = [];
  const request = (caller: string, bytes: number, operation = 'query') => {
    const work = () => {
      done.push(caller);
      large.spent(operation, bytes);
    };
    const turn = large.turnOf(caller, operation);
    if (turn === null) work();
    else void turn.then(work);
  };
  const nextTurn = async () => {
    for (const callback of callbacks.splice(0)) callback();
    await Promise.resolve();
    return done.splice(0);
  };
  /** The answers made in the next possible turn; the turns before it must make none. */
  const nextMade = async () => {
    for (let turn = 1; turn < TURNS; turn += 1) expect(await nextTurn()).toEqual([]);
    return nextTurn();
  };
  return { request, nextTurn, nextMade, done };
}

const LARGE = 8 * 1024 * 1024;
const SMALL = 16 * 1024;

test('small answers never wait for one another', () => {
  const { request, done } = answers();
  for (let n = 0; n < 100; n += 1) request('a', 1_000);
  expect(done.splice(0)).toHaveLength(100);
  for (let n = 0; n < 3; n += 1) request('a', LARGE);
  for (let n = 0; n < 3; n += 1) request('a', 1_000, 'health');
  expect(done).toEqual(['a', 'a', 'a', 'a']);
});

test('large answers are made one by one, with turns of the event loop for others between', async () => {
  const { request, nextMade, done } = answers();
  for (let n = 0; n < 4; n += 1) request('a', LARGE);
  expect(done.splice(0)).toEqual(['a']);
  expect([await nextMade(), await nextMade(), await nextMade(), await nextMade()]).toEqual([
    ['a'],
    ['a'],
    ['a'],
    [],
  ]);
  request('a', LARGE);
  expect(done).toEqual(['a']);
});

test('small answers do not prolong the wait for a large one, and do not wait however many there are', async () => {
  const { request, nextTurn, done } = answers();
  request('a', LARGE);
  request('a', LARGE);
  done.splice(0);
  // In these turns together, the small answers exceed the size of a large answer.
  for (let turn = 1; turn < TURNS; turn += 1) {
    for (let n = 0; n < 2; n += 1) request('b', SMALL, 'commit');
    expect(await nextTurn()).toEqual(['b', 'b']);
  }
  request('b', SMALL, 'commit');
  expect(await nextTurn()).toEqual(['b', 'a']);
  request('b', SMALL, 'commit');
  expect(done).toEqual(['b']);
});

test('a caller with many large answers makes another wait for one of them only', async () => {
  const { request, nextTurn, nextMade, done } = answers();
  for (let n = 0; n < 50; n += 1) request('hostile', LARGE);
  request('b', 100);
  request('c', 100);
  done.splice(0);
  expect(await nextMade()).toEqual(['hostile']);
  expect(await nextMade()).toEqual(['b']);
  // A small answer does not use up the turn of the next caller.
  expect(await nextTurn()).toEqual(['c']);
  expect(await nextTurn()).toEqual(['hostile']);
});
