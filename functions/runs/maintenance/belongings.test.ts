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
const runWith = (entries: readonly TraceEntry[], more: Partial<Run> = {}): Run =>
  queuedRun({ trace: entries, traced: entries.length, ...more });
const kinds = (run: Run) => mayOwn(run).map(({ name }) => name);
const all = OWNED.map(({ name }) => name);

describe('records that may belong to a run', () => {
  it('are none after start, lease and completion alone', () => {
    const types = ['run.created', 'lease.acquired', 'run.started', 'log', 'lease.expired', 'run.completed'];
    expect(kinds(runWith(types.map((type) => entry(type))))).toEqual([]);
  });

  it.each([
    ['checkpoint.written', 'checkpoints'],
    ['timer.scheduled', 'timers'],
    ['external_event.raised', 'values'],
    ['wait.registered', 'values'],
    ['run.status', 'values'],
    ['retry.scheduled', 'values'],
  ])('are derived from its trace: %s', (type, name) => {
    expect(kinds(runWith([entry('run.created'), entry(type)]))).toEqual([name]);
  });

  it('include a lease when the trace has a named one', () => {
    expect(kinds(runWith([entry('lease.acquired', { name: 'n' })]))).toEqual(['leases']);
  });

  it('include an artifact when the run counts one', () => {
    const written = [entry('artifact.written')];
    expect(kinds(runWith(written, { artifacts: 1 }))).toEqual(['artifacts']);
    expect(kinds(runWith([entry('constructor')], { artifacts: 1 }))).toEqual(all);
  });

  it('include a payload or a result with a record of its own', () => {
    expect(kinds(runWith([], { payload: { record: 'r' } }))).toEqual(['values']);
    expect(kinds(runWith([], { result: { record: 'r' } }))).toEqual(['values']);
  });

  it.each<[string, Partial<Run>]>([
    ['moved out of the run', { traced: 3 }],
    ['dropped', { traceDropped: 1 }],
  ])('may be of any kind when some of its trace is %s', (_, more) => {
    expect(kinds(runWith([entry('run.created')], { artifacts: 1, ...more }))).toEqual(all);
  });

  it('may be of any kind when its trace has an unknown event type', () => {
    expect(kinds(runWith([entry('__proto__')], { artifacts: 1 }))).toEqual(all);
  });
});

describe('a run that was read before', () => {
  it('is unchanged without a write to it', () => {
    const run = runWith([entry('run.created')]);
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
