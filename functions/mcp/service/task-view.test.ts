import { expect, test } from 'vitest';
import contract from '../../../contracts/generated/mcp/definitions.json' with { type: 'json' };
import { nullableMembers } from './nullable-members.ts';
import { type TaskTerms, taskOf } from './task-view.ts';
import type { ToolMap } from './tool-map.ts';

const MOMENT = '2026-01-01T00:00:00Z';
const HOUR = 3_600_000;
const nullable = new Set(['small', 'large', 'larger']);

function taskFor(view: object, terms: Partial<TaskTerms> = {}) {
  const whole = { id: 'a', createdAt: MOMENT, completedAt: MOMENT, ...view };
  const answer = { view: whole, text: JSON.stringify(whole), path: '/jobs/a' };
  return taskOf('t', answer, {
    lengthMax: 10_000,
    nullable,
    textContent: 'compact',
    retainedMsMin: HOUR,
    now: Date.parse(MOMENT),
    ...terms,
  });
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

const later = (hours: number) => new Date(Date.parse(MOMENT) + hours * HOUR).toISOString();
const now = Date.parse(later(5));

test.each<[string, view: object, terms: Partial<TaskTerms>, hours: number | null]>([
  ['is kept from its end on', { status: 'succeeded', completedAt: later(2) }, { now }, 3],
  ['with a moment of a run', { status: 'failed', completedAt: null, completedAtUtc: later(2) }, { now }, 3],
  ['that works is kept longer with each look', { status: 'running', completedAt: null }, { now }, 6],
  ['between two attempts works', { status: 'failed', completedAt: null }, { now }, 6],
  ['of a clock that is behind', { status: 'queued', completedAt: null, createdAt: later(9) }, { now }, 1],
  ['whose start was refused is kept by number', { status: 'rejected', completedAt: later(2) }, { now }, null],
  ['without a promise has no time', { status: 'succeeded' }, { retainedMsMin: 0, now }, null],
])('a task %s', (_, view, terms, hours) => {
  expect(taskFor(view, terms).ttlMs).toBe(hours === null ? null : hours * HOUR);
});

test('the largest members are removed first, and no more than necessary', () => {
  const view = {
    status: 'succeeded',
    small: 'x'.repeat(50),
    large: 'y'.repeat(400),
    larger: 'z'.repeat(500),
  };
  const kept = (lengthMax: number) => {
    const task = taskFor(view, { lengthMax });
    const { structuredContent, content } = task.status === 'completed' ? task.result : never();
    expect(JSON.stringify(content[0]?.['text']).length).toBeLessThanOrEqual(lengthMax);
    const note = content.length > 1 ? (JSON.parse((content[1] as { text: string }).text) as object) : null;
    return [
      Object.entries(structuredContent as object).flatMap(([name, at]) => (at === null ? [name] : [])),
      note,
    ];
  };
  const length = JSON.stringify({ id: 'a', createdAt: MOMENT, completedAt: MOMENT, ...view }).length;
  const sent = JSON.stringify(
    JSON.stringify({ id: 'a', createdAt: MOMENT, completedAt: MOMENT, ...view }),
  ).length;
  expect(kept(sent)).toEqual([[], null]);
  expect(kept(sent - 1)).toEqual([['larger'], { omitted: ['larger'], wholeAt: '/jobs/a', length }]);
  expect(kept(300)[0]).toEqual(['large', 'larger']);
});

test('a member that may not be null stays, and the result says that it is too long', () => {
  const task = taskFor(
    { status: 'succeeded', tags: 'x'.repeat(500), large: 'y'.repeat(300) },
    { lengthMax: 400 },
  );
  expect(task).toMatchObject({
    result: {
      structuredContent: { status: 'succeeded', tags: 'x'.repeat(500), large: null },
      _meta: { 'svc.runtime/omitted': { omitted: ['large'], tooLong: true } },
    },
  });
});

function never(): never {
  throw new Error('the task has not ended well');
}

test('the members that may be null are the nullable ones of the contract', () => {
  const ofTasks = contract.definitions.flatMap((each) => (each.exposure === 'task' ? [each.map] : []));
  const names = nullableMembers(ofTasks as unknown as readonly ToolMap[]);
  for (const name of ['result', 'batchResult', 'evaluationResult']) expect(names).toContain(name);
  for (const name of ['id', 'status', 'tags', 'admission']) expect(names).not.toContain(name);
});

test('the step of a task that works is one short line without hidden characters, and none is left at its end', () => {
  const currentStep = ` page\r\n1\u2028of\u0007 2\u202e\u200b${'x'.repeat(900)}`;
  const message = taskFor({ status: 'running', completedAt: null, currentStep }).statusMessage;
  expect(message).toBe(`page 1 of 2${'x'.repeat(189)}`);
  expect(taskFor({ status: 'succeeded', currentStep })).not.toHaveProperty('statusMessage');
  expect(taskFor({ status: 'cancelled', currentStep })).not.toHaveProperty('statusMessage');
});

test('a requested cancellation stands in the place of the step, and is no data', () => {
  const view = { status: 'running', completedAt: null, currentStep: 'page 1', progress: 0.5 };
  const task = taskFor({ ...view, cancellationRequested: true });
  expect(task).toMatchObject({
    status: 'working',
    statusMessage: 'A cancellation was requested.',
    isBeingCancelled: true,
  });
  expect(task).not.toHaveProperty('_meta');
  for (const none of [
    taskFor({ ...view, cancellationRequested: false }),
    taskFor({ status: 'cancelled', cancellationRequested: true }),
  ])
    expect(none).not.toHaveProperty('isBeingCancelled');
});

test.each<[what: string, more: object, hours: number | undefined]>([
  ['planned for later', {}, 6],
  ['planned for now', { scheduledAtUtc: later(5) }, undefined],
  ['not planned', { scheduledAtUtc: null }, undefined],
  ['between two attempts', { attempt: 1 }, undefined],
])('a run that is %s has a begin in its task, if it is known', (_, more, hours) => {
  const view = { status: 'waiting', completedAt: null, attempt: 0, scheduledAtUtc: later(6), ...more };
  const { beginsAt, statusMessage } = taskFor(view, { now });
  expect(beginsAt).toBe(hours === undefined ? undefined : Date.parse(later(hours)));
  expect(statusMessage === undefined).toBe(hours === undefined);
});

test.each([null, {}, { status: 7 }])('a job that is %j cannot be read, and its task has failed', (view) => {
  const terms = { lengthMax: 10_000, nullable, textContent: 'compact', retainedMsMin: HOUR, now } as const;
  const task = taskOf('t', { view, text: JSON.stringify(view), path: '/jobs/a' }, terms);
  expect(task).toMatchObject({ status: 'failed', error: { code: -32603 } });
});
