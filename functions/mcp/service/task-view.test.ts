import { expect, test } from 'vitest';
import { taskOf } from './task-view.ts';

const MOMENT = '2026-01-01T00:00:00Z';

function taskFor(view: object, lengthMax = 10_000) {
  const whole = { id: 'a', createdAt: MOMENT, completedAt: MOMENT, ...view };
  return taskOf('t', { view: whole, text: JSON.stringify(whole), path: '/jobs/a' }, lengthMax);
}

test.each([
  ['succeeded', 'completed', false],
  ['Succeeded', 'completed', false],
  ['failed', 'completed', true],
  ['TimedOut', 'completed', true],
  ['cancelled', 'cancelled', undefined],
  ['Cancelled', 'cancelled', undefined],
])('a job that is %s is a task that is %s', (status, expected, isError) => {
  const task = taskFor({ status });
  expect([task.status, task.status === 'completed' ? task.result.isError : undefined]).toEqual([
    expected,
    isError,
  ]);
});

test('the largest members go first, and no more than needed', () => {
  const view = {
    status: 'succeeded',
    small: 'x'.repeat(50),
    large: 'y'.repeat(400),
    larger: 'z'.repeat(500),
  };
  const kept = (lengthMax: number) => {
    const task = taskFor(view, lengthMax);
    const { structuredContent, content } = task.status === 'completed' ? task.result : never();
    expect(JSON.stringify(structuredContent).length).toBeLessThanOrEqual(lengthMax);
    const note = content.length > 1 ? (JSON.parse((content[1] as { text: string }).text) as object) : null;
    return [
      Object.entries(structuredContent as object).flatMap(([name, at]) => (at === null ? [name] : [])),
      note,
    ];
  };
  const length = JSON.stringify({ id: 'a', createdAt: MOMENT, completedAt: MOMENT, ...view }).length;
  expect(kept(length)).toEqual([[], null]);
  expect(kept(length - 1)).toEqual([['larger'], { omitted: ['larger'], wholeAt: '/jobs/a', length }]);
  expect(kept(300)[0]).toEqual(['large', 'larger']);
});

function never(): never {
  throw new Error('the task has not ended well');
}
