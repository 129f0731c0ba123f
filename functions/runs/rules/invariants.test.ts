import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ServiceError } from '../../kernel/errors.ts';
import { type Change, isTerminal, type Run, type TraceEntry } from '../run.ts';
import { withTrace } from '../trace.ts';
import { cancelRun } from './cancel.ts';
import { completeRun } from './complete.ts';
import { settleRun } from './due.ts';
import { leaseRun, renewLease } from './lease.ts';
import { reportProgress } from './report.ts';
import { grantOf, handler, ID, NOW, OPTIONS, startRequest } from './run.fixture.ts';
import { createRun } from './start.ts';
import { raiseInRun, waitInRun } from './wait.ts';

const EVENTS_MAX = 3;
const LIMITS = { eventsPerRunMax: 10_000, messageLengthMax: 100, redacted: new Set<string>() };

/** Every actor that may change a run, in any order, with different clocks and possibly the token of an earlier lease. */
const anyStep = fc.record({
  act: fc.constantFrom(
    ...(['lease', 'lease', 'settle', 'cancel', 'raise', 'wait', 'complete', 'report', 'renew'] as const),
  ),
  /** Sometimes enough time passes to end leases; clocks also go back. */
  passedMs: fc.constantFrom(0, 0, 1, 500, 20_000, 120_000, -300),
  stale: fc.constantFrom(false, false, false, true),
  name: fc.constantFrom('a', 'b'),
  /** Of a wait for any of several events. */
  names: fc.constantFrom<(readonly string[] | null)[]>(null, null, ['a', 'b'], ['b', 'c']),
  retryable: fc.constantFrom<(boolean | null)[]>(null, null, true, false),
  version: fc.constantFrom('1', '2', null),
  timer: fc.boolean(),
  dueMs: fc.constantFrom<(number | null)[]>(null, -1, 0, 700, 90_000),
  status: fc.constantFrom(
    ...(['succeeded', 'failed', 'failed', 'timed_out', 'rejected', 'cancelled'] as const),
  ),
  failureClass: fc.constantFrom('transient', 'validation', 'unknown'),
  ttlMs: fc.constantFrom(1, 1_000, 60_000),
});
type Step = typeof anyStep extends fc.Arbitrary<infer S> ? S : never;

class Life {
  run: Run;
  now = NOW;
  leases = 0;
  raised = 0;
  consumed = 0;
  drawn = 1n;
  /** Version of the last lease. */
  version: string | null = null;
  readonly entries: TraceEntry[] = [];

  constructor(maxAttempts: number, scheduledAt: number | null, cancelGraceMs: number | null) {
    const retryPolicy = { maxAttempts, initialDelaySeconds: 0.5 };
    const request = startRequest({
      scheduledAt,
      retryPolicy,
      ...(cancelGraceMs === null ? {} : { cancelGraceMs }),
    });
    const fresh = { id: ID, payload: { json: null }, keyHash: null };
    const created = createRun(request, handler, fresh, NOW);
    this.run = withTrace({ ...created, run: { ...created.run, counted: true } }, this.#id(0), NOW, LIMITS);
    this.entries.push(...this.run.trace);
  }

  /** Each instance draws ids by its own clock, so a later id may be smaller. */
  #id(passedMs: number): string {
    this.drawn += BigInt(passedMs) * 100n + 1n;
    return String(this.drawn < 1n ? 1n : this.drawn).padStart(20, '0');
  }

  take(step: Step): void {
    this.now += step.passedMs;
    const before = this.run;
    const change = this.#decide(step);
    if (change === null) return;
    this.run = withTrace(change, this.#id(step.passedMs), this.now, LIMITS);
    this.entries.push(...this.run.trace.slice(before.trace.length));
  }

  #decide(step: Step): Change | null {
    const { run, now } = this;
    const settled = settleRun(run, now, OPTIONS);
    if (settled !== null) expect(settleRun(settled.run, now, OPTIONS)).toBeNull();
    const due = settled?.run ?? run;
    const after = (change: Change | null): Change | null =>
      change === null ? settled : { run: change.run, events: [...(settled?.events ?? []), ...change.events] };
    try {
      switch (step.act) {
        case 'settle':
          return settled;
        case 'cancel':
          return after(cancelRun(due, now));
        case 'raise':
          return after(this.#raise(due, step));
        case 'lease':
          return after(this.#lease(due, step));
        default:
          return this.#work(run, step);
      }
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      expect(['lease_stale', 'lease_not_active', 'inbox_full']).toContain(error.code);
      return null;
    }
  }

  #raise(run: Run, { name }: Step): Change {
    const event = { id: String(this.raised), name, raisedAt: this.now, payload: { json: null } };
    const change = raiseInRun(run, event, EVENTS_MAX);
    this.raised += 1;
    return change;
  }

  #lease(run: Run, { ttlMs, version }: Step): Change | null {
    const grant = grantOf({ tokenHash: `token-${this.leases + 1}`, ttlMs, handlerVersion: version });
    const change = leaseRun(run, grant, this.now);
    expect(change === null).toBe(run.status !== 'queued');
    if (change === null) return null;
    this.leases += 1;
    this.version = version;
    return change;
  }

