import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../test/support/refusal.ts';
import type { InboxEvent, WaitOutcome } from '../run.ts';
import { completeRun } from './complete.ts';
import { loseLease, settleRun } from './due.ts';
import { NOW, OPTIONS, parkedRun, proof, queuedRun, runningRun, typesOf } from './run.fixture.ts';
import { raiseInRun, type WaitRequest, waitInRun } from './wait.ts';

const eventOf = (id: string, more: Partial<InboxEvent> = {}): InboxEvent => ({
  id,
  name: 'go',
  raisedAt: NOW,
  payload: { json: id },
  ...more,
});
const forEvent: WaitRequest = {
  kind: 'external_event',
  name: 'go',
  dueAt: null,
  payload: { json: 'p' },
  timerId: '9',
};
const forTimer: WaitRequest = { ...forEvent, kind: 'timer', dueAt: NOW + 50 };
const kept = (kind: WaitOutcome['kind'], name = 'go'): WaitOutcome => ({
  kind,
  name,
  outcome: kind === 'timer' ? 'timer' : 'timed_out',
  event: null,
  timer: null,
});

describe('a wait', () => {
  test('takes a kept outcome of its kind and name before anything else, once', () => {
    const outcomes = [kept('timer'), kept('external_event', 'other'), kept('external_event')];
    const run = runningRun({ outcomes, inbox: [eventOf('1')] });
    const taken = waitInRun(run, proof, { ...forEvent, dueAt: NOW }, NOW);
    expect(taken.outcome).toBe(outcomes[2]);
    expect(taken.run).toEqual({ ...run, outcomes: outcomes.slice(0, 2), taken: outcomes[2] });
    expect(taken.events).toEqual([]);
  });

  test('takes one of two kept outcomes of one wait', () => {
    const run = runningRun({ outcomes: [kept('timer'), kept('timer')] });
    expect(waitInRun(run, proof, forTimer, NOW).run.outcomes).toHaveLength(1);
  });

  test('consumes the oldest event of its name: by moment, then by id', () => {
    const inbox = [
      eventOf('4', { raisedAt: NOW + 1 }),
      eventOf('3'),
      eventOf('2'),
      eventOf('1', { name: 'Go' }),
    ];
    const met = waitInRun(runningRun({ inbox }), proof, { ...forEvent, dueAt: NOW - 1 }, NOW);
    expect(met.outcome).toMatchObject({ outcome: 'external_event', event: { id: '2' } });
    expect(met.run.inbox.map(({ id }) => id)).toEqual(['4', '3', '1']);
    expect(typesOf(met)).toEqual(['wait.resumed']);
  });

  test('for several names takes the oldest event of any, and its outcome has that name', () => {
    const forAny: WaitRequest = { ...forEvent, name: 'stop', names: ['go', 'stop'] };
    const inbox = [eventOf('3', { name: 'go,stop' }), eventOf('2'), eventOf('1', { name: 'stop' })];
    const met = waitInRun(runningRun({ inbox }), proof, forAny, NOW);
    const [other, left, event] = inbox;
    expect(met.outcome).toEqual({
      kind: 'external_event',
      name: 'stop',
      names: ['go', 'stop'],
      outcome: 'external_event',
      event,
      timer: null,
    });
    expect(met.run.inbox).toEqual([other, left]);
    expect(waitInRun(met.run, proof, forAny, NOW).outcome).toMatchObject({ name: 'go', event: left });
  });

  test('for several names is another wait than one for a part of them', () => {
    const names = ['go', 'stop'];
    const outcomes = [kept('external_event'), { ...kept('external_event'), names }];
    const run = runningRun({ outcomes });
    const take = (more: Partial<WaitRequest>) => waitInRun(run, proof, { ...forEvent, ...more }, NOW).outcome;
    expect(take({})).toBe(outcomes[0]);
    expect(take({ name: 'stop', names })).toBe(outcomes[1]);
    for (const others of [
      ['go', 'halt'],
      ['go', 'halt', 'stop'],
      ['halt', 'stop'],
    ])
      expect(take({ names: others }), others.join()).toBeNull();
  });

  test('takes the event of an earlier wait for other names, after the outcome of the same wait', () => {
    const names = ['go', 'stop'];
    const met = (id: string) => ({
      ...kept('external_event'),
      outcome: 'external_event' as const,
      event: eventOf(id),
    });
    const outcomes = [met('1'), { ...met('2'), names }];
    const take = (more: Partial<WaitRequest>, held = runningRun({ outcomes })) =>
      waitInRun(held, proof, { ...forEvent, ...more }, NOW);
    expect(take({}).outcome).toBe(outcomes[0]);
    expect(take({ name: 'stop', names }).outcome).toBe(outcomes[1]);
    const other = take({ names: ['go', 'halt'] });
    expect(other.outcome).toBe(outcomes[0]);
    expect(other.run).toMatchObject({ outcomes: [outcomes[1]], taken: outcomes[0] });
    expect(take({}, other.run).outcome).toBe(outcomes[1]);
    expect(take({ name: 'halt', names: ['halt', 'stop'] }).outcome).toBeNull();
  });

  test('for several names parks the run under all of them, and an event of each resumes it', () => {
    const names = ['go', 'stop'];
    const parked = waitInRun(runningRun(), proof, { ...forEvent, name: 'stop', names, dueAt: NOW + 5 }, NOW);
    expect(parked.run.wait).toMatchObject({ name: 'stop', names });
    expect(parked.run.currentStep).toBe('waiting:external_event:go,stop');
    expect(parked.events[0]?.details).toEqual({ kind: 'external_event', name: 'stop', names });
    for (const name of names) {
      const { run } = raiseInRun(parked.run, eventOf('1', { name }), 9);
      expect(run).toMatchObject({ status: 'queued', inbox: [], outcomes: [{ name, names }] });
    }
    const ignored = raiseInRun(parked.run, eventOf('1', { name: 'halt' }), 9).run;
    expect(ignored).toMatchObject({ status: 'waiting', inbox: [{ name: 'halt' }] });
    const late = settleRun(parked.run, NOW + 5, OPTIONS)?.run;
    expect(late?.outcomes).toMatchObject([{ name: 'stop', names, outcome: 'timed_out' }]);
  });

  test('shows long names as far as a step goes, without half a character', () => {
    const names = ['x'.repeat(170), `${'x'.repeat(5)}\u{1F600}`];
    const { run } = waitInRun(runningRun(), proof, { ...forEvent, names }, NOW);
    expect(run.currentStep).toHaveLength(200);
    expect(run.currentStep?.endsWith('x\uFFFD')).toBe(true);
  });

  test('for a timer does not take events', () => {
    const run = runningRun({ inbox: [eventOf('1')] });
    expect(waitInRun(run, proof, forTimer, NOW).run).toMatchObject({ status: 'waiting', inbox: run.inbox });
  });

  test.each([
    ['external_event', 'timed_out', 'wait.timed_out'],
    ['timer', 'timer', 'wait.resumed'],
  ] as const)('with a time in the past continues at once (%s)', (kind, outcome, type) => {
    const run = runningRun();
    const met = waitInRun(run, proof, { ...forEvent, kind, dueAt: NOW }, NOW);
    expect(met.outcome?.outcome).toBe(outcome);
    expect(met.run).toEqual({ ...run, taken: met.outcome });
    expect(typesOf(met)).toEqual([type]);
    const timer = { id: '9', name: 'go', fireAt: NOW, createdAt: NOW, payload: { json: 'p' } };
    expect(met.outcome?.timer).toEqual(kind === 'timer' ? timer : null);
  });

  test('returns its outcome again when the lease is lost, or the attempt fails, before the next write of the holder', () => {
    const run = runningRun({ outcomes: [kept('timer')], inbox: [eventOf('1')] });
    const taken = waitInRun(run, proof, forEvent, NOW);
    expect(taken.run.outcomes).toEqual(run.outcomes);
    const lost = loseLease(taken.run, NOW, { leaseExpirationsMax: 5 }).run;
    expect(lost).toMatchObject({ status: 'queued', taken: null, outcomes: [taken.outcome, ...run.outcomes] });
    const retried = { ...taken.run, retryPolicy: { ...run.retryPolicy, maxAttempts: 2 } };
    const failed = completeRun(
      retried,
      proof,
      { status: 'failed', failureClass: null, error: null },
      NOW,
    )?.run;
    expect(failed).toMatchObject({
      status: 'waiting',
      taken: null,
      outcomes: [taken.outcome, ...run.outcomes],
    });
  });

  test('is over finally when the holder waits for something else', () => {
    const taken = waitInRun(runningRun({ inbox: [eventOf('1')] }), proof, forEvent, NOW);
    const next = waitInRun(taken.run, proof, { ...forEvent, name: 'other' }, NOW);
    expect(next.run).toMatchObject({ status: 'waiting', taken: null, outcomes: [] });
  });

  test('is refused where the run keeps as many outcomes as it may', () => {
    const full = Array.from({ length: 256 }, (_, n) => kept('timer', `t${n}`));
    const refused = refusalOf(() => waitInRun(runningRun({ outcomes: full }), proof, forEvent, NOW));
    expect(refused.code).toBe('limit_exceeded');
    const room = waitInRun(runningRun({ outcomes: full.slice(1) }), proof, forEvent, NOW);
    expect(room.run.status).toBe('waiting');
  });

  test('parks the run and ends its lease', () => {
    const parked = waitInRun(runningRun(), proof, { ...forEvent, dueAt: NOW + 1 }, NOW);
    expect(parked.run).toMatchObject({
      status: 'waiting',
      scheduledAt: NOW + 1,
      currentStep: 'waiting:external_event:go',
      lease: null,
      endedLease: { ...proof, how: 'suspended' },
      wait: { dueAt: NOW + 1, timerId: null, payload: { json: null }, registeredAt: NOW },
      counted: true,
    });
    expect(parked.events).toEqual([
      { type: 'wait.registered', details: { kind: 'external_event', name: 'go' } },
    ]);
  });

  test('of the longest name still has its step within the limit', () => {
    const { run } = waitInRun(runningRun(), proof, { ...forEvent, name: 'n'.repeat(200) }, NOW);
    expect(run.currentStep).toHaveLength(200);
  });

  test('of a run that is to be cancelled ends it, unless it need not park', () => {
    const asked = runningRun({ cancellationRequested: true });
    const parked = waitInRun(asked, proof, forEvent, NOW);
    expect(parked).toMatchObject({
      outcome: null,
      run: { status: 'cancelled', wait: null, counted: false, endedLease: { how: 'cancelled' } },
    });
    expect(waitInRun({ ...asked, inbox: [eventOf('1')] }, proof, forEvent, NOW).run.status).toBe('running');
  });

  test('needs the lease', () => {
    const other = { ...proof, tokenHash: 'x' };
    expect(refusalOf(() => waitInRun(runningRun(), other, forEvent, NOW)).code).toBe('lease_stale');
    expect(refusalOf(() => waitInRun(parkedRun(), proof, forEvent, NOW))).toMatchObject({
      code: 'lease_not_active',
      how: 'suspended',
    });
  });

  test('without a deadline waits for ever', () => {
    expect(settleRun(parkedRun(), NOW + 1e12, OPTIONS)).toBeNull();
  });
});

