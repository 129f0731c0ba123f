import { expect, test } from 'vitest';
import { TIMERS } from '../../functions/runs/records.ts';
import { executed, pluginOf } from './execution-plugins.ts';
import { HANDLER, Stage } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';
import { scanAll } from './store-fixtures.ts';

/** Waits, timers and events of handlers in process. */
export function describeHandlerWaits({ store }: ExecutionConformance): void {
  test('a handler that waits ends there, and is executed again after the event', async () => {
    const stage = new Stage(store());
    const begun: number[] = [];
    const plugin = pluginOf({
      'p.wait': async (context) => {
        begun.push(context.attempt);
        const first = await context.waitForExternalEvent('first');
        const second = await context.waitForExternalEvent('second');
        return [first.event?.payload ?? null, second.event?.payload ?? null];
      },
    });
    const client = stage.client({ plugins: [plugin] });
    const run = await executed(stage, client, 'p.wait');
    expect(run).toMatchObject({ status: 'waiting', currentStep: 'waiting:external_event:first' });
    await client.raise(run.id, { name: 'second', payload: 'x'.repeat(50_000) });
    await stage.quiet();
    expect(await client.get(run.id)).toMatchObject({ status: 'waiting', attempt: 1 });
    await client.raise(run.id, { name: 'first', payload: 1 });
    await stage.quiet();
    const ended = await client.get(run.id);
    expect(ended).toMatchObject({ status: 'succeeded', attempt: 2, result: [1, 'x'.repeat(50_000)] });
    expect(begun).toEqual([1, 2]);
  });

  test('timers and deadlines give the run back at their moment', async () => {
    const stage = new Stage(store());
    const plugin = pluginOf({
      'p.timer': async (context) => {
        const { timer, ...rest } = await context.waitForTimer('t', new Date(stage.time.now + 300), { p: 1 });
        const checkpoint = await context.readCheckpoint('fired');
        if (checkpoint === null) await context.writeCheckpoint('fired', timer?.payload ?? null);
        return { ...rest, fired: timer?.fireAtUtc ?? null, payload: timer?.payload ?? null };
      },
      'p.deadline': async (context) => {
        const timeoutAt = new Date(stage.time.now + 200);
        return { ...(await context.waitForExternalEvent('never', { timeoutAt })) };
      },
    });
    const client = stage.client({ plugins: [plugin] });
    await client.instance.start();
    const fireAt = stage.time.now + 300;
    const timer = await executed(stage, client, 'p.timer');
    const deadline = await executed(stage, client, 'p.deadline');
    await stage.pass(199);
    expect(await client.get(deadline.id)).toMatchObject({ status: 'waiting' });
    await stage.pass(1);
    expect(await client.get(deadline.id)).toMatchObject({
      status: 'succeeded',
      result: { name: 'never', outcome: 'timed_out', event: null, timer: null },
    });
    expect(await client.get(timer.id)).toMatchObject({ status: 'waiting' });
    await stage.pass(100);
    const fired = new Date(fireAt).toISOString();
    const result = { name: 't', outcome: 'timer', event: null, fired, payload: { p: 1 } };
    expect(await client.get(timer.id)).toMatchObject({ status: 'succeeded', attempt: 2, result });
    await client.instance.stop();
  });

  test('a handler raises events into its own run and into others, and schedules timers of the record', async () => {
    const stage = new Stage(store());
    const plugin = pluginOf({
      'p.raise': async (context) => {
        await context.scheduleTimer('record', new Date(stage.time.now + 5), 'kept');
        await context.raiseEvent('own', 'mine');
        const own = await context.waitForExternalEvent('own');
        await context.raiseEvent('other', own.event?.payload ?? null, context.payload as string);
        return own.event?.payload ?? null;
      },
    });
    const client = stage.client({ plugins: [plugin] });
    const other = await client.start({ handlerId: HANDLER });
    const run = await executed(stage, client, 'p.raise', { payload: other.id });
    expect(run).toMatchObject({ status: 'succeeded', result: 'mine', attempt: 1 });
    const timers = await scanAll(stage.store, stage.scope, [TIMERS.name]);
    expect(timers).toMatchObject([{ head: { runId: run.id, name: 'record' }, body: '"kept"' }]);
    const lease = await client.lease({ workerId: 'w', handlerIds: [HANDLER], runId: other.id });
    if (lease === null) throw new Error('there was nothing to lease');
    const { leaseKey, leaseToken, workerId } = lease;
    const proof = { leaseKey, leaseToken, workerId };
    const { outcome } = await client.wait({ ...proof, kind: 'external_event', name: 'other' });
    expect(outcome).toMatchObject({ outcome: 'external_event', event: { payload: 'mine' } });
  });

  test('a handler that continues after its wait can change nothing any more', async () => {
    const stage = new Stage(store());
    const refused: unknown[] = [];
    const plugin = pluginOf({
      'p.stubborn': async (context) => {
        await context.waitForExternalEvent('never').catch(() => undefined);
        await context.report({ attempted: 9 }).catch((error: unknown) => refused.push(error));
        return 'done';
      },
    });
    const client = stage.client({ plugins: [plugin] });
    const run = await executed(stage, client, 'p.stubborn');
    expect(run).toMatchObject({ status: 'waiting', attempted: null, result: null });
    expect(refused).toMatchObject([{ code: 'lease_not_active' }]);
  });
}
