import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defineHandler, type NamedHandler, RunFailed, Stop, start } from '../src/worker/index.ts';
import { WorkPlace } from './worker-stage.ts';

/** Handlers with steps at a real service. */

let place: WorkPlace;

beforeAll(async () => {
  place = await WorkPlace.open(6);
});

afterAll(() => place[Symbol.asyncDispose]());

async function working(handlers: readonly NamedHandler[], check: () => Promise<void>) {
  const worker = place.worker(handlers, { concurrency: 2 });
  const over = worker.run();
  try {
    await check();
  } finally {
    await worker.stop({ graceSeconds: 0 });
    await over;
  }
}

describe('a handler with steps', () => {
  test('keeps its results over an event and a timer', async () => {
    const worked: string[] = [];
    const pay = defineHandler({
      id: 'h0',
      version: '3',
      async run({ step, waitForEvent, sleep, version }, { order }: { readonly order: string }) {
        const charge = await step('charge', ({ idempotencyKey }) => {
          worked.push(idempotencyKey.split('/')[1] ?? '');
          return { id: `ch_${order}` };
        });
        const approval = await waitForEvent('approval', { timeout: '7d' });
        await sleep('cool-off', '10ms');
        await step('book', () => void worked.push('book'));
        return { charge: charge.id, approval, version };
      },
    });
    await working([pay], async () => {
      const run = await start(place.client, pay, { order: '7' });
      await run.raise('approval', { by: 'kim' });
      expect(await run.result()).toEqual({ charge: 'ch_7', approval: { by: 'kim' }, version: '3' });
      expect(worked).toEqual(['charge', 'book']);
    });
  });

  test('starts a child once', async () => {
    const ship = defineHandler({
      id: 'h1',
      run: (_, { order }: { readonly order: string }) => ({ label: `L-${order}` }),
    });
    const sell = defineHandler({
      id: 'h2',
      run: async ({ start: begin, sleep }, order: string) => {
        const id = await begin('ship', ship, { order });
        await sleep('rest', '10ms');
        return [id, await begin('ship', ship, { order: `${order}b` })];
      },
    });
    await working([ship, sell], async () => {
      const [one = '', two = ''] = await (await start(place.client, sell, '7')).result();
      expect((await place.client.waitForExecutionRun(one)).result).toEqual({ label: 'L-7' });
      expect((await place.client.waitForExecutionRun(two)).result).toEqual({ label: 'L-7b' });
    });
  });

  test('commits exactly once', async () => {
    const book = defineHandler({
      id: 'h3',
      run: async ({ commit, sleep }) => {
        const mutations = [
          {
            document: {
              tenantId: 'acme',
              documentType: 'order',
              id: '7',
              schemaVersion: '1',
              data: { paid: true },
            },
          },
        ];
        const { replayed } = await commit('book', 'acme', { mutations });
        await sleep('rest', '10ms');
        return replayed;
      },
    });
    await working([book], async () => {
      expect(await (await start(place.client, book, null)).result()).toBe(true);
    });
  });

  test('that stops fails at once, and undoes', async () => {
    const undone: string[] = [];
    const travel = defineHandler({
      id: 'h4',
      run: async ({ step }) => {
        await step('flight', () => 'F1', { undo: (id) => void undone.push(id) });
        throw new Stop('no car');
      },
    });
    await working([travel], async () => {
      const run = await start(place.client, travel, null);
      const failure = await run.result().catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(RunFailed);
      expect((failure as RunFailed).run).toMatchObject({
        attempt: 1,
        error: 'no car',
        failureClass: 'validation',
      });
      expect(undone).toEqual(['F1']);
    });
  });
});