describe('an event', () => {
  test('wakes the run that waits for exactly its name', () => {
    const change = raiseInRun(parkedRun(), eventOf('1'), 0);
    expect(change.run.outcomes).toMatchObject([{ outcome: 'external_event', event: { id: '1' } }]);
    expect(typesOf(change)).toEqual(['external_event.raised', 'wait.resumed']);
  });

  test.each([
    ['another name', parkedRun({ name: 'Go' })],
    ['a timer of its name', parkedRun({ kind: 'timer', dueAt: NOW + 1 })],
    ['nothing', queuedRun()],
    ['nothing, at work', runningRun()],
    ['nothing ever again', queuedRun({ status: 'succeeded', completedAt: NOW })],
  ])('is kept by a run that waits for %s', (_, run) => {
    const change = raiseInRun(run, eventOf('1'), 1);
    expect(change.run).toEqual({ ...run, inbox: [eventOf('1')] });
    expect(change.events).toEqual([{ type: 'external_event.raised', details: { name: 'go', eventId: '1' } }]);
  });

  test('is refused where the inbox holds as many as it may', () => {
    const run = runningRun({ inbox: [eventOf('1'), eventOf('2')] });
    expect(raiseInRun(run, eventOf('3'), 3).run.inbox).toHaveLength(3);
    expect(refusalOf(() => raiseInRun(run, eventOf('3'), 2)).code).toBe('inbox_full');
  });
});