  #work(run: Run, step: Step): Change | null {
    const proof = { tokenHash: `token-${this.leases - (step.stale ? 1 : 0)}`, workerId: 'w' };
    const held = run.lease !== null && run.lease.expiresAt > this.now && !step.stale;
    const change = this.#working(run, step, proof);
    // A worker without the lease changes nothing; at most the server answers a repeated completion.
    if (!held) expect(change).toBeNull();
    return change;
  }

  #working(run: Run, step: Step, proof: { tokenHash: string; workerId: string }): Change | null {
    const { now } = this;
    if (step.act === 'renew') return { run: renewLease(run, proof, step.ttlMs, now), events: [] };
    if (step.act === 'report') return reportProgress(run, proof, { progress: 0.5 }, now);
    if (step.act === 'complete') {
      const { status, failureClass, retryable } = step;
      const word = retryable === null ? {} : { retryable };
      const change = completeRun(run, proof, { status, failureClass, error: 'e', ...word }, now);
      if (change !== null && retryable === false) expect(isTerminal(change.run.status)).toBe(true);
      return change;
    }
    const dueAt = step.dueMs === null ? null : now + step.dueMs;
    const kind = step.timer && dueAt !== null ? 'timer' : 'external_event';
    const names = kind === 'timer' ? null : step.names;
    const identity = { kind, name: names?.[0] ?? step.name, ...(names === null ? {} : { names }) } as const;
    const request = { ...identity, dueAt, payload: { json: null }, timerId: '7' };
    const { outcome, ...change } = waitInRun(run, proof, request, now);
    if (outcome?.event == null) return change;
    this.consumed += 1;
    expect(names ?? [step.name]).toContain(outcome.event.name);
    expect(outcome.name).toBe(outcome.event.name);
    return change;
  }
}

function expectSound(life: Life, before: Run): void {
  const { run } = life;
  if (isTerminal(before.status)) {
    expect(run).toEqual({ ...before, inbox: run.inbox, trace: run.trace, ...changing(run) });
  }
  expect(run.attempt).toBe(life.leases);
  expect(run.handlerVersion ?? null).toBe(life.version);
  expect(run.failures).toBeLessThanOrEqual(run.retryPolicy.maxAttempts);
  expect(run.leaseExpirations).toBeLessThanOrEqual(OPTIONS.leaseExpirationsMax);
  expect(run.updatedAt).toBeGreaterThanOrEqual(before.updatedAt);
  expect(run.lease !== null).toBe(run.status === 'running');
  expectCancelled(life, before);
  expect(run.completedAt !== null).toBe(isTerminal(run.status));
  expect(run.counted).toBe(!isTerminal(run.status));
  expect(run.inbox.length).toBeLessThanOrEqual(EVENTS_MAX);
  if (run.status === 'waiting') {
    // The run can continue: by its schedule, the deadline of its wait, or the event that it waits for.
    expect(run.wait === null ? run.scheduledAt !== null : movesOn(run)).toBe(true);
    if (run.wait?.kind === 'external_event') {
      const awaited = run.wait.names ?? [run.wait.name];
      expect(run.inbox.map(({ name }) => name).filter((name) => awaited.includes(name))).toEqual([]);
    }
  } else {
    expect(run.wait).toBeNull();
  }
  if (isTerminal(run.status)) {
    expect(run.outcomes).toEqual([]);
  } else {
    const kept = run.outcomes.filter(({ event }) => event !== null).length;
    // The last consumed event that the worker did not confirm returns when the lease is lost or the attempt fails.
    if (before.taken?.event != null && run.outcomes[0] === before.taken) life.consumed -= 1;
    expect(run.inbox.length + kept + life.consumed).toBe(life.raised);
  }
  expect(run.traced).toBe(life.entries.length);
  expect(run.lastSequenceId).toBe(life.entries.at(-1)?.sequenceId);
  for (const [index, { sequenceId, at }] of life.entries.entries()) {
    const previous = life.entries[index - 1];
    if (previous === undefined) continue;
    expect(sequenceId > previous.sequenceId).toBe(true);
    expect(at).toBeGreaterThanOrEqual(previous.at);
  }
}

/** A requested cancellation is not forgotten, and with a grace the run ends within it, or with the lease of its request. */
function expectCancelled({ run, now }: Life, before: Run): void {
  if (!before.cancellationRequested || isTerminal(before.status)) return;
  expect(run.cancellationRequested).toBe(true);
  if (run.cancelGraceMs === undefined) return;
  expect(run.cancelBy).toBe(before.cancelBy);
  expect(['queued', 'running', 'cancelled', 'timed_out']).toContain(run.status);
  const latest = run.cancelBy ?? Number.NaN;
  if (run.lease !== null && run.lease !== before.lease)
    expect(run.lease.expiresAt).toBeLessThanOrEqual(latest);
  if (run.status === 'queued' && run !== before) expect(latest).toBeGreaterThan(now);
}

/** The change that a late event may still make to an ended run. */
function changing({ updatedAt, lastSequenceId, traced }: Run): Partial<Run> {
  return { updatedAt, lastSequenceId, traced };
}

function movesOn({ wait }: Run): boolean {
  return wait?.kind === 'external_event' || (wait?.dueAt ?? null) !== null;
}

test('a run stays sound after all changes in any order', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 4 }),
      fc.option(fc.constant(NOW + 1_000), { freq: 4 }),
      fc.array(anyStep, { minLength: 1, maxLength: 60 }),
      fc.constantFrom(null, 1, 5_000, 400_000),
      (maxAttempts, scheduledAt, steps, cancelGraceMs) => {
        const life = new Life(maxAttempts, scheduledAt, cancelGraceMs);
        for (const each of steps) {
          const before = life.run;
          life.take(each);
          expectSound(life, before);
        }
      },
    ),
    { numRuns: 1_500 },
  );
});
