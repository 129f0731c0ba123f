import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RunFailure, type WorkerHandler, WorkStopped } from '../src/worker/index.ts';
import { machine } from '../src/world.ts';
import { aborted, answerLost, answers, lostOnTheWay, moment, type Way, WorkPlace } from './worker-stage.ts';

let place: WorkPlace;
beforeAll(async () => {
  place = await WorkPlace.open(25);
});
afterAll(() => place[Symbol.asyncDispose]());

let handlers = 0;
/** A handler id of this test alone, so that no other worker takes its runs. */
const fresh = () => `h${(handlers += 1)}`;
const ended = (run: { readonly id: string }) => place.client.waitForExecutionRun(run.id);

describe('a cancellation', () => {
  test.each(['thread', 'event-loop'] as const)(
    'is heard by the heartbeat of the %s',
    async (heartbeatFrom) => {
      const id = fresh();
      const run = await place.start(id);
      const begun = moment();
      const reason = moment<unknown>();
      await using worker = place.worker(
        {
          [id]: async ({ signal, checkpoint }) => {
            begun.come();
            reason.come(await aborted(signal));
            // A run with a requested cancellation still accepts writes.
            await checkpoint('undone', true);
            return { undone: true };
          },
        },
        { heartbeatFrom, heartbeatSeconds: 0.05 },
      );
      void worker.run();
      await begun.came;
      await place.client.cancelExecutionRun(run.id);
      expect(await reason.came).toBeInstanceOf(WorkStopped);
      expect(await reason.came).toMatchObject({ kind: 'cancelled' });
      expect(await ended(run)).toMatchObject({ status: 'cancelled', result: { undone: true } });
    },
  );

  test('arrives with the answer to a report, and an error that the handler throws then is no failure', async () => {
    const id = fresh();
    const run = await place.start(id);
    await using way = await place.way();
    await using worker = place.worker(
      {
        [id]: async ({ report, signal }) => {
          await place.client.cancelExecutionRun(run.id);
          await report({ progress: 0.1 });
          signal.throwIfAborted();
        },
      },
      { way },
    );
    void worker.run();
    expect(await ended(run)).toMatchObject({ status: 'cancelled' });
    expect(way.at('leases/complete')[0]?.body).toMatchObject({ result: { status: 'cancelled' } });
  });

  test.each([
    ['timed_out', 'timed_out', 'timeout'],
    ['failed', 'cancelled', 'cancelled'],
    ['rejected', 'cancelled', 'cancelled'],
  ] as const)(
    'of a run whose handler then throws a failure of status %s ends the run as %s',
    async (bankStatus, status, failureClass) => {
      const id = fresh();
      const run = await place.start(id);
      await using worker = place.worker({
        [id]: async ({ report, signal }) => {
          await place.client.cancelExecutionRun(run.id);
          await report({ progress: 0.1 });
          expect(signal.aborted).toBe(true);
          throw new RunFailure('timeout', 'the bank did not answer', { status: bankStatus });
        },
      });
      expect(await worker.deliver({ runId: run.id })).toBe('executed');
      expect(await ended(run)).toMatchObject({ status, failureClass, attempt: 1 });
    },
  );
});

describe('a lease', () => {
  test('is renewed by a thread while a handler blocks the event loop for longer than the lease lasts', async () => {
    const id = fresh();
    const run = await place.start(id);
    await using worker = place.worker(
      {
        [id]: async ({ report }) => {
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6_000);
          await report({ progress: 0.5 });
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
          return 'kept';
        },
      },
      { leaseSeconds: 5 },
    );
    void worker.run();
    expect(await ended(run)).toMatchObject({ status: 'succeeded', result: 'kept', attempt: 1 });
  });

  test.each(['thread', 'event-loop'] as const)(
    'that another worker took is lost, and nothing is completed (%s)',
    async (heartbeatFrom) => {
      const id = fresh();
      const run = await place.start(id);
      const begun = moment();
      const reason = moment<unknown>();
      const refused = moment<unknown>();
      await using way = await place.way();
      await using worker = place.worker(
        {
          [id]: async ({ signal, report }) => {
            begun.come();
            reason.come(await aborted(signal));
            refused.come(await report({ progress: 1 }).catch((error: unknown) => error));
            return 'too late';
          },
        },
        { way, heartbeatFrom, heartbeatSeconds: 1 },
      );
      const delivered = expect(worker.deliver({ runId: run.id })).rejects.toThrow('not completed');
      await begun.came;
      const other = await takeOver(way, id);
      expect(await reason.came).toMatchObject({ kind: 'lease_lost' });
      expect(await refused.came).toMatchObject({ kind: 'lease_lost' });
      await delivered;
      expect(way.at('leases/complete')).toEqual([]);
      await other();
      expect(await ended(run)).toMatchObject({ result: 'other', attempt: 2 });
    },
  );

  test('that a call finds lost ends the attempt as well', async () => {
    const id = fresh();
    const run = await place.start(id);
    await using way = await place.way();
    await using worker = place.worker(
      {
        [id]: async ({ report }) => {
          await takeOver(way, id);
          await report({ progress: 1 });
        },
      },
      { way },
    );
    await expect(worker.deliver({ runId: run.id })).rejects.toMatchObject({ cause: { kind: 'lease_lost' } });
    expect(way.at('leases/complete')).toEqual([]);
  });

  test('that is lost while its handler returns is not completed by its worker', async () => {
    const id = fresh();
    const run = await place.start(id);
    await using way = await place.way();
    await using worker = place.worker({ [id]: () => takeOver(way, id) }, { way });
    await expect(worker.deliver({ runId: run.id })).rejects.toThrow('not completed');
    expect(await place.client.getExecutionRun(run.id)).toMatchObject({ status: 'running', attempt: 2 });
  });

  test('that ran out while the event loop was blocked is not completed', async () => {
    const id = fresh();
    const run = await place.start(id);
    // Block the connection with the handler, so that no heartbeat passes.
    await using way = await place.way();
    const block = () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
    await using worker = place.worker({ [id]: block }, { way, leaseSeconds: 2 });
    await expect(worker.deliver({ runId: run.id })).rejects.toMatchObject({ cause: { kind: 'lease_lost' } });
    expect(way.at('leases/complete')).toEqual([]);
  });

  test('is renewed again after heartbeats that failed', async () => {
    const id = fresh();
    const run = await place.start(id);
    await using way = await place.way();
    way.meets('leases/heartbeat', lostOnTheWay, answers(503, 'unavailable'), answers(401, 'unauthenticated'));
    await using worker = place.worker(
      { [id]: async () => way.awaited('leases/heartbeat', 5) },
      { way, heartbeatSeconds: 0.01 },
    );
    void worker.run();
    expect(await ended(run)).toMatchObject({ status: 'succeeded', attempt: 1 });
  });
});

