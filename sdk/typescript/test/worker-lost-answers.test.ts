import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonInput } from '../src/index.ts';
import { WorkStopped } from '../src/worker/index.ts';
import { answerLost, answers, lostOnTheWay, type Way, WorkPlace } from './worker-stage.ts';

let place: WorkPlace;
beforeAll(async () => {
  place = await WorkPlace.open(20);
});
afterAll(() => place[Symbol.asyncDispose]());

let handlers = 0;
/** A handler id of this test alone, so that no other worker takes its runs. */
const fresh = () => `h${(handlers += 1)}`;
const ended = (run: { readonly id: string }) => place.client.waitForExecutionRun(run.id);

const RUNS = 20;
const EVENTS = 3;

test('no run loses an event, although every third answer of a wait is lost', async () => {
  const id = fresh();
  await using way = await place.way();
  let waits = 0;
  way.always('leases/wait', async (pass) => {
    waits += 1;
    const passed = await pass();
    return waits % 3 === 0 ? null : passed;
  });
  const runs = await Promise.all(Array.from({ length: RUNS }, () => place.start(id)));
  await Promise.all(
    runs.map(async (run) => {
      for (let n = 0; n < EVENTS; n += 1)
        await place.client.raiseExecutionEvent(run.id, { name: 'e', payload: n });
    }),
  );
  await using worker = place.worker(
    {
      [id]: async ({ waitForExternalEvent, checkpoint, readCheckpoint }) => {
        const seen = ((await readCheckpoint('seen'))?.content ?? []) as JsonInput[];
        while (seen.length < EVENTS) {
          seen.push((await waitForExternalEvent('e'))?.payload ?? null);
          await checkpoint('seen', seen);
        }
        return seen;
      },
    },
    { way, concurrency: 4 },
  );
  void worker.run();
  for (const run of runs) expect(await ended(run)).toMatchObject({ result: [0, 1, 2], attempt: 1 });
  expect(waits).toBeGreaterThan(RUNS * EVENTS);
});

test('a wait whose answer was lost is parked once, and repeated with its id', async () => {
  const id = fresh();
  const run = await place.start(id);
  await using way = await place.way();
  way.meets('leases/wait', answerLost);
  await using worker = place.worker(
    { [id]: async ({ waitForExternalEvent }) => (await waitForExternalEvent('e'))?.payload },
    { way },
  );
  expect(await worker.deliver({ runId: run.id })).toBe('suspended');
  const [first, second] = way.at('leases/wait');
  expect(second?.body).toEqual(first?.body);
  expect(first?.body).toMatchObject({ waitId: 'w1' });
  await place.client.raiseExecutionEvent(run.id, { name: 'e', payload: 'x' });
  expect(await worker.deliver({ runId: run.id })).toBe('executed');
  expect(await ended(run)).toMatchObject({ result: 'x', attempt: 2 });
});

test('each write of a lease has an id of its own, which its repeats keep', async () => {
  const id = fresh();
  const run = await place.start(id);
  await using way = await place.way();
  const paths = ['leases/events', 'leases/artifacts', 'leases/checkpoints'];
  for (const path of paths) way.meets(path, answerLost, lostOnTheWay, answers(502, 'bad_gateway'));
  await using worker = place.worker(
    {
      [id]: async ({ recordEvent, putArtifact, checkpoint }) => {
        await recordEvent({ message: 'once' });
        await putArtifact({ name: 'a', text: 'a' });
        await checkpoint('k', 1);
      },
    },
    { way },
  );
  expect(await worker.deliver({ runId: run.id })).toBe('executed');
  const ids = paths.map((path) => way.at(path).map(({ body }) => body.writeId));
  expect(ids).toEqual(['w1', 'w2', 'w3'].map((writeId) => [writeId, writeId, writeId, writeId]));
  const types = await place.historyOf(run);
  for (const type of ['log', 'artifact.written', 'checkpoint.written'])
    expect(
      types.filter((each) => each === type),
      type,
    ).toHaveLength(1);
});

describe('a write whose outcome stays unknown leaves the run to its lease', () => {
  test.each<[string, string, Parameters<Way['always']>[1]]>([
    ['an event, whose answers are lost', 'leases/events', answerLost],
    ['an artifact, which does not arrive', 'leases/artifacts', lostOnTheWay],
    ['a checkpoint, at a service that fails', 'leases/checkpoints', answers(500, 'internal_error')],
  ])('%s', async (_, path, fault) => {
    const id = fresh();
    const run = await place.start(id);
    await using way = await place.way();
    way.always(path, fault);
    way.always('leases/heartbeat', lostOnTheWay);
    const seen: unknown[] = [];
    const first = place.worker(
      {
        [id]: async ({ recordEvent, putArtifact, checkpoint }) => {
          const calls = {
            'leases/events': () => recordEvent({ message: 'm' }),
            'leases/artifacts': () => putArtifact({ name: 'a', text: 'a' }),
            'leases/checkpoints': () => checkpoint('k', 1),
          };
          await calls[path as keyof typeof calls]().catch((error: unknown) => {
            seen.push(error);
            throw error;
          });
        },
      },
      // Long enough that its handler begins before it is over.
      { way, leaseSeconds: 3 },
    );
    await expect(first.deliver({ runId: run.id })).rejects.toThrow('not completed');
    expect(seen).toEqual([expect.any(WorkStopped)]);
    expect(way.at('leases/complete')).toEqual([]);
    await using second = place.worker({ [id]: () => 'done' });
    void second.run();
    expect(await ended(run)).toMatchObject({ status: 'succeeded', result: 'done', attempt: 2 });
  });
});
