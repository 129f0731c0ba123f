import { describe, expect, it } from 'vitest';
import { dueOf, runRecord } from '../records.ts';
import { NOW, parkedRun, queuedRun, runningRun } from '../rules/run.fixture.ts';
import type { Run } from '../run.ts';
import { accountOf, type FoundBy } from './account.ts';

/** The stored form of the run. */
function foundBy(run: Run, more: Partial<FoundBy> = {}): FoundBy {
  const { due = null, listing } = runRecord(run);
  return { due, indexes: listing?.indexes ?? {}, ...more };
}
const account = (run: Run, more: Partial<FoundBy> = {}) => accountOf(run, foundBy(run, more), NOW);

const scheduled = { ...queuedRun(), status: 'waiting' as const, scheduledAt: NOW + 5_000 };
const kept: readonly (readonly [string, Run])[] = [
  ['queued', queuedRun()],
  ['running', runningRun()],
  ['scheduled', scheduled],
  ['waiting for a timer', parkedRun({ kind: 'timer', dueAt: NOW + 1, timerId: 't' })],
  ['waiting for an event', parkedRun()],
  ['waiting for an event with a deadline', parkedRun({ dueAt: NOW + 1 })],
];

describe('the account of a run', () => {
  it.each(kept)('is in order as it is kept: %s', (_, run) => {
    expect(account(run)).toBeNull();
  });

  it.each(kept)('needs its status in the lists: %s', (_, run) => {
    const { status: _gone, ...indexes } = foundBy(run).indexes;
    expect(account(run, { indexes })).toBe('lists do not find it by its status');
  });

  it.each(kept.filter(([, run]) => dueOf(run) !== null))('needs its time: %s', (_, run) => {
    expect(account(run, { due: null })).toBe('it has no due time');
    const expected = dueOf(run) ?? 0;
    expect(account(run, { due: expected + 120_000 })).toBeNull();
    expect(account(run, { due: expected + 120_001 })).toBe('its due time is too late');
  });

  it('may be late by the delay of a periodic check, counted from now', () => {
    const run = runningRun({ updatedAt: NOW - 3_600_000 });
    const lapsed = { ...run, lease: run.lease && { ...run.lease, expiresAt: NOW - 3_000_000 } };
    expect(account(lapsed, { due: NOW + 5_000 })).toBeNull();
    expect(account(lapsed, { due: NOW + 120_001 })).toBe('its due time is too late');
  });

  it('needs a lane exactly while it is queued', () => {
    const { lane: _gone, ...indexes } = foundBy(queuedRun()).indexes;
    const fault = 'its place among the queued runs is not that of its status';
    expect(account(queuedRun(), { indexes })).toBe(fault);
    const running = foundBy(runningRun()).indexes;
    expect(account(runningRun(), { indexes: { ...running, lane: 'h' } })).toBe(fault);
    expect(account(queuedRun(), { indexes: { ...foundBy(queuedRun()).indexes, lane: 'x' } })).toBe(fault);
  });

  it('needs a lease exactly while it is running', () => {
    expect(account(runningRun({ lease: null }))).toBe('it is running without a lease');
    const { lease } = runningRun();
    expect(account(queuedRun({ lease }))).toBe('it is queued and leased');
    expect(account({ ...parkedRun(), lease })).toBe('it waits and is leased');
  });

  it('knows no timer without a moment', () => {
    expect(account(parkedRun({ kind: 'timer', dueAt: null }))).toBe('it waits for nothing');
  });

  it('asks nothing of a run that is over', () => {
    const over = { ...queuedRun(), status: 'cancelled' as const };
    expect(accountOf(over, { due: null, indexes: {} }, NOW)).toBeNull();
  });
});
