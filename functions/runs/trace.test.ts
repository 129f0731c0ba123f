import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ID, NOW, queuedRun } from './rules/run.fixture.ts';
import type { Run, RunTraceDraft } from './run.ts';
import { overflowingTrace, type RunTraceLimits, withTrace } from './trace.ts';

const LIMITS: RunTraceLimits = { eventsPerRunMax: 5, messageLengthMax: 40, redacted: new Set() };
const log: RunTraceDraft = { type: 'log' };
const times = (count: number, draft = log) => Array.from({ length: count }, () => draft);

function recorded(run: Run, events: readonly RunTraceDraft[], baseId = ID, limits = LIMITS, now = NOW): Run {
  return withTrace({ run, events }, baseId, now, limits);
}

describe('the trace of a run', () => {
  test('has each event with the state of the run at that time', () => {
    const run = queuedRun({ attempt: 3, status: 'waiting' });
    const details = { a: { b: 1 } };
    const event = { type: 'x', severity: 'error', message: 'm', details, workerId: 'w' };
    expect(recorded(run, [event], ID, LIMITS, NOW + 5)).toEqual({
      ...run,
      queuedAt: null,
      updatedAt: NOW + 5,
      trace: [{ sequenceId: ID, at: NOW + 5, attempt: 3, status: 'waiting', ...event }],
      lastSequenceId: ID,
      traced: 1,
      traceDropped: 0,
    });
    const [bare] = recorded(run, [log]).trace;
    expect(bare).toMatchObject({ severity: 'info', message: null, details: null, workerId: null });
  });

  test('gets no entry from a change without an event, but the run gets its time', () => {
    expect(recorded(queuedRun(), [], ID, LIMITS, NOW + 1)).toEqual(
      queuedRun({ updatedAt: NOW + 1, queuedAt: NOW + 1 }),
    );
  });

  test('keeps the time of queueing until the run leaves the queue', () => {
    const queued = recorded(queuedRun(), [], ID, LIMITS, NOW + 1);
    const written = recorded(queued, [log], ID, LIMITS, NOW + 9);
    expect([written.queuedAt, written.updatedAt]).toEqual([NOW + 1, NOW + 9]);
    const waiting = recorded({ ...written, status: 'waiting' }, [], ID, LIMITS, NOW + 10);
    expect(waiting.queuedAt).toBeNull();
    expect(recorded({ ...waiting, status: 'queued' }, [], ID, LIMITS, NOW + 20).queuedAt).toBe(NOW + 20);
  });

  test('never goes back in time, also when the clock does', () => {
    const run = recorded(queuedRun({ updatedAt: NOW + 10 }), [log]);
    expect(run.updatedAt).toBe(NOW + 10);
    expect(run.trace[0]?.at).toBe(NOW + 10);
  });

  test('has strictly increasing ids, also when drawn ids decrease', () => {
    const id = fc.bigInt({ min: 1n, max: 1n << 62n }).map((n) => String(n).padStart(20, '0'));
    const near = fc
      .integer({ min: -20_000, max: 20_000 })
      .map((n) => String(BigInt(ID) + BigInt(n)).padStart(20, '0'));
    const changes = fc.array(fc.tuple(fc.oneof(near, near, id), fc.integer({ min: 0, max: 4 })), {
      maxLength: 20,
    });
    fc.assert(
      fc.property(changes, (all) => {
        let run = queuedRun();
        const limits = { ...LIMITS, eventsPerRunMax: 1_000 };
        for (const [baseId, events] of all) run = recorded(run, times(events), baseId, limits);
        const ids = run.trace.map(({ sequenceId }) => sequenceId);
        expect(ids).toEqual([...new Set(ids)].sort());
        for (const each of ids) expect(each).toMatch(/^[0-9]{20}$/);
        expect(run.lastSequenceId).toBe(ids.at(-1) ?? '');
      }),
    );
  });

  test('begins at the drawn id, unless the run has a later one', () => {
    const ahead = queuedRun({ lastSequenceId: '00822868566016000200' });
    expect(recorded(ahead, [log]).lastSequenceId).toBe('00822868566016008392');
    expect(recorded(queuedRun({ lastSequenceId: ID }), [log]).lastSequenceId > ID).toBe(true);
    expect(recorded(queuedRun({ lastSequenceId: '00822868566016000114' }), [log]).lastSequenceId).toBe(ID);
  });
});

