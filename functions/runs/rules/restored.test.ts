import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../kernel/errors.ts';
import type { Run, WaitOutcome } from '../run.ts';
import { ended } from './due.ts';
import { endForRemoval } from './end-for-removal.ts';
import { activeLease } from './lease.ts';
import { restoredRun } from './restored.ts';
import { NOW, parkedRun, proof, queuedRun, runningRun } from './run.fixture.ts';

const LATER = NOW + 1_000;
const failure = { status: 'failed', failureClass: 'f', error: 'e' } as const;

function codeOf(run: Run): string {
  try {
    activeLease(run, proof, LATER);
    return 'held';
  } catch (error) {
    return error instanceof ServiceError ? error.code : 'another error';
  }
}

describe('a restored run', () => {
  test('that had ended is unchanged', () => {
    const { run } = ended(runningRun(), failure, NOW);
    expect(restoredRun(run, LATER)).toEqual({ run, events: [] });
  });

  test('that was held is queued without its lease, under its attempts, and its outcome is given again', () => {
    const taken: WaitOutcome = { kind: 'timer', name: 't', outcome: 'timer', event: null, timer: null };
    const held = runningRun({ attempt: 3, leaseExpirations: 1, taken, sharesCounted: true, shareShard: 2 });
    const { run, events } = restoredRun(held, LATER);
    expect(run).toMatchObject({
      status: 'queued',
      lease: null,
      attempt: 3,
      leaseExpirations: 1,
      counted: false,
    });
    expect(run).toMatchObject({ taken: null, outcomes: [taken] });
    expect(run).not.toHaveProperty('sharesCounted');
    expect(run).not.toHaveProperty('shareShard');
    expect(events).toMatchObject([{ type: 'lease.returned', workerId: 'w' }]);
    expect(codeOf(run)).toBe('lease_not_active');
  });

  test('that was held and asked to stop is cancelled', () => {
    const { run } = restoredRun(runningRun({ cancellationRequested: true }), LATER);
    expect(run).toMatchObject({ status: 'cancelled', lease: null, counted: false });
  });

  test('that was queued restarts its time in the queue, and a waiting one keeps waiting', () => {
    expect(restoredRun(queuedRun({ queuedAt: NOW }), LATER).run).toMatchObject({ queuedAt: LATER });
    const parked = parkedRun();
    expect(restoredRun(parked, LATER)).toEqual({ run: { ...parked, counted: false }, events: [] });
  });
});

describe('a run whose records are removed', () => {
  test('is cancelled without its holder, whose token is then refused', () => {
    const change = endForRemoval(runningRun(), LATER);
    expect(change?.run).toMatchObject({ status: 'cancelled', lease: null, counted: false });
    expect(change?.events.map(({ type }) => type)).toEqual(['run.cancellation_requested', 'run.completed']);
    expect(codeOf(change?.run ?? queuedRun())).toBe('lease_not_active');
  });

  test('is cancelled where it waits or is queued, and stays where it has ended', () => {
    for (const run of [queuedRun(), parkedRun()])
      expect(endForRemoval(run, LATER)?.run.status).toBe('cancelled');
    expect(endForRemoval(ended(runningRun(), failure, NOW).run, LATER)).toBeNull();
  });

  test('has failed where its job had decided and waits for another attempt, and is taken from its holder', () => {
    for (const run of [queuedRun({ decided: true }), parkedRun({}, { decided: true })])
      expect(endForRemoval(run, LATER)?.run).toMatchObject({ status: 'failed', failureClass: 'cancelled' });
    expect(endForRemoval(runningRun({ decided: true }), LATER)?.run.status).toBe('cancelled');
  });

  test('has one request to stop in its history', () => {
    const change = endForRemoval(runningRun({ cancellationRequested: true }), LATER);
    expect(change?.events.map(({ type }) => type)).toEqual(['run.completed']);
  });
});
