import { afterAll, beforeAll, expect, test } from 'vitest';
import { defineHandler, type NamedHandler, Stop, start } from '../src/worker/index.ts';
import { answers, leaseWith, type Way, WorkPlace } from './worker-stage.ts';

/** Handlers with steps beside a server of release 0.6.0, which refuses members that it does not know. */

let place: WorkPlace;
beforeAll(async () => {
  place = await WorkPlace.open(4);
});
afterAll(() => place[Symbol.asyncDispose]());

async function working(handlers: readonly NamedHandler[], check: (way: Way) => Promise<void>) {
  await using way = await place.way();
  way.meets('leases', answers(400, 'validation_failed'));
  way.always('leases', leaseWith({ isLastAttempt: undefined, checkpoints: undefined }));
  way.always('leases/children', answers(404, 'not_found'));
  const worker = place.worker(handlers, { way, concurrency: 2 });
  const over = worker.run();
  try {
    await check(way);
  } finally {
    await worker.stop({ graceSeconds: 0 });
    await over;
  }
}

/** Members of requests that such a server refuses. */
function newMembersOf(way: Way): string[] {
  const names = ['handlerVersion', 'checkpointKeys', 'event', 'names', 'retryable'];
  const [, ...sent] = way.sent;
  return sent.flatMap(({ path, body }) => {
    const all = {
      ...body,
      ...(body.result as object | undefined),
      ...(body.leaseNext as object | undefined),
    };
    return names.filter((name) => name in all).map((name) => `${path} ${name}`);
  });
}

test('a run keeps its results over waits, and reads its journal by calls', async () => {
  const handler = defineHandler({
    id: 'h0',
    run: async ({ step, waitForEvent, race, sleep }) => {
      const charge = await step('charge', () => 'ch_1');
      const [by] = [await race([() => waitForEvent('approval'), () => sleep('long', '7d')])];
      return [charge, by];
    },
  });
  await working([handler], async (way) => {
    const run = await start(place.client, handler, null);
    await run.raise('approval', 'kim');
    expect(await run.result()).toEqual(['ch_1', 'kim']);
    expect(newMembersOf(way)).toEqual([]);
  });
});

test('a child is started by the call of callers', async () => {
  const ship = defineHandler({ id: 'h1', run: (_, order: string) => `L-${order}` });
  const sell = defineHandler({
    id: 'h2',
    run: async ({ start: begin }, order: string) => {
      const id = await begin('ship', ship, order);
      const refused = await begin('more', ship, order, { cancelWithParent: true }).catch(
        (error: unknown) => (error as Error).message,
      );
      return [id, refused];
    },
  });
  await working([ship, sell], async (way) => {
    const [id = '', refused] = await (await start(place.client, sell, '7')).result();
    expect(refused).toBe('cancelWithParent needs a server that knows child runs (after release 0.6.0).');
    expect(await place.client.waitForExecutionRun(id)).toMatchObject({ result: 'L-7' });
    expect(way.at('leases/children')).toEqual([]);
  });
});

test('a stop of its own class is final by the class of faulty input', async () => {
  const handler = defineHandler({
    id: 'h3',
    run: () => {
      throw new Stop('no money', { failureClass: 'declined' });
    },
  });
  await working([handler], async (way) => {
    const run = await start(place.client, handler, null);
    await expect(run.result()).rejects.toThrow('no money');
    const ended = await place.client.waitForExecutionRun(run.id);
    expect(ended).toMatchObject({ attempt: 1, failureClass: 'validation' });
    expect(newMembersOf(way)).toEqual([]);
  });
});
