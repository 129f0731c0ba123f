import { assert, integer, property } from 'fast-check';
import { expect, it, test } from 'vitest';
import type { Run } from '../run.ts';
import { isReplaceable, quietMoment, replaceRun, withJoined } from './quiet.ts';
import { NOW, queuedRun, typesOf } from './run.fixture.ts';

function putOff(more: Partial<Run> = {}): Run {
  return queuedRun({ status: 'waiting', scheduledAt: NOW + 10, quietBy: NOW + 100, startKey: 'k', ...more });
}

const later = { payload: { json: 2 }, payloadHash: 'sha256:b', quietMs: 50 };

it('replaces payload and moment, and nothing else', () => {
  const run = putOff();
  const change = replaceRun(run, later, NOW + 5);
  expect(change?.run).toEqual({
    ...run,
    payload: { json: 2 },
    payloadHash: 'sha256:b',
    scheduledAt: NOW + 55,
  });
  expect(typesOf(change)).toEqual(['run.replaced']);
  expect(change?.events[0]?.details).toEqual({ payloadHash: 'sha256:b', replacedPayloadHash: 'sha256:a' });
});

it.each<{ why: string; run: Run }>([
  { why: 'its moment has come', run: putOff({ scheduledAt: NOW }) },
  { why: 'it is queued', run: putOff({ status: 'queued', scheduledAt: null }) },
  { why: 'a worker has had it', run: putOff({ attempt: 1 }) },
  { why: 'it is to be cancelled', run: putOff({ cancellationRequested: true }) },
  { why: 'it has ended', run: putOff({ status: 'cancelled' }) },
  { why: 'its start asked for no quiet time', run: queuedRun({ status: 'waiting', scheduledAt: NOW + 10 }) },
])('leaves a run alone when $why', ({ run }) => {
  expect(isReplaceable(run, NOW)).toBe(false);
  expect(replaceRun(run, later, NOW)).toBeNull();
});

test('a run is put off from start to start, and never beyond its bound', () => {
  const ms = integer({ min: 1, max: 1_000 });
  assert(
    property(ms, ms, ms, (now, quietMs, quietBy) => {
      const moment = quietMoment(now, quietMs, quietBy);
      expect(moment).toBeLessThanOrEqual(quietBy);
      expect(moment === now + quietMs || moment === quietBy).toBe(true);
    }),
    { seed: 13 },
  );
});

it('keeps the newest starts that joined', () => {
  const start = (n: number) => ({ keyHash: `k${n}`, runId: 'r', payloadHash: 'p' });
  expect(withJoined([start(1), start(2)], start(3), 2)).toEqual([start(2), start(3)]);
  expect(withJoined([start(1)], null, 2)).toEqual([start(1)]);
});
