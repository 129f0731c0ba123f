import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExecutionRun } from '../src/index.ts';
import { defineHandler, type NamedHandler, RunFailed, Stop, start } from '../src/worker/index.ts';
import { moment, type Way, WorkPlace } from './worker-stage.ts';

/** Handlers with steps use the members of the server for them. */

let place: WorkPlace;
beforeAll(async () => {
  place = await WorkPlace.open(16);
});
afterAll(() => place[Symbol.asyncDispose]());

/** Works until the check is over. The connection records the calls. */
async function working(handlers: readonly NamedHandler[], check: (way: Way) => Promise<void>) {
  await using way = await place.way();
  const worker = place.worker(handlers, { way, concurrency: 4 });
  const over = worker.run();
  try {
    await check(way);
  } finally {
    await worker.stop({ graceSeconds: 0 });
    await over;
  }
}

const cooperative = { cancellation: 'cooperative' } as const;
const historyOf = (run: { readonly id: string }) => place.client.getExecutionRunHistory(run.id);
const ended = (run: { readonly id: string }) => place.client.waitForExecutionRun(run.id);

/** Waits until the run is parked. */
async function parked(run: { readonly id: string }): Promise<ExecutionRun> {
  for (;;) {
    const now = await place.client.getExecutionRun(run.id);
    if (now.status === 'waiting') return now;
    await new Promise<void>((resolve) => void setImmediate(resolve));
  }
}

describe('the journal', () => {
  test('comes with the lease, and results are in the history', async () => {
    const handler = defineHandler({
      id: 'h0',
      version: '7',
      run: async ({ step, waitForEvent, sleep }) => {
        await step('charge', () => 1);
        await waitForEvent('approval');
        await sleep('rest', '5ms');
        return step('book', () => 2);
      },
    });
    await working([handler], async (way) => {
      const run = await start(place.client, handler, null);
      await run.raise('approval');
      expect(await run.result()).toBe(2);
      expect(way.at('leases/checkpoints/read')).toEqual([]);
      expect(way.at('leases')[0]?.body).toMatchObject({
        checkpointKeys: ['svc.steps.0'],
        handlerVersion: '7',
      });
      const steps = (await historyOf(run)).filter(({ type }) => type === 'step.completed');
      expect(steps.map(({ details }) => details)).toMatchObject([
        { name: 'charge', kind: 'step', attempt: 1 },
        { name: 'approval', kind: 'event' },
        { name: 'rest', kind: 'sleep' },
        { name: 'book', kind: 'step' },
      ]);
      expect(await ended(run)).toMatchObject({ handlerVersion: '7' });
    });
  });

  test('that came with the start is read by the first attempt', async () => {
    const worked: string[] = [];
    const handler = defineHandler({
      id: 'h1',
      run: async ({ step }) => {
        const charge = await step('charge', () => void worked.push('charge'));
        return [charge, await step('book', () => void worked.push('book'))];
      },
    });
    const content = [
      { k: '@', t: 'mark', v: { format: 1, handler: 'h1', version: '1' } },
      { k: 'charge', t: 'step', v: 'ch_1', ms: 3, at: 1 },
    ];
    await working([handler], async (way) => {
      const checkpoints = [{ key: 'svc.steps.0', content }];
      const run = await start(place.client, handler, null, { checkpoints });
      expect(await run.result()).toEqual(['ch_1', null]);
      expect(worked).toEqual(['book']);
      expect(way.at('leases/checkpoints/read')).toEqual([]);
      expect(await ended(run)).toMatchObject({ attempt: 1 });
    });
  });

  test('has many results of one write as one event', async () => {
    const handler = defineHandler({
      id: 'h2',
      run: ({ map, step }) => map([...Array.from({ length: 12 }).keys()], {}, (n) => step(['n', n], () => n)),
    });
    await working([handler], async () => {
      const run = await start(place.client, handler, null);
      expect(await run.result()).toHaveLength(12);
      const event = (await historyOf(run)).find(({ type }) => type === 'step.completed');
      expect(event).toMatchObject({
        message: expect.stringMatching(/^n\/0, n\/1, /),
        details: {
          count: 12,
          steps: Array.from({ length: 8 }, (_, n) => ({ name: `n/${n}`, kind: 'step' })),
        },
      });
    });
  });
});

describe('a failure', () => {
  test('of the last attempt undoes, and not one before it', async () => {
    const seen: string[] = [];
    const handler = defineHandler({
      id: 'h3',
      run: async ({ step, run }) => {
        await step('flight', () => 'F1', { undo: (id) => void seen.push(`undo ${id}`) });
        seen.push(`attempt ${run.failures}`);
        throw new Error('no car');
      },
    });
    await working([handler], async () => {
      const retryPolicy = { maxAttempts: 2, initialDelaySeconds: 0 };
      const run = await start(place.client, handler, null, { retryPolicy });
      await expect(run.result()).rejects.toBeInstanceOf(RunFailed);
      expect(seen).toEqual(['attempt 0', 'attempt 1', 'undo F1']);
      const types = (await historyOf(run)).map(({ details }) => (details as { kind?: string } | null)?.kind);
      expect(types).toContain('undo');
    });
  });

  test('by a stop is final, of whichever class', async () => {
    const handler = defineHandler({
      id: 'h4',
      run: () => {
        throw new Stop('no money', { failureClass: 'declined' });
      },
    });
    await working([handler], async () => {
      const run = await start(place.client, handler, null);
      await expect(run.result()).rejects.toThrow('no money');
      expect(await ended(run)).toMatchObject({ attempt: 1, failureClass: 'declined' });
    });
  });
});