/** Ends the lease early with its token and gives the run to another worker. */
async function takeOver(way: Way, handlerId: string): Promise<() => Promise<void>> {
  const { leaseKey, leaseToken, workerId } = way.leases.at(-1) ?? expect.fail('nothing is leased');
  const { client } = place;
  await client.heartbeatExternalExecutionLease({ leaseKey, leaseToken, workerId, ttlSeconds: 0.001 });
  const wish = { workerId: 'other', handlerIds: [handlerId], waitSeconds: 20 };
  const other = (await client.leaseExternalExecutionRun(wish)) ?? expect.fail('it was not given');
  return async () => {
    const proof = { leaseKey: other.leaseKey, leaseToken: other.leaseToken, workerId: 'other' };
    await client.completeExternalExecutionLease({ ...proof, result: { result: 'other' } });
  };
}

describe('a completion', () => {
  test.each<[string, Parameters<Way['meets']>[1]]>([
    ['does not arrive', lostOnTheWay],
    ['arrives, and its answer does not', answerLost],
    ['is refused for now', answers(503, 'store_contention', { retryable: true })],
    ['is one too many', answers(429, 'rate_limited')],
    ['meets a fault', answers(500, 'internal_error')],
  ])('that %s is sent again unchanged', async (_, fault) => {
    const id = fresh();
    const run = await place.start(id);
    await using way = await place.way();
    way.meets('leases/complete', fault, fault);
    let calls = 0;
    await using worker = place.worker({ [id]: () => (calls += 1) }, { way });
    expect(await worker.deliver({ runId: run.id })).toBe('executed');
    const [first, second, third, ...more] = way.at('leases/complete');
    expect([second, third, more]).toEqual([first, first, []]);
    expect(await ended(run)).toMatchObject({ status: 'succeeded', result: 1, attempt: 1 });
    expect((await place.historyOf(run)).filter((type) => type === 'run.completed')).toHaveLength(1);
    expect(calls).toBe(1);
  });

  test('that is refused for good is sent once', async () => {
    const id = fresh();
    const run = await place.start(id);
    await using way = await place.way();
    way.meets('leases/complete', answers(403, 'permission_denied'));
    await using worker = place.worker({ [id]: () => 1 }, { way });
    await expect(worker.deliver({ runId: run.id })).rejects.toThrow('not completed');
    expect(way.at('leases/complete')).toHaveLength(1);
  });
});

test('a write that must not happen twice is repeated only where it did not happen', async () => {
  const id = fresh();
  const run = await place.start(id);
  await using way = await place.way();
  const refused = answers(503, 'store_contention', { retryable: true });
  way.meets('leases/artifacts', refused, answerLost);
  way.meets('leases/checkpoints', answerLost);
  await using worker = place.worker(
    {
      [id]: async ({ putArtifact, checkpoint }) => {
        await checkpoint('k', 1);
        return (await putArtifact({ name: 'a', text: 'a' })).id;
      },
    },
    { way },
  );
  void worker.run();
  const { result } = await ended(run);
  const artifacts = await place.client.listExecutionRunArtifacts(run.id);
  expect(artifacts.map(({ id: each }) => each)).toEqual([result]);
  expect([way.at('leases/checkpoints').length, way.at('leases/artifacts').length]).toEqual([2, 3]);
});

test('a spent retry budget holds back no heartbeat, no write under the lease and no completion', async () => {
  const id = fresh();
  const run = await place.start(id);
  await using way = await place.way();
  const refused = answers(503, 'overloaded', { retryable: true });
  const paths = ['leases/heartbeat', 'leases/checkpoints', 'leases/checkpoints/read', 'leases/complete'];
  for (const path of paths) way.meets(path, refused, refused);
  const retryTokens = Object.assign(new Map<string, number>(), { get: () => 0 });
  const world = { ...machine, random: () => 0, retryTokens };
  const client = place.clientWith({ world, baseUrl: way.address });
  const handler: WorkerHandler = async ({ checkpoint, readCheckpoint }) => {
    await checkpoint('k', 1);
    await way.awaited('leases/heartbeat', 3);
    return (await readCheckpoint('k'))?.content;
  };
  const heartbeats = { heartbeatFrom: 'event-loop', heartbeatSeconds: 0.05 } as const;
  await using worker = place.worker({ [id]: handler }, { client, ...heartbeats });
  expect(await worker.deliver({ runId: run.id })).toBe('executed');
  expect(await ended(run)).toMatchObject({ status: 'succeeded', result: 1, attempt: 1 });
  const [beats = 0, ...others] = paths.map((path) => way.at(path).length);
  expect([beats >= 3, ...others]).toEqual([true, 3, 3, 3]);
});
