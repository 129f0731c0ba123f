import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../test/support/refusal.ts';
import type { Run } from '../run.ts';
import { cancelRun } from './cancel.ts';
import { cascadesIn, endsIn, outcomeOfRun, wakeParent } from './child.ts';
import { withChild } from './child-start.ts';
import { waitForChild } from './child-wait.ts';
import { NOW, OPTIONS, parkedRun, proof, queuedRun, runningRun, typesOf } from './run.fixture.ts';
import type { WaitRequest } from './wait.ts';

const CHILD = '00822868566016000121';
const request: WaitRequest = {
  kind: 'run',
  name: 'n',
  runId: CHILD,
  dueAt: null,
  payload: { json: null },
  timerId: '',
};
const parked = (more: Partial<Run> = {}, runId = CHILD) => parkedRun({ kind: 'run', name: 'n', runId }, more);

describe('the end of a child', () => {
  test('queues the parent that is parked on it', () => {
    const change = wakeParent(parked(), CHILD, NOW, OPTIONS);
    expect(change?.run).toMatchObject({ status: 'queued', wait: null, scheduledAt: null, outcomes: [] });
    expect(change?.events).toEqual([
      { type: 'wait.resumed', details: { kind: 'run', name: 'n', outcome: 'run', runId: CHILD } },
    ]);
  });

  test('leaves any other parent alone', () => {
    for (const parent of [runningRun(), queuedRun(), parkedRun(), parked({}, 'other')])
      expect(wakeParent(parent, CHILD, NOW, OPTIONS)).toBeNull();
    const timely = parkedRun({ kind: 'run', name: 'n', runId: CHILD, dueAt: NOW + 1 });
    expect(wakeParent(timely, CHILD, NOW, OPTIONS)?.run.status).toBe('queued');
    expect(wakeParent(timely, CHILD, NOW + 1, OPTIONS)).toBeNull();
  });

  test('is an outcome once the child is terminal', () => {
    expect(outcomeOfRun(runningRun())).toBeNull();
    const run = queuedRun({ status: 'failed', failureClass: 'c', error: 'e', completedAt: NOW });
    const outcome = {
      status: 'failed',
      failureClass: 'c',
      error: 'e',
      completedAt: NOW,
      result: { json: null },
    };
    expect(outcomeOfRun(run)).toEqual(outcome);
    expect([endsIn(runningRun(), run), endsIn(run, run), endsIn(undefined, run)]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe('a wait for a child', () => {
  test('that has ended takes nothing and changes nothing', () => {
    const run = runningRun();
    expect(waitForChild(run, proof, request, true, NOW)).toEqual({
      run,
      events: [],
      outcome: null,
      isOver: true,
    });
  });

  test('that is active parks the run, or times out', () => {
    const { run, outcome } = waitForChild(runningRun(), proof, request, false, NOW);
    expect({ outcome, status: run.status, wait: run.wait }).toMatchObject({
      outcome: null,
      status: 'waiting',
      wait: { kind: 'run', name: 'n', runId: CHILD, timerId: null, dueAt: null },
    });
    const late = waitForChild(runningRun(), proof, { ...request, dueAt: NOW }, false, NOW);
    expect(late.outcome).toMatchObject({ kind: 'run', outcome: 'timed_out', runId: CHILD });
  });

  test('answers a deadline before the end, once, and only for the same child', () => {
    const outcome = {
      kind: 'run',
      name: 'n',
      runId: CHILD,
      outcome: 'timed_out',
      event: null,
      timer: null,
    } as const;
    const run = runningRun({ outcomes: [outcome] });
    const first = waitForChild(run, proof, request, true, NOW);
    expect(first.outcome).toEqual(outcome);
    expect(waitForChild(first.run, proof, request, true, NOW)).toMatchObject({ isOver: true, outcome: null });
    expect(waitForChild(run, proof, { ...request, runId: 'other' }, true, NOW)).toMatchObject({
      isOver: true,
    });
  });

  test('needs the lease', () => {
    for (const isOver of [true, false])
      expect(refusalOf(() => waitForChild(queuedRun(), proof, request, isOver, NOW)).code).toBe(
        'lease_stale',
      );
  });
});

describe('a parent', () => {
  test('counts its children, up to a bound', () => {
    const child = { id: CHILD, handlerId: 'h', workerId: 'w' };
    const first = withChild(runningRun(), child, 2);
    expect(typesOf(first)).toEqual(['run.child_started']);
    const second = withChild(first.run, child, 2);
    expect(second.run.children).toBe(2);
    expect(refusalOf(() => withChild(second.run, child, 2)).code).toBe('limit_exceeded');
  });

  test('passes on the request of its cancellation, and its end by one', () => {
    const running = runningRun({ children: 1 });
    const asked = cancelRun(running, NOW)?.run as Run;
    expect(cascadesIn(running, asked)).toBe(true);
    expect(cascadesIn(asked, asked)).toBe(false);
    expect(cascadesIn(asked, { ...asked, status: 'cancelled' })).toBe(true);
    expect(cascadesIn(asked, { ...asked, status: 'timed_out' })).toBe(false);
    expect(cascadesIn(runningRun(), cancelRun(runningRun(), NOW)?.run as Run)).toBe(false);
    expect(cascadesIn(undefined, asked)).toBe(false);
  });
});
