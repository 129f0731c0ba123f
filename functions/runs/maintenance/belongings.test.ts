import { describe, expect, it } from 'vitest';
import { queuedRun } from '../rules/run.fixture.ts';
import type { Run, TraceEntry } from '../run.ts';
import { mayOwn, OWNED, sameState } from './belongings.ts';

const entry = (type: string, details: TraceEntry['details'] = null): TraceEntry => ({
  sequenceId: '1',
  type,
  at: 0,
  attempt: 1,
  status: 'running',
  severity: 'info',
  message: null,
  details,
  workerId: null,
});
const told = (entries: readonly TraceEntry[], more: Partial<Run> = {}): Run =>
  queuedRun({ trace: entries, traced: entries.length, ...more });
const kinds = (run: Run) => mayOwn(run).map(({ name }) => name);
const all = OWNED.map(({ name }) => name);

describe('what may lie beside a run', () => {
  it('is nothing where it was started, leased and completed', () => {
    const types = ['run.created', 'lease.acquired', 'run.started', 'log', 'lease.expired', 'run.completed'];
    expect(kinds(told(types.map((type) => entry(type))))).toEqual([]);
  });

  it.each([
    ['checkpoint.written', 'checkpoints'],
    ['timer.scheduled', 'timers'],
    ['external_event.raised', 'values'],
    ['wait.registered', 'values'],
    ['run.status', 'values'],
    ['retry.scheduled', 'values'],
  ])('is told by its trace: %s', (type, name) => {
    expect(kinds(told([entry('run.created'), entry(type)]))).toEqual([name]);
  });

  it('is a lease where that was taken on a name', () => {
    expect(kinds(told([entry('lease.acquired', { name: 'n' })]))).toEqual(['leases']);
  });

  it('is an artifact where the run counts one', () => {
    const written = [entry('artifact.written')];
    expect(kinds(told(written, { artifacts: 1 }))).toEqual(['artifacts']);
    expect(kinds(told([entry('constructor')], { artifacts: 1 }))).toEqual(all);
  });

  it('is a payload or a result that has a record', () => {
    expect(kinds(told([], { payload: { record: 'r' } }))).toEqual(['values']);
    expect(kinds(told([], { result: { record: 'r' } }))).toEqual(['values']);
  });

  it.each<[string, Partial<Run>]>([
    ['moved out of the run', { traced: 3 }],
    ['dropped', { traceDropped: 1 }],
  ])('may be anything where some of its trace is %s', (_, more) => {
    expect(kinds(told([entry('run.created')], { artifacts: 1, ...more }))).toEqual(all);
  });

  it('may be anything where its trace tells of what is not known here', () => {
    expect(kinds(told([entry('__proto__')], { artifacts: 1 }))).toEqual(all);
  });
});

describe('a run that was looked at before', () => {
  it('is the same where nothing was written to it', () => {
    const run = told([entry('run.created')]);
    expect(sameState(run, { ...run })).toBe(true);
    for (const more of [
      { updatedAt: run.updatedAt + 1 },
      { traced: 2 },
      { trace: [] },
      { lastSequenceId: '2' },
    ]) {
      expect(sameState(run, { ...run, ...more }), JSON.stringify(more)).toBe(false);
    }
  });
});
