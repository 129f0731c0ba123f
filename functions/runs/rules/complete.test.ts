import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../test/support/refusal.ts';
import type { RetryPolicy, Run } from '../run.ts';
import { type Completion, completeRun, retryDelaySeconds } from './complete.ts';
import { NOW, proof, runningRun, TTL_MS, typesOf } from './run.fixture.ts';

const policy: RetryPolicy = {
  maxAttempts: 3,
  initialDelaySeconds: 2,
  maxDelaySeconds: 5,
  backoffMultiplier: 2,
};
const done: Completion = { status: 'succeeded', failureClass: null, error: null };
const failed: Completion = { status: 'failed', failureClass: 'transient', error: 'broken' };

test('success is complete: progress is one, and old failures are forgotten', () => {
  const run = runningRun({ failureClass: 'transient', error: 'e', progress: 0.2, currentStep: 'step' });
  const change = completeRun(run, proof, { ...done, result: { json: 7 }, statusDetails: { d: 1 } }, NOW);
  expect(change?.run).toMatchObject({
    status: 'succeeded',
    progress: 1,
    currentStep: null,
    failureClass: null,
    error: null,
    result: { json: 7 },
    statusDetails: { d: 1 },
    endedLease: { ...proof, how: 'completed' },
  });
  expect(change?.events).toEqual([{ type: 'run.completed', severity: 'info', message: null, details: null }]);
});

test('a completion without a value keeps the reported one', () => {
  const run = runningRun({ result: { json: 'early' }, statusDetails: { a: 1 } });
  expect(completeRun(run, proof, done, NOW)?.run).toMatchObject({
    result: { json: 'early' },
    statusDetails: { a: 1 },
  });
});

test.each([
  ['failed', 'run.failed'],
  ['timed_out', 'run.completed'],
  ['cancelled', 'run.completed'],
  ['rejected', 'run.rejected'],
] as const)('the trace of a run that ends %s has the event %s', (status, type) => {
  const change = completeRun(runningRun(), proof, { ...failed, status }, NOW);
  expect(change?.events).toEqual([
    { type, severity: 'warning', message: 'broken', details: { failureClass: 'transient' } },
  ]);
});

test('a run that would end before its last change ends at the time of that change', () => {
  expect(completeRun(runningRun({ updatedAt: NOW + 9 }), proof, done, NOW)?.run.completedAt).toBe(NOW + 9);
});

describe('retry', () => {
  const run = runningRun({ retryPolicy: policy });

  test('keeps the failure until the next attempt', () => {
    const change = completeRun(run, proof, failed, NOW);
    expect(change?.run).toMatchObject({
      status: 'waiting',
      scheduledAt: NOW + 2_000,
      failureClass: 'transient',
      error: 'broken',
      counted: true,
      endedLease: { how: 'completed' },
    });
    const details = { delaySeconds: 2, failureClass: 'transient', error: 'broken' };
    expect(change?.events).toEqual([{ type: 'retry.scheduled', severity: 'warning', details }]);
  });

  test.each([
    [false, 'failed'],
    [true, 'waiting'],
  ] as const)('follows the word of the worker where it is %s', (retryable, status) => {
    expect(completeRun(run, proof, { ...failed, retryable }, NOW)?.run).toMatchObject({
      status,
      failures: 1,
    });
    const hopeless = { ...failed, failureClass: 'validation', retryable };
    expect(completeRun(run, proof, hopeless, NOW)?.run.status).toBe('failed');
  });

  test.each(['validation', 'cancelled'])('is not for failures of class %s', (failureClass) => {
    expect(completeRun(run, proof, { ...failed, failureClass }, NOW)?.run.status).toBe('failed');
  });

  test.each(['transient', 'timeout', 'unknown', 'made_up', null])('is for class %s', (failureClass) => {
    expect(completeRun(run, proof, { ...failed, failureClass }, NOW)?.run.status).toBe('waiting');
  });

  test.each(['rejected', 'cancelled', 'succeeded'] as const)('is not for the result %s', (status) => {
    const change = completeRun(run, proof, { ...failed, status }, NOW);
    expect(change?.run).toMatchObject({ status, failures: 0 });
  });

  test('counts failures, not leases', () => {
    const often = { ...run, attempt: 9, failures: 1 };
    expect(completeRun(often, proof, failed, NOW)?.run.status).toBe('waiting');
  });

  test.each([
    [1, policy, 2],
    [2, policy, 4],
    [3, policy, 5],
    [25, { ...policy, maxDelaySeconds: 86_400, backoffMultiplier: 1e300 }, 86_400],
    [25, { ...policy, initialDelaySeconds: 0, backoffMultiplier: 1e300 }, 0],
    [3, { ...policy, initialDelaySeconds: 8 }, 8],
    [2, { ...policy, backoffMultiplier: 0.5 }, 1],
    [4, { ...policy, backoffMultiplier: 1 }, 2],
  ])('%i failures of %o wait %d seconds', (failures, retryPolicy, seconds) => {
    expect(retryDelaySeconds({ failures, retryPolicy })).toBe(seconds);
  });
});

describe('the same completion again', () => {
  const ended = completeRun(runningRun(), proof, done, NOW)?.run as Run;

  test('changes nothing, also with another result', () => {
    expect(completeRun(ended, proof, failed, NOW + 2 * TTL_MS)).toBeNull();
  });

  test('is accepted while a retry is scheduled', () => {
    const waiting = completeRun(runningRun({ retryPolicy: policy }), proof, failed, NOW)?.run as Run;
    expect(completeRun(waiting, proof, done, NOW)).toBeNull();
  });

  test('is refused to others', () => {
    const other = { ...proof, tokenHash: 'sha256:other' };
    expect(refusalOf(() => completeRun(ended, other, done, NOW)).code).toBe('lease_stale');
    const another = { ...proof, workerId: 'v' };
    expect(refusalOf(() => completeRun(ended, another, done, NOW)).code).toBe('lease_stale');
    const stranger = { ...proof, mayHold: () => false };
    expect(refusalOf(() => completeRun(ended, stranger, done, NOW)).code).toBe('lease_stale');
  });

  test.each(['suspended', 'expired', 'cancelled'] as const)('is refused after a lease that was %s', (how) => {
    const run = runningRun({ status: 'queued', lease: null, endedLease: { ...proof, how } });
    expect(refusalOf(() => completeRun(run, proof, done, NOW))).toMatchObject({
      code: 'lease_not_active',
      how,
    });
  });
});

test('a run that ends has one event for it', () => {
  expect(typesOf(completeRun(runningRun(), proof, done, NOW))).toEqual(['run.completed']);
});

test('a decided run ends with the status of its holder, also when a server of release 0.5.0 has requested its end', () => {
  const run = runningRun({ decided: true, cancellationRequested: true });
  const change = completeRun(run, proof, { status: 'succeeded', failureClass: null, error: null }, NOW);
  expect(change?.run.status).toBe('succeeded');
});
