import { expect, test } from 'vitest';
import { createRun } from '../runs/rules/start.ts';
import { NULL_VALUE, type Run, type RunStatus } from '../runs/run.ts';
import { jobView, numberOrNull, textOrNull, withoutDetails } from './job-view.ts';

const AT = Date.UTC(2026, 0, 2);

function jobRun(change: Partial<Run> = {}): Run {
  const caller = { kind: 'workload', principal: 'ada' } as const;
  const job = {
    family: 'notes',
    statusPath: '/note-imports',
    space: 's',
    subject: null,
    caller,
    requested: 3,
  };
  const request = {
    handlerId: 'h',
    pluginId: null,
    payload: null,
    payloadHash: `sha256:${'0'.repeat(64)}`,
    payloadBytes: 4,
    idempotencyKey: null,
    correlationId: null,
    scope: null,
    scheduledAt: null,
    retryPolicy: null,
    tags: {},
    operationId: 'importNotes',
    job,
  };
  const handler = { handlerId: 'h', pluginId: null, maxAttempts: 1, concurrencyKey: null };
  const fresh = { id: '1', payload: NULL_VALUE, keyHash: null };
  return { ...createRun(request, handler, fresh, AT).run, ...change };
}

test('a waiting job is queued for its users, and one that timed out has failed', () => {
  const shown = (status: RunStatus) => jobView(jobRun({ status })).status;
  expect(['queued', 'waiting', 'running'].map((status) => shown(status as RunStatus))).toEqual([
    'queued',
    'queued',
    'running',
  ]);
  expect((['succeeded', 'failed', 'timed_out', 'cancelled', 'rejected'] as const).map(shown)).toEqual([
    'succeeded',
    'failed',
    'failed',
    'cancelled',
    'rejected',
  ]);
});

test('the receipt names the path of the job views', () => {
  const { admission } = jobView(jobRun(), true);
  expect(admission).toMatchObject({
    operationId: 'importNotes',
    statusUri: '/note-imports/1',
    replayed: true,
  });
  expect(jobView(jobRun()).admission.replayed).toBe(false);
});

test('counts are those that the handler reported, else all of the request once it succeeded', () => {
  expect(jobView(jobRun())).toMatchObject({
    requested: 3,
    attempted: 0,
    succeeded: 0,
    failed: 0,
    progress: 0,
  });
  const done = jobView(jobRun({ status: 'succeeded' }));
  expect(done).toMatchObject({ requested: 3, attempted: 3, succeeded: 3, failed: 0, progress: 1 });
  const reported = { requested: 3, attempted: 2, succeeded: 1, failed: 1, progress: 0.6 };
  expect(jobView(jobRun({ status: 'failed', ...reported }))).toMatchObject(reported);
});

test('a job lasts from its start to its end', () => {
  const over = jobRun({ status: 'succeeded', startedAt: AT + 5, completedAt: AT + 25 });
  expect(jobView(over)).toMatchObject({
    startedAt: '2026-01-02T00:00:00.005Z',
    durationMs: 20,
    completedAt: '2026-01-02T00:00:00.025Z',
  });
  expect(jobView(jobRun())).toMatchObject({ startedAt: null, completedAt: null, durationMs: null });
});

test('a caller who may not read gets all of a run but what it has found', () => {
  const found = jobRun({ statusDetails: { found: 1 } });
  expect(withoutDetails(found)).toEqual({ ...found, statusDetails: null });
});

test('a member of the details of a run is shown where it has the kind that the view names', () => {
  expect([textOrNull('a'), textOrNull(1), textOrNull(undefined)]).toEqual(['a', null, null]);
  expect([numberOrNull(0), numberOrNull('1'), numberOrNull(undefined)]).toEqual([0, null, null]);
});
