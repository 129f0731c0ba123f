import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../test/support/refusal.ts';
import type { RunStatus } from '../run.ts';
import { leaseIsOver, settleRun } from './due.ts';
import { activeLease, isProofOf, leaseRun, renewLease } from './lease.ts';
import { reportProgress } from './report.ts';
import { grantOf, NOW, OPTIONS, parkedRun, proof, queuedRun, runningRun, TTL_MS } from './run.fixture.ts';

describe('a lease', () => {
  test('is given for a queued run only', () => {
    const others: RunStatus[] = [
      'running',
      'waiting',
      'succeeded',
      'failed',
      'cancelled',
      'rejected',
      'timed_out',
    ];
    for (const status of others) expect(leaseRun(queuedRun({ status }), grantOf(), NOW)).toBeNull();
    expect(leaseRun(parkedRun(), grantOf(), NOW)).toBeNull();
  });

  test('counts an attempt, keeps the first start and forgets the lease before', () => {
    const run = queuedRun({ attempt: 3, startedAt: NOW - 5, endedLease: { ...proof, how: 'expired' } });
    const change = leaseRun(run, grantOf({ kind: 'process', concurrencyKey: 'c' }), NOW);
    expect(change?.run).toMatchObject({
      attempt: 4,
      startedAt: NOW - 5,
      endedLease: null,
      concurrencyKey: 'c',
      lease: { kind: 'process', ...proof, acquiredAt: NOW, expiresAt: NOW + TTL_MS },
    });
    expect(change?.run.lease).not.toHaveProperty('ttlMs');
  });

  test('keeps the version that its holder names, and none of an earlier holder', () => {
    const run = queuedRun({ handlerVersion: '1' });
    expect(leaseRun(run, grantOf({ handlerVersion: '2' }), NOW)?.run.handlerVersion).toBe('2');
    for (const grant of [grantOf(), grantOf({ handlerVersion: null })])
      expect(leaseRun(run, grant, NOW)?.run).not.toHaveProperty('handlerVersion');
  });

  test('lasts up to, not including, its end', () => {
    const run = runningRun();
    expect(leaseIsOver(run, NOW + TTL_MS - 1)).toBe(false);
    expect(leaseIsOver(run, NOW + TTL_MS)).toBe(true);
    expect(activeLease(run, proof, NOW + TTL_MS - 1)).toEqual(run.lease);
    expect(refusalOf(() => activeLease(run, proof, NOW + TTL_MS))).toMatchObject({
      code: 'lease_not_active',
      how: 'expired',
    });
  });

  test('is renewed to a later or an earlier moment, and nothing else changes', () => {
    const run = runningRun();
    for (const ttlMs of [1, 5 * TTL_MS]) {
      const lease = { ...run.lease, expiresAt: NOW + 10 + ttlMs };
      expect(renewLease(run, proof, ttlMs, NOW + 10)).toEqual({ ...run, lease });
    }
  });

  test.each([
    ['the token of somebody else', { ...proof, tokenHash: 'sha256:tokem' }],
    ['a token of another length', { ...proof, tokenHash: 'sha256:tok' }],
    ['no token', { ...proof, tokenHash: '' }],
    ['another worker', { ...proof, workerId: 'W' }],
  ])('is nothing to %s', (_, other) => {
    const run = runningRun();
    expect(isProofOf(proof, other)).toBe(false);
    for (const call of [
      () => activeLease(run, other, NOW),
      () => renewLease(run, other, 1, NOW),
      () => reportProgress(run, other, {}, NOW),
    ])
      expect(refusalOf(call).code).toBe('lease_stale');
  });

  test('is nothing to a worker of the same name that may not have such a run', () => {
    const stranger = { ...proof, mayHold: () => false };
    for (const run of [runningRun(), queuedRun({ endedLease: { ...proof, how: 'expired' } })]) {
      expect(refusalOf(() => activeLease(run, stranger, NOW)).code).toBe('lease_stale');
      expect(refusalOf(() => renewLease(run, stranger, 1, NOW)).code).toBe('lease_stale');
    }
    const run = runningRun({ handlerId: 'other' });
    expect(activeLease(run, { ...proof, mayHold: ({ handlerId }) => handlerId === 'other' }, NOW)).toEqual(
      run.lease,
    );
  });

  test('names the reason of its end to its last holder alone', () => {
    for (const how of ['completed', 'suspended', 'expired', 'cancelled'] as const) {
      const run = queuedRun({ endedLease: { ...proof, how } });
      expect(refusalOf(() => activeLease(run, proof, NOW))).toMatchObject({ code: 'lease_not_active', how });
      const other = { ...proof, workerId: 'v' };
      expect(refusalOf(() => activeLease(run, other, NOW)).code).toBe('lease_stale');
    }
  });

  test('of an earlier attempt is stale once the run is leased again', () => {
    const lost = settleRun(runningRun(), NOW + TTL_MS, OPTIONS)?.run ?? queuedRun();
    const again = leaseRun(lost, grantOf({ tokenHash: 'sha256:new' }), NOW + TTL_MS)?.run;
    expect(refusalOf(() => activeLease(again, proof, NOW + TTL_MS)).code).toBe('lease_stale');
  });
});

describe('leases that run out', () => {
  test('end the run when it has lost as many as it may, and cost no retry', () => {
    const last = runningRun({ leaseExpirations: OPTIONS.leaseExpirationsMax - 1 });
    const change = settleRun(last, NOW + TTL_MS, OPTIONS);
    expect(change?.run).toMatchObject({
      status: 'failed',
      failureClass: 'lease_expired',
      leaseExpirations: OPTIONS.leaseExpirationsMax,
      failures: 0,
      counted: false,
    });
    expect(change?.events.map(({ type }) => type)).toEqual(['lease.expired', 'run.failed']);
    const before = runningRun({ leaseExpirations: OPTIONS.leaseExpirationsMax - 2 });
    expect(settleRun(before, NOW + TTL_MS, OPTIONS)?.run.status).toBe('queued');
  });

  test('keep the reported values, except for the step', () => {
    const run = runningRun({ currentStep: 's', progress: 0.4, result: { json: 1 } });
    expect(settleRun(run, NOW + TTL_MS, OPTIONS)?.run).toMatchObject({
      currentStep: null,
      progress: 0.4,
      result: { json: 1 },
      endedLease: { ...proof, how: 'expired' },
    });
  });

  test('a running run without a lease is given back', () => {
    expect(settleRun(runningRun({ lease: null }), NOW, OPTIONS)?.run.status).toBe('queued');
  });
});

test('a report changes the members that it names, and records its step', () => {
  const run = runningRun({ requested: 3, currentStep: 'a' });
  const change = reportProgress(run, proof, { succeeded: 2, currentStep: 'b', statusDetails: { x: 1 } }, NOW);
  expect(change.run).toEqual({ ...run, succeeded: 2, currentStep: 'b', statusDetails: { x: 1 } });
  expect(change.events).toEqual([
    { type: 'run.status', message: 'b', details: { x: 1 }, workerId: proof.workerId },
  ]);
});
