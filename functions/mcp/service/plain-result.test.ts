import { expect, test } from 'vitest';
import type { McpTask } from '../catalog.ts';
import { plainResult, taskResult } from './plain-result.ts';

const head = { taskId: 't.1', createdAt: 0, lastUpdatedAt: 0, ttlMs: null };
const done = { resultType: 'complete', content: [], structuredContent: { id: 'a' }, isError: false } as const;
const GO_ON =
  'The work goes on. Call svc_tasks_get_v1 with {"taskId":"t.1"} to wait for its result, or svc_tasks_cancel_v1 with the same argument to end it.';

test.each<[task: McpTask, words: string, isError: boolean | undefined]>([
  [{ ...head, status: 'working' }, GO_ON, undefined],
  [
    { ...head, status: 'working', isBeingCancelled: true },
    'A cancellation was requested, and the worker ends the work. Call svc_tasks_get_v1 with {"taskId":"t.1"} to wait for the end.',
    undefined,
  ],
  [
    { ...head, status: 'working', beginsAt: Date.UTC(2026, 11, 30) },
    'The work begins at 2026-12-30T00:00:00.000Z. Call svc_tasks_get_v1 with {"taskId":"t.1"} after that time to wait for its result, or svc_tasks_cancel_v1 with the same argument to cancel it.',
    undefined,
  ],
  [{ ...head, status: 'input_required', inputRequests: {} }, GO_ON, undefined],
  [{ ...head, status: 'cancelled' }, 'The work was cancelled and has no result.', true],
  [
    { ...head, status: 'failed', error: { code: 1, message: 'It cannot be read' } },
    'It cannot be read',
    true,
  ],
])('a task that is $status is an answer with its id', (task, words, isError) => {
  const values = { task: { taskId: 't.1', status: task.status } };
  expect(plainResult(task)).toEqual({
    resultType: 'complete',
    content: [
      { type: 'text', text: JSON.stringify(values) },
      { type: 'text', text: words },
    ],
    structuredContent: values,
    ...(isError === undefined ? {} : { isError }),
  });
});

test('a task that has ended is its result, and a state where only that is asked for', () => {
  const task: McpTask = { ...head, status: 'completed', result: done };
  expect(plainResult(task)).toBe(done);
  const { structuredContent, content, isError } = taskResult(task);
  expect([structuredContent, isError]).toEqual([{ task: { taskId: 't.1', status: 'completed' } }, undefined]);
  expect(content[1]).toMatchObject({
    text: 'The work has ended. Call svc_tasks_get_v1 with {"taskId":"t.1"} for its result.',
  });
  expect(taskResult({ ...head, status: 'cancelled' })).not.toHaveProperty('isError');
});

test('the step of a handler is marked as data', () => {
  const marked = { _meta: { 'svc.runtime/content': 'data' } };
  const task: McpTask = { ...head, status: 'working', statusMessage: 'page 1', ...marked };
  expect(plainResult(task)).toMatchObject({
    structuredContent: { task: { taskId: 't.1', status: 'working', statusMessage: 'page 1' } },
    ...marked,
  });
});
