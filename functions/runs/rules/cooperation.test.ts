import { describe, expect, test } from 'vitest';
import { dueOf } from '../records.ts';
import type { Run } from '../run.ts';
import { cancelRun } from './cancel.ts';
import { settleRun } from './due.ts';
import { endForRemoval } from './end-for-removal.ts';
import { leaseRun, renewLease } from './lease.ts';
import { releaseRun } from './release.ts';
import { restoredRun } from './restored.ts';
import {
  grantOf,
  NOW,
  OPTIONS,
  parkedRun,
  proof,
  queuedRun,
  runningRun,
  TTL_MS,
  typesOf,
} from './run.fixture.ts';

const GRACE = { cancelGraceMs: 10_000 };
const BY = NOW + GRACE.cancelGraceMs;
const asked = (run: Run) => cancelRun(run, NOW)?.run as Run;

describe('a cooperative cancellation', () => {
  test('queues a parked run, without an outcome', () => {
    const change = cancelRun(parkedRun({}, GRACE), NOW);
    expect(change?.run).toMatchObject({
      status: 'queued',
      cancellationRequested: true,
      cancelBy: BY,
      wait: null,
      outcomes: [],
    });
    expect(typesOf(change)).toEqual(['run.cancellation_requested']);
    expect(cancelRun(change?.run, NOW + 1)).toBeNull();
  });

  test('ends a run that was never leased', () => {
    expect(cancelRun(queuedRun(GRACE), NOW)?.run).toMatchObject({ status: 'cancelled' });
  });

  test('leaves a running one its lease', () => {
    const run = runningRun(GRACE);
    expect(asked(run)).toEqual({ ...run, cancellationRequested: true, cancelBy: BY });
  });

  test('is due at the end of its grace, and ends then', () => {
    const run = asked(parkedRun({}, GRACE));
    expect(dueOf(run)).toBe(BY);
    expect(settleRun(run, BY - 1, OPTIONS)).toBeNull();
    expect(settleRun(run, BY, OPTIONS)?.run).toMatchObject({
      status: 'cancelled',
      failureClass: 'cancelled',
    });
    expect(dueOf(queuedRun())).toBeNull();
  });

  test('bounds leases by its grace', () => {
    const leased = leaseRun(asked(parkedRun({}, GRACE)), grantOf(), NOW)?.run as Run;
    expect(leased.lease?.expiresAt).toBe(BY);
    expect(renewLease(leased, proof, TTL_MS, NOW).lease?.expiresAt).toBe(BY);
    expect(renewLease(leased, proof, 1_000, NOW).lease?.expiresAt).toBe(NOW + 1_000);
  });

  test('gives a lost or returned run to another worker within its grace', () => {
    const leased = leaseRun(asked(parkedRun({}, GRACE)), grantOf({ ttlMs: 1_000 }), NOW)?.run as Run;
    expect(settleRun(leased, NOW + 1_000, OPTIONS)?.run.status).toBe('queued');
    expect(settleRun(leased, BY, OPTIONS)?.run.status).toBe('cancelled');
    const often = { ...leased, leaseExpirations: OPTIONS.leaseExpirationsMax - 1 };
    expect(settleRun(often, NOW + 1_000, OPTIONS)?.run.status).toBe('cancelled');
    expect(releaseRun(leased, proof, NOW)?.run.status).toBe('queued');
    expect(restoredRun(leased, NOW).run.status).toBe('queued');
    expect(restoredRun(leased, BY).run.status).toBe('cancelled');
  });

  test('does not delay the removal of a tenant', () => {
    expect(endForRemoval(parkedRun({}, GRACE), NOW)?.run.status).toBe('cancelled');
    expect(endForRemoval(asked(parkedRun({}, GRACE)), NOW)?.run.status).toBe('cancelled');
  });
});