describe('a child', () => {
  const ship = defineHandler({
    id: 'h5',
    run: async ({ waitForEvent }, { order }: { readonly order: string }) => {
      await waitForEvent('packed');
      return { label: `L-${order}` };
    },
  });

  test('wakes the parent when it ends, and is asked for no more than that', async () => {
    const sell = defineHandler({
      id: 'h6',
      run: async ({ invoke }, order: string) =>
        (await invoke('ship', ship, { order }, { cancelWithParent: true })).label,
    });
    await working([ship, sell], async (way) => {
      const run = await start(place.client, sell, '7');
      await parked(run);
      const [child] = await place.client.listExecutionRuns({ handlerId: 'h5' });
      expect(child).toMatchObject({ parentRunId: run.id });
      await parked({ id: child?.id ?? '' });
      await place.client.raiseExecutionEvent(child?.id ?? '', { name: 'packed', payload: null });
      expect(await run.result()).toBe('L-7');
      expect(await ended(run)).toMatchObject({ attempt: 2 });
      const waits = way.at('leases/wait').filter(({ body }) => body.kind === 'run');
      expect(waits).toHaveLength(2);
      expect(way.at('leases/children').map(({ body }) => body.writeId)).toEqual([`${run.id}/ship`]);
    });
  });

  test('is cancelled with its parent where the parent asked for it', async () => {
    const sell = defineHandler({
      id: 'h7',
      run: async ({ start: begin, invoke }) => {
        await begin('other', ship, { order: '1' });
        return invoke('ship', ship, { order: '2' }, { cancelWithParent: true });
      },
    });
    await working([ship, sell], async () => {
      const run = await start(place.client, sell, null);
      await parked(run);
      await place.client.cancelExecutionRun(run.id);
      const children = (await place.client.listExecutionRuns({ handlerId: 'h5' })).filter(
        ({ parentRunId }) => parentRunId === run.id,
      );
      const orders = await Promise.all(
        children.map(async ({ id }) => {
          const { payload, status } = await place.client.getExecutionRun(id);
          return [(payload as { order: string }).order, status === 'cancelled'] as const;
        }),
      );
      expect(Object.fromEntries(orders)).toEqual({ 1: false, 2: true });
    });
  });

  test('side by side with others and an event is waited for', async () => {
    const quick = defineHandler({ id: 'h8', run: (_, n: number) => n * 2 });
    const sell = defineHandler({
      id: 'h9',
      run: ({ all, invoke, waitForEvent }) =>
        all([...[1, 2, 3].map((n) => () => invoke(['quick', n], quick, n)), () => waitForEvent('go')]),
    });
    await working([quick, sell], async () => {
      const run = await start(place.client, sell, null);
      const children = async () => {
        const found = await place.client.listExecutionRuns({ handlerId: 'h8' });
        return found.filter(({ status }) => status === 'succeeded').length;
      };
      while ((await children()) < 3) await new Promise<void>((resolve) => void setImmediate(resolve));
      await parked(run);
      await run.raise('go', 'now');
      expect(await run.result()).toEqual([2, 4, 6, 'now']);
    });
  }, 60_000);
});

describe('a cooperative cancellation', () => {
  const undone: string[] = [];
  const travel = (id: string, also: () => unknown) =>
    defineHandler({
      id,
      run: async ({ step, waitForEvent }) => {
        await step('flight', () => 'F1', {
          undo: (flight, { attempt }) => {
            undone.push(`${id} ${flight}`);
            if (attempt === 1) throw new Error('again');
          },
          retry: { delay: 0 },
        });
        await step('hotel', also);
        await waitForEvent('never');
      },
    });

  test('of a parked run undoes its steps', async () => {
    const handler = travel('h10', () => null);
    await working([handler], async () => {
      const run = await start(place.client, handler, null, cooperative);
      await parked(run);
      await place.client.cancelExecutionRun(run.id);
      expect(await ended(run)).toMatchObject({ status: 'cancelled' });
      expect(undone).toEqual(['h10 F1', 'h10 F1']);
    });
  });

  test.each([
    ['cooperative', 'h11', ['h11 F1', 'h11 F1']],
    ['immediate', 'h12', []],
  ] as const)('of a run at work undoes only where it is %s', async (cancellation, id, expected) => {
    undone.splice(0);
    const begun = moment();
    const handler = travel(id, () => {
      begun.come();
      return new Promise(() => undefined);
    });
    await using way = await place.way();
    const worker = place.worker([handler], { way, heartbeatSeconds: 0.05, leaseSeconds: 30 });
    const over = worker.run();
    const run = await start(place.client, handler, null, { cancellation });
    await begun.came;
    await place.client.cancelExecutionRun(run.id);
    expect(await ended(run)).toMatchObject({ status: 'cancelled' });
    expect(undone).toEqual(expected);
    await worker.stop({ graceSeconds: 0 });
    await over;
  });
});

test('a race of events ends with whichever comes', async () => {
  const handler = defineHandler({
    id: 'h13',
    run: ({ race, waitForEvent }) =>
      race([
        async () => ['approved', await waitForEvent('approved', { timeout: '7d' })],
        async () => ['refused', await waitForEvent('refused', { timeout: '7d' })],
      ]),
  });
  await working([handler], async () => {
    const run = await start(place.client, handler, null);
    await parked(run);
    await run.raise('refused', 'kim');
    expect(await run.result()).toEqual(['refused', 'kim']);
  });
});
