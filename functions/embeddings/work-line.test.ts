import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { WorkLine } from './work-line.ts';

/** Does so many parts of work, and keeps the turn of the event loop in which each was done. */
async function work(line: WorkLine, space: string, parts: number, done: string[]): Promise<void> {
  for (let at = 0; at < parts; at += 1) {
    await line.turn(space);
    done.push(space);
  }
}

test('spaces take turns, however many calls one of them has', async () => {
  const line = new WorkLine();
  const done: string[] = [];
  await Promise.all([
    ...Array.from({ length: 20 }, () => work(line, 'busy', 2, done)),
    work(line, 'other', 4, done),
  ]);
  expect(done).toHaveLength(44);
  expect(done.slice(0, 8).filter((space) => space === 'other').length).toBeGreaterThanOrEqual(3);
});

test('one part is done in a turn of the event loop', async () => {
  const line = new WorkLine();
  const done: string[] = [];
  const all = Promise.all(Array.from({ length: 10 }, (_, at) => work(line, `space ${at}`, 3, done)));
  const counts: number[] = [];
  while (done.length < 30) {
    const before = done.length;
    await setImmediate();
    counts.push(done.length - before);
  }
  await all;
  expect(Math.max(...counts)).toBeLessThanOrEqual(2);
});

test('a line that was idle goes on', async () => {
  const line = new WorkLine();
  await line.turn('a');
  await setImmediate();
  await line.turn('a');
});
