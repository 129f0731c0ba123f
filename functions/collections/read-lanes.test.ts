import { expect, test } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { type ReadLane, ReadLanes } from './read-lanes.ts';

const MUCH = 1_001;

/** A read that takes a place and then waits to be ended. */
function longRead(lanes: ReadLanes, space: string, signal?: AbortSignal) {
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  const seen = { begun: 0, reads: 0 };
  const read = async (lane: ReadLane): Promise<string> => {
    seen.begun += 1;
    lane.passed(1, 10);
    lane.passed(MUCH, 10);
    seen.reads += 1;
    await isOver;
    lane.passed(1, 10);
    return space;
  };
  const done = lanes.run(space, read, signal === undefined ? {} : { signal });
  return { seen, end, done };
}

const settled = () => new Promise(setImmediate);

test('two long reads of a space run at once, and the others begin again when they have a place', async () => {
  const lanes = new ReadLanes();
  const reads = Array.from({ length: 4 }, () => longRead(lanes, 'a'));
  await settled();
  expect(reads.map(({ seen }) => seen)).toEqual([
    { begun: 1, reads: 1 },
    { begun: 1, reads: 1 },
    { begun: 1, reads: 0 },
    { begun: 1, reads: 0 },
  ]);
  reads[1]?.end();
  await settled();
  expect(reads[2]?.seen).toEqual({ begun: 2, reads: 1 });
  expect(reads[3]?.seen.reads).toBe(0);
  for (const { end } of reads) end();
  expect(await Promise.all(reads.map(({ done }) => done))).toEqual(['a', 'a', 'a', 'a']);
});

test('a read of few records needs no place, and a space finds one beside a busy space', async () => {
  const lanes = new ReadLanes();
  const busy = Array.from({ length: 10 }, () => longRead(lanes, 'busy'));
  await settled();
  expect(await lanes.run('busy', (lane) => Promise.resolve(lane.passed(1_000, 1_000)))).toBeUndefined();
  const other = longRead(lanes, 'other');
  await settled();
  expect(other.seen).toEqual({ begun: 1, reads: 1 });
  for (const { end } of [...busy, other]) end();
  await Promise.all([...busy, other].map(({ done }) => done));
});

test('large bodies take a place as many records do, and a failure gives it back', async () => {
  const lanes = new ReadLanes();
  const failing = (): Promise<never> =>
    lanes.run('a', (lane) => {
      lane.passed(1, 5_000_000);
      return Promise.reject(new Error('gone'));
    });
  for (let calls = 0; calls < 5; calls += 1) await expect(failing()).rejects.toThrow('gone');
  const held = [longRead(lanes, 'a'), longRead(lanes, 'a')];
  const waiting = failing();
  await settled();
  for (const { end } of held) end();
  await expect(waiting).rejects.toThrow('gone');
});

test('the spaces take turns where the process has no place left', async () => {
  const lanes = new ReadLanes();
  const held = ['a', 'a', 'b', 'b', 'c', 'c'].map((space) => longRead(lanes, space));
  const waiting = ['d', 'd', 'e'].map((space) => longRead(lanes, space));
  await settled();
  expect(waiting.map(({ seen }) => seen.reads)).toEqual([0, 0, 0]);
  held[0]?.end();
  await settled();
  expect(waiting.map(({ seen }) => seen.reads)).toEqual([1, 0, 0]);
  held[1]?.end();
  await settled();
  expect(waiting.map(({ seen }) => seen.reads)).toEqual([1, 0, 1]);
  for (const { end } of [...held, ...waiting]) end();
  await Promise.all([...held, ...waiting].map(({ done }) => done));
});

test('more long reads of a space than may wait are refused', async () => {
  const lanes = new ReadLanes();
  const reads = Array.from({ length: 18 }, () => longRead(lanes, 'a'));
  await settled();
  await expect(longRead(lanes, 'a').done).rejects.toMatchObject({ code: 'rate_limited' });
  for (const { end } of reads) end();
  await Promise.all(reads.map(({ done }) => done));
});

test('a call whose client has gone leaves the line, and a running one ends at its next page', async () => {
  const lanes = new ReadLanes();
  const client = new AbortController();
  const held = [longRead(lanes, 'a', client.signal), longRead(lanes, 'a')];
  const gone = longRead(lanes, 'a', client.signal);
  const next = longRead(lanes, 'a');
  await settled();
  client.abort();
  await expect(gone.done).rejects.toBe(client.signal.reason);
  expect(gone.seen.reads).toBe(0);
  held[0]?.end();
  await expect(held[0]?.done).rejects.toBe(client.signal.reason);
  await settled();
  expect(next.seen).toEqual({ begun: 2, reads: 1 });
  const late = longRead(lanes, 'a', client.signal);
  await expect(late.done).rejects.toBe(client.signal.reason);
  for (const { end } of [...held, next]) end();
  expect(await Promise.all([held[1]?.done, next.done])).toEqual(['a', 'a']);
});

test('a call waits for a bounded time, and those behind it keep their places in the line', async () => {
  const world = new ManualWorld();
  const lanes = new ReadLanes({ timers: world.timers, longReadsMax: 1 });
  const held = longRead(lanes, 'a');
  const tired = longRead(lanes, 'a');
  const outcome = tired.done.catch((error: unknown) => error);
  await settled();
  world.advance(10_000);
  const patient = longRead(lanes, 'a');
  await settled();
  world.advance(10_001);
  expect(await outcome).toMatchObject({ code: 'unavailable', extensions: { retryAfterSeconds: 5 } });
  held.end();
  await settled();
  expect(patient.seen).toEqual({ begun: 2, reads: 1 });
  patient.end();
  expect(await Promise.all([held.done, patient.done])).toEqual(['a', 'a']);
});
