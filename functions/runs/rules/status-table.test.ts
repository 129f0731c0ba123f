import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../test/support/refusal.ts';
import type { Run, RunStatus, TerminalStatus } from '../run.ts';
import { cancelRun } from './cancel.ts';
import { type Completion, completeRun } from './complete.ts';
import { settleRun } from './due.ts';
import { leaseRun } from './lease.ts';
import {
  grantOf,
  handler,
  ID,
  NOW,
  OPTIONS,
  parkedRun,
  proof,
  queuedRun,
  runningRun,
  startRequest,
  TTL_MS,
  typesOf,
} from './run.fixture.ts';
import { createRun } from './start.ts';
import { raiseInRun, waitInRun } from './wait.ts';

const fresh = { id: ID, payload: { json: null }, keyHash: null };
const ending = (status: TerminalStatus, failureClass: string | null = null): Completion => ({
  status,
  failureClass,
  error: failureClass,
});
const event = { id: '1', name: 'go', raisedAt: NOW, payload: { json: null } };
const waitFor = {
  kind: 'external_event',
  name: 'go',
  dueAt: null,
  payload: { json: null },
  timerId: '9',
} as const;
const twice = { maxAttempts: 2, initialDelaySeconds: 5, maxDelaySeconds: 60, backoffMultiplier: 2 };