describe('a trace that is full', () => {
  const full = recorded(queuedRun(), times(5));

  test('drops events of workers, and counts them', () => {
    expect([full.trace.length, full.traced, full.traceDropped]).toEqual([5, 5, 0]);
    const more = recorded(full, [log, log]);
    expect(more.trace).toEqual(full.trace);
    expect([more.traced, more.traceDropped, more.lastSequenceId]).toEqual([7, 2, full.lastSequenceId]);
  });

  test('keeps events up to the limit, out of several', () => {
    const run = recorded(queuedRun(), times(7));
    expect([run.trace.length, run.traced, run.traceDropped]).toEqual([5, 7, 2]);
  });

  test('still accepts the end of the run', () => {
    const ended = recorded(recorded(full, [log]), [log, { type: 'run.completed' }]);
    expect(ended.trace.at(-1)?.type).toBe('run.completed');
    expect([ended.trace.length, ended.traced, ended.traceDropped]).toEqual([6, 8, 2]);
  });

  test('reserves that room for the runtime, also from worker events with a type of the runtime', () => {
    const more = recorded(full, [{ type: 'run.completed', byWorker: true }]);
    expect([more.trace.length, more.traceDropped]).toEqual([5, 1]);
  });

  test('limits events of the runtime too, except for the end of the run', () => {
    const endless = recorded(full, times(2_000, { type: 'lease.acquired' }));
    expect(endless.trace).toHaveLength(1_005);
    expect(endless.traceDropped).toBe(1_000);
    const ends = ['run.cancellation_requested', 'run.completed', 'run.failed', 'run.rejected'];
    for (const type of ends) expect(recorded(endless, [{ type }]).trace.at(-1)?.type).toBe(type);
    for (const event of [{ type: 'run.failed', byWorker: true }, { type: 'run.started' }]) {
      expect(recorded(endless, [event]).trace).toHaveLength(1_005);
    }
  });
});

describe('messages', () => {
  const messageOf = (message: string) => recorded(queuedRun(), [{ ...log, message }]).trace[0]?.message;

  test('are cut beyond the limit, with a mark', () => {
    expect(messageOf('x'.repeat(40))).toBe('x'.repeat(40));
    expect(messageOf('x'.repeat(41))).toBe(`${'x'.repeat(26)}...[truncated]`);
  });

  test('are never cut within a character', () => {
    const cut = messageOf(`${'x'.repeat(25)}😀${'x'.repeat(20)}`);
    expect(cut?.isWellFormed()).toBe(true);
    expect(cut?.length).toBeLessThanOrEqual(40);
  });
});

describe('redaction', () => {
  const redacted = new Set(['secret', '__proto__']);
  const detailsOf = (details: RunTraceDraft['details']) =>
    recorded(queuedRun(), [{ type: 'log', message: 'secret', details: details ?? null }], ID, {
      ...LIMITS,
      redacted,
    });

  test('puts a mark in place of the named members at the top, in their order', () => {
    const details = JSON.parse('{"a":{"secret":1},"secret":{"b":2},"__proto__":3}');
    const [entry] = detailsOf(details).trace;
    expect(JSON.stringify(entry?.details)).toBe(
      '{"a":{"secret":1},"secret":"[redacted]","__proto__":"[redacted]"}',
    );
    expect(entry?.message).toBe('secret');
  });

  test('keeps null details', () => {
    expect(detailsOf(null).trace[0]?.details).toBeNull();
  });
});

describe('a trace that has grown too long for its run', () => {
  const run = (events: number, draft: RunTraceDraft = log) =>
    recorded(queuedRun(), times(events, draft), ID, {
      ...LIMITS,
      eventsPerRunMax: 100,
      messageLengthMax: 10_000,
    });

  test('moves as a whole', () => {
    expect(overflowingTrace(run(16))).toEqual([]);
    expect(overflowingTrace(run(17))).toHaveLength(17);
  });

  test('moves by size too, of messages and details', () => {
    expect(overflowingTrace(run(1, { ...log, message: 'x'.repeat(8_192) }))).toEqual([]);
    expect(overflowingTrace(run(1, { ...log, message: 'x'.repeat(8_193) }))).toHaveLength(1);
    expect(overflowingTrace(run(2, { ...log, details: { d: 'x'.repeat(5_000) } }))).toHaveLength(2);
    expect(overflowingTrace(run(2, { ...log, details: { d: 'x'.repeat(4_000) } }))).toEqual([]);
  });

  test('does not where there is none', () => {
    expect(overflowingTrace(run(0))).toEqual([]);
  });
});
