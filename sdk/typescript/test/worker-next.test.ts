import { afterAll, beforeAll, expect, test } from 'vitest';
import { json, ManualTime, problem, Stage } from './stage.ts';
import {
  answerLost,
  answers,
  stagedLease as lease,
  moment,
  stagedRun as run,
  staged,
  type Way,
  WorkPlace,
} from './worker-stage.ts';

/** Workers that ask for their next run with a completion. */

let place: WorkPlace;
beforeAll(async () => {
  place = await WorkPlace.open(12);
});
afterAll(() => place[Symbol.asyncDispose]());

let handlers = 0;
/** A handler id of this test alone, so that no other worker takes its runs. */
const fresh = () => `h${(handlers += 1)}`;
const ended = (one: { readonly id: string }) => place.client.waitForExecutionRun(one.id);
const asking = (way: Way) => way.at('leases/complete').map(({ body }) => body.leaseNext ?? null);

test('ready runs cost one request each, after one lease call', async () => {
  const id = fresh();
  const runs = [];
  for (let n = 0; n < 5; n += 1) runs.push(await place.start(id, n));
  await using way = await place.way();
  await using worker = place.worker({ [id]: ({ payload }) => payload }, { way, leaseSeconds: 90 });
  void worker.run();
  for (const [n, one] of runs.entries())
    expect(await ended(one)).toMatchObject({ status: 'succeeded', result: n, attempt: 1 });
  // The second lease call waits for further runs.
  await way.awaited('leases', 2);
  expect([way.leases.length, way.at('leases').length]).toEqual([1, 2]);
  expect(asking(way)).toEqual(runs.map(() => ({ handlerIds: [id], ttlSeconds: 90 })));
});

test('each slot asks for its own runs', async () => {
  const id = fresh();
  const together = moment();
  let atOnce = 0;
  const runs = [];
  for (let n = 0; n < 6; n += 1) runs.push(await place.start(id, n));
  await using way = await place.way();
  await using worker = place.worker(
    {
      [id]: async ({ payload }) => {
        if ((atOnce += 1) === 2) together.come();
        await together.came;
        return payload;
      },
    },
    { way, concurrency: 2 },
  );
  void worker.run();
  for (const [n, one] of runs.entries()) expect(await ended(one)).toMatchObject({ result: n, attempt: 1 });
  expect(way.leases).toHaveLength(2);
});

test('a delivery asks for no other run', async () => {
  const id = fresh();
  const [first, second] = [await place.start(id), await place.start(id)];
  await using way = await place.way();
  await using worker = place.worker({ [id]: () => null }, { way });
  expect(await worker.deliver({ runId: first.id })).toBe('executed');
  expect(asking(way)).toEqual([null]);
  expect(await place.client.getExecutionRun(second.id)).toMatchObject({ status: 'queued' });
});

test('a worker that stops asks for no run', async () => {
  const id = fresh();
  const [first, second] = [await place.start(id), await place.start(id)];
  await using way = await place.way();
  await using worker = place.worker({ [id]: () => void worker.stop() }, { way });
  await worker.run();
  expect(await ended(first)).toMatchObject({ status: 'succeeded' });
  expect(asking(way)).toEqual([null]);
  expect(await place.client.getExecutionRun(second.id)).toMatchObject({ status: 'queued', attempt: 0 });
});

test('a run that arrives when the worker stops is given back', async () => {
  const id = fresh();
  const [first, second] = [await place.start(id, 1), await place.start(id, 2)];
  const begun: unknown[] = [];
  await using way = await place.way();
  await using worker = place.worker({ [id]: ({ payload }) => void begun.push(payload) }, { way });
  way.meets('leases/complete', async (pass) => {
    const answer = await pass();
    void worker.stop();
    return answer;
  });
  await worker.run();
  expect(await ended(first)).toMatchObject({ status: 'succeeded' });
  expect(await place.client.getExecutionRun(second.id)).toMatchObject({ status: 'queued', attempt: 1 });
  expect(await place.historyOf(second)).toContain('lease.returned');
  expect(begun).toEqual([1]);
});

test('a repeated completion asks for no run', async () => {
  const id = fresh();
  const one = await place.start(id);
  await using way = await place.way();
  way.meets('leases/complete', answerLost, answers(503, 'unavailable'));
  await using worker = place.worker({ [id]: () => null }, { way });
  void worker.run();
  expect(await ended(one)).toMatchObject({ status: 'succeeded' });
  await way.awaited('leases', 2);
  expect(asking(way)).toEqual([{ handlerIds: [id], ttlSeconds: 60 }, null, null]);
});

test('a server that refuses the request for a next run gets lease calls from then on', async () => {
  const id = fresh();
  const runs = [await place.start(id, 1), await place.start(id, 2), await place.start(id, 3)];
  await using way = await place.way();
  const unknown = { errors: [{ pointer: '/leaseNext', detail: 'is not known here' }] };
  way.meets('leases/complete', answers(400, 'validation_failed', unknown));
  await using worker = place.worker({ [id]: ({ payload }) => payload }, { way });
  void worker.run();
  for (const [n, one] of runs.entries())
    expect(await ended(one)).toMatchObject({ result: n + 1, attempt: 1 });
  expect(asking(way)).toEqual([{ handlerIds: [id], ttlSeconds: 60 }, null, null, null]);
  expect(way.leases).toHaveLength(3);
});

test('a refused result does not end the requests for a next run', async () => {
  const refused = problem(400, 'validation_failed');
  const next = { ...lease, leaseKey: 'k2', run: { ...run, id: '2' } };
  await using stage = await Stage.open(
    json(lease),
    refused,
    refused,
    json({ ...run, next }),
    json(run),
    (response) => response.writeHead(204).end(),
  );
  const time = new ManualTime();
  await using worker = staged(stage, time, { handlers: { a: () => 'x' }, waitSeconds: 0 });
  void worker.run();
  await time.awaited(1_000);
  const bodies = stage.seen.slice(1, 5).map(({ body }) => JSON.parse(String(body)));
  expect(bodies.map((body) => [body.leaseKey, body.result.status, 'leaseNext' in body])).toEqual([
    ['k', 'succeeded', true],
    ['k', 'succeeded', false],
    ['k', 'failed', true],
    ['k2', 'succeeded', true],
  ]);
  await worker.stop();
});