/** The specification's table of run statuses, one test per row; the store suites test the rows about storing. */
describe('the run statuses of the specification', () => {
  test('(new), start request: queued', () => {
    expect(createRun(startRequest(), handler, fresh, NOW).run.status).toBe('queued');
  });

  test('(new), start request, scheduled: waiting', () => {
    const { run } = createRun(startRequest({ scheduledAt: NOW + 1 }), handler, fresh, NOW);
    expect([run.status, run.scheduledAt]).toEqual(['waiting', NOW + 1]);
    const past = createRun(startRequest({ scheduledAt: NOW }), handler, fresh, NOW).run;
    expect([past.status, past.scheduledAt]).toEqual(['queued', NOW]);
  });

  test('(new), handler missing or plugin mismatch: rejected', () => {
    const missing = createRun(startRequest(), undefined, fresh, NOW);
    expect(missing.run).toMatchObject({
      status: 'rejected',
      failureClass: 'handler_missing',
      completedAt: NOW,
    });
    const mismatch = createRun(startRequest({ pluginId: 'q' }), handler, fresh, NOW);
    expect(mismatch.run).toMatchObject({
      status: 'rejected',
      failureClass: 'plugin_mismatch',
      pluginId: 'q',
    });
    expect(typesOf(missing)).toEqual(['run.rejected']);
  });

  test('queued, dispatch: running', () => {
    const change = leaseRun(queuedRun(), grantOf(), NOW + 1);
    expect(change?.run).toMatchObject({ status: 'running', attempt: 1, startedAt: NOW + 1 });
    expect(typesOf(change)).toEqual(['lease.acquired', 'run.started']);
  });

  test('waiting, dispatch when due: running, and not a moment before', () => {
    const waiting = queuedRun({ status: 'waiting', scheduledAt: NOW + 10 });
    expect(settleRun(waiting, NOW + 9, OPTIONS)).toBeNull();
    expect(leaseRun(waiting, grantOf(), NOW + 9)).toBeNull();
    const due = settleRun(waiting, NOW + 10, OPTIONS)?.run as Run;
    expect(leaseRun(due, grantOf(), NOW + 10)?.run.status).toBe('running');
  });

  test.each(['succeeded', 'failed', 'cancelled', 'timed_out', 'rejected'] as const)(
    'running, handler completes: %s',
    (status) => {
      const { run } = completeRun(runningRun(), proof, ending(status, 'c'), NOW + 5) as { run: Run };
      expect(run).toMatchObject({ status, completedAt: NOW + 5, lease: null, counted: false });
      expect(run.failureClass).toBe(status === 'succeeded' ? null : 'c');
    },
  );

  test.each(['failed', 'timed_out'] as const)('%s, retry, attempts below max: waiting', (status) => {
    const change = completeRun(runningRun({ retryPolicy: twice }), proof, ending(status, 'x'), NOW);
    expect(change?.run).toMatchObject({ status: 'waiting', failures: 1, scheduledAt: NOW + 5_000 });
    expect(change?.run.completedAt).toBeNull();
    const again = leaseRun(settleRun(change?.run as Run, NOW + 5_000, OPTIONS)?.run as Run, grantOf(), NOW);
    expect(again?.run.attempt).toBe(2);
  });

  test.each(['failed', 'timed_out'] as const)('%s, retry, attempts at max: stays terminal', (status) => {
    const last = runningRun({ retryPolicy: twice, failures: 1, attempt: 2 });
    const run = completeRun(last, proof, ending(status, 'x'), NOW)?.run as Run;
    expect(run).toMatchObject({ status, failures: 2 });
    expect(settleRun(run, NOW + 1e9, OPTIONS)).toBeNull();
    expect(leaseRun(run, grantOf(), NOW)).toBeNull();
  });

  test('running, restart recovery: queued', () => {
    expect(settleRun(runningRun(), NOW + TTL_MS - 1, OPTIONS)).toBeNull();
    const change = settleRun(runningRun(), NOW + TTL_MS, OPTIONS);
    expect(change?.run).toMatchObject({ status: 'queued', lease: null, failures: 0, leaseExpirations: 1 });
    expect(typesOf(change)).toEqual(['lease.expired', 'run.status']);
  });

  test('running, unmet wait for an event or a timer: waiting', () => {
    const parked = waitInRun(runningRun(), proof, waitFor, NOW);
    expect(parked).toMatchObject({ outcome: null, run: { status: 'waiting', lease: null } });
    expect(parked.run.wait).toMatchObject({ kind: 'external_event', name: 'go', dueAt: null });
    const timer = { ...waitFor, kind: 'timer', dueAt: NOW + 1 } as const;
    expect(waitInRun(runningRun(), proof, timer, NOW).run).toMatchObject({
      status: 'waiting',
      scheduledAt: NOW + 1,
      wait: { kind: 'timer', timerId: '9' },
    });
  });

  test('waiting, matching event: queued, and the same wait call takes its result once', () => {
    const woken = raiseInRun(parkedRun(), event, 9).run;
    expect(woken).toMatchObject({ status: 'queued', wait: null, inbox: [], scheduledAt: null });
    const again = leaseRun(woken, grantOf(), NOW)?.run as Run;
    const taken = waitInRun(again, proof, waitFor, NOW);
    expect(taken.outcome).toMatchObject({ outcome: 'external_event', event });
    expect(waitInRun(taken.run, proof, waitFor, NOW).outcome).toBeNull();
  });

  test('waiting, timer fired: queued, with the outcome timer', () => {
    const parked = parkedRun({ kind: 'timer', dueAt: NOW + 10, timerId: '9', payload: { json: 'p' } });
    expect(settleRun(parked, NOW + 9, OPTIONS)).toBeNull();
    const change = settleRun(parked, NOW + 10, OPTIONS);
    expect(change?.run.status).toBe('queued');
    expect(change?.run.outcomes).toEqual([
      {
        kind: 'timer',
        name: 'go',
        outcome: 'timer',
        event: null,
        timer: { id: '9', name: 'go', fireAt: NOW + 10, createdAt: NOW, payload: { json: 'p' } },
      },
    ]);
    expect(typesOf(change)).toEqual(['wait.resumed']);
  });

  test('waiting, event-wait timeout: queued, with the outcome timed_out', () => {
    const change = settleRun(parkedRun({ dueAt: NOW + 10 }), NOW + 10, OPTIONS);
    expect(change?.run.status).toBe('queued');
    expect(change?.run.outcomes).toMatchObject([{ outcome: 'timed_out', event: null, timer: null }]);
    expect(typesOf(change)).toEqual(['wait.timed_out']);
  });

  test.each<[RunStatus, Run]>([
    ['queued', queuedRun()],
    [
      'waiting',
      parkedRun({}, { outcomes: [{ ...waitFor, outcome: 'timed_out', event: null, timer: null }] }),
    ],
  ])('active (%s), cancel: cancelled, without its wait', (_, run) => {
    const change = cancelRun(run, NOW + 3);
    expect(change?.run).toMatchObject({
      status: 'cancelled',
      failureClass: 'cancelled',
      cancellationRequested: true,
      completedAt: NOW + 3,
      wait: null,
      outcomes: [],
      counted: false,
    });
    expect(typesOf(change)).toEqual(['run.cancellation_requested', 'run.completed']);
  });

  test('active (running), cancel: asked, and cancelled when its lease runs out', () => {
    const asked = cancelRun(runningRun(), NOW)?.run as Run;
    expect(asked).toMatchObject({ status: 'running', cancellationRequested: true });
    expect(asked.lease).not.toBeNull();
    expect(cancelRun(asked, NOW)).toBeNull();
    expect(settleRun(asked, NOW + TTL_MS, OPTIONS)?.run.status).toBe('cancelled');
  });

  test.each<TerminalStatus>(['succeeded', 'failed', 'cancelled', 'rejected', 'timed_out'])(
    'terminal (%s), cancel: no change',
    (status) => {
      expect(cancelRun(queuedRun({ status, completedAt: NOW }), NOW + 1)).toBeNull();
    },
  );

  test('running, completion and cancellation race: cancelled, except a reported timeout', () => {
    const asked = runningRun({ cancellationRequested: true, retryPolicy: twice });
    for (const status of ['succeeded', 'failed', 'rejected', 'cancelled'] as const) {
      const change = completeRun(asked, proof, { ...ending(status), result: { json: 1 } }, NOW);
      expect(change?.run, status).toMatchObject({ status: 'cancelled', result: { json: 1 } });
    }
    expect(completeRun(asked, proof, ending('timed_out'), NOW)?.run.status).toBe('timed_out');
  });

  test('an event raised before the wait is kept, and consumed by the later wait', () => {
    const kept = raiseInRun(runningRun(), event, 9).run;
    expect(kept.inbox).toEqual([event]);
    const met = waitInRun(kept, proof, waitFor, NOW);
    expect(met).toMatchObject({ outcome: { outcome: 'external_event', event }, run: { status: 'running' } });
    expect(met.run.inbox).toEqual([]);
  });

  test('every change of a missing run is refused', () => {
    expect(refusalOf(() => cancelRun(undefined, NOW)).code).toBe('not_found');
    expect(refusalOf(() => raiseInRun(undefined, event, 9)).code).toBe('not_found');
    expect(refusalOf(() => waitInRun(undefined, proof, waitFor, NOW)).code).toBe('lease_stale');
    expect(refusalOf(() => completeRun(undefined, proof, ending('failed'), NOW)).code).toBe('lease_stale');
  });
});
