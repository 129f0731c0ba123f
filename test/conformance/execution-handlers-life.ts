import { expect, test } from 'vitest';
import type { RunContext } from '../../functions/runs/plugin.ts';
import { StoreError } from '../../functions/store/port.ts';
import { ExecutionClient, executionInstance } from '../support/execution.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { executed, pluginOf } from './execution-plugins.ts';
import { Stage, typesOf } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

/** A handler whose executions the test ends, one by one. */
export function held() {
  const executions: { context: RunContext; end: () => void; fail: (error: Error) => void }[] = [];
  const run = (context: RunContext) =>
    new Promise<string>((resolve, reject) => {
      executions.push({ context, end: () => resolve(`by attempt ${context.attempt}`), fail: reject });
    });
  return { executions, run };
}

/** Cancellation, rivals, stops and recoveries of handlers in process. */
export function describeHandlerLife(conformance: ExecutionConformance): void {
  describeCancelled(conformance);
  describeShared(conformance);
  describeStops(conformance);
}

function describeCancelled({ store }: ExecutionConformance): void {
  test('a cancellation is signalled, and the run is cancelled when its handler ends', async () => {
    const stage = new Stage(store());
    const { executions, run } = held();
    const client = stage.client({ plugins: [pluginOf({ 'p.held': run })] });
    for (const way of ['end', 'fail'] as const) {
      const { id } = await executed(stage, client, 'p.held');
      const execution = executions.at(-1);
      expect(execution?.context.signal.aborted).toBe(false);
      expect(await client.cancel(id)).toMatchObject({ status: 'running', cancellationRequested: true });
      expect(execution?.context.signal.aborted).toBe(true);
      execution?.[way](new Error('aborted'));
      await stage.quiet();
      expect(await client.get(id)).toMatchObject({ status: 'cancelled', failureClass: 'cancelled' });
    }
  });

  test('the next heartbeat reports a cancellation through another instance', async () => {
    const stage = new Stage(store());
    const { executions, run } = held();
    const plugins = [pluginOf({ 'p.held': run })];
    const client = stage.client({ plugins, leaseMs: 8_000 });
    const { id } = await executed(stage, client, 'p.held');
    await stage.client({ plugins, concurrencyMax: 0 }).cancel(id);
    await stage.pass(2_000);
    expect(executions[0]?.context.signal.aborted).toBe(false);
    await stage.pass(2_000);
    expect(executions[0]?.context.signal.aborted).toBe(true);
    executions[0]?.fail(new Error('aborted'));
    await stage.quiet();
    expect(await client.get(id)).toMatchObject({ status: 'cancelled' });
  });

  test('a handler that hangs is held as long as it runs, and given up when it was to be cancelled', async () => {
    const stage = new Stage(store());
    const { executions, run } = held();
    const client = stage.client({ plugins: [pluginOf({ 'p.held': run })], leaseMs: 8_000 });
    await client.instance.start();
    const { id } = await executed(stage, client, 'p.held');
    for (let turn = 0; turn < 20; turn += 1) await stage.pass(2_000);
    expect(await client.get(id)).toMatchObject({ status: 'running', attempt: 1 });
    expect(executions).toHaveLength(1);
    await client.cancel(id);
    for (let turn = 0; turn < 10; turn += 1) await stage.pass(2_000);
    expect(await client.get(id)).toMatchObject({ status: 'cancelled', attempt: 1 });
    // The server ignores a result that arrives after the cancellation.
    executions[0]?.end();
    await stage.quiet();
    expect(await client.get(id)).toMatchObject({ status: 'cancelled', result: null });
    await client.instance.stop();
  });
}

function describeShared({ store, alone }: ExecutionConformance): void {
  test('handlers with one concurrency key run one after another, over two instances', async () => {
    const stage = new Stage(store());
    const { executions, run } = held();
    const plugins = [
      pluginOf({ 'p.one': { run, concurrencyKey: 'k' }, 'p.two': { run, concurrencyKey: 'k' } }),
    ];
    const first = stage.client({ plugins, recheckMs: 1_000 });
    const second = stage.client({ plugins, recheckMs: 1_000 });
    await first.instance.start();
    await second.instance.start();
    const ids = [];
    for (const client of [first, second, first, second]) {
      for (const handlerId of ['p.one', 'p.two']) ids.push((await client.start({ handlerId })).id);
      await stage.quiet();
    }
    for (let turn = 1; turn <= ids.length; turn += 1) {
      await stage.pass(1_000);
      expect(executions).toHaveLength(turn);
      expect(await first.list({ status: 'running' })).toHaveLength(1);
      executions.at(-1)?.end();
      await stage.quiet();
    }
    await stage.pass(1_000);
    expect(await first.list({ status: 'succeeded' })).toHaveLength(ids.length);
    await first.instance.stop();
    await second.instance.stop();
  });

  alone(
    'the server executes no more runs at a time than the settings allow, and all in the end',
    async () => {
      const stage = new Stage(store());
      const { executions, run } = held();
      const plugins = [pluginOf({ 'p.held': run })];
      const client = stage.client({ plugins, concurrencyMax: 3 });
      const other = stage.client({ plugins, concurrencyMax: 0 });
      const runs = await Promise.all(Array.from({ length: 9 }, () => other.start({ handlerId: 'p.held' })));
      // Several searches run at once, and each may find more than one run.
      for (let wakes = 0; wakes < 5; wakes += 1) client.instance.engine.wake();
      await stage.quiet();
      expect(executions).toHaveLength(3);
      runs.push(
        ...(await Promise.all(Array.from({ length: 6 }, () => client.start({ handlerId: 'p.held' })))),
      );
      let ended = 0;
      for (; ended < runs.length; ended += 1) {
        await stage.quiet();
        expect(executions.length - ended).toBe(Math.min(3, runs.length - ended));
        expect(await client.list({ status: 'running' })).toHaveLength(executions.length - ended);
        executions[ended]?.end();
        for (let wakes = 0; wakes < 5; wakes += 1) client.instance.engine.wake();
      }
      await stage.quiet();
      expect(await client.list({ status: 'succeeded' })).toHaveLength(runs.length);
      expect(new Set(executions.map(({ context }) => context.runId)).size).toBe(runs.length);
    },
  );

  alone(
    'room that was kept for a start which was a replay is given to a run that came meanwhile',
    async () => {
      const stage = new Stage(store());
      const { executions, run } = held();
      const client = stage.client({ plugins: [pluginOf({ 'p.held': run })], concurrencyMax: 1 });
      const reservation = client.instance.engine.reserve('p.held', null);
      const { id } = await executed(stage, client, 'p.held');
      expect(executions).toHaveLength(0);
      reservation?.release();
      await stage.quiet();
      expect(executions.map(({ context }) => context.runId)).toEqual([id]);
    },
  );
}

function describeStops({ store, alone }: ExecutionConformance): void {
  alone('another instance takes over when the lease of one that died has run out', async () => {
    const stage = new Stage(store());
    const { executions, run } = held();
    const plugins = [pluginOf({ 'p.held': run })];
    const dying = stage.client({ plugins, leaseMs: 8_000 });
    const { id } = await executed(stage, dying, 'p.held');
    expect(executions).toHaveLength(1);
    // It sends nothing more: its clock has stopped.
    const later = new Stage(store());
    later.time.now = stage.time.now;
    const heir = later.client({ plugins, scope: stage.scope, leaseMs: 8_000, recheckMs: 500, node: 9 });
    await heir.instance.start();
    await later.pass(7_500);
    expect(await heir.get(id)).toMatchObject({ status: 'running', attempt: 1 });
    await later.pass(500);
    expect(executions).toHaveLength(2);
    expect(await heir.get(id)).toMatchObject({ status: 'running', attempt: 2 });
    // The first instance was only slow: its next heartbeat reports the lost lease, and its result is ignored.
    expect(executions[0]?.context.signal.aborted).toBe(false);
    for (let turn = 0; turn < 2; turn += 1) await stage.pass(2_000);
    expect(executions[0]?.context.signal.aborted).toBe(true);
    executions[0]?.end();
    await stage.quiet();
    expect(await heir.get(id)).toMatchObject({ status: 'running', attempt: 2, result: null });
    executions[1]?.end();
    await later.quiet();
    expect(await heir.get(id)).toMatchObject({ status: 'succeeded', result: 'by attempt 2' });
    expect(await typesOf(heir, id)).toContain('lease.expired');
    await heir.instance.stop();
  });

  alone('a start finds runs that are queued, due or left by a dead process', async () => {
    const stage = new Stage(store());
    const { executions, run } = held();
    const plugins = [pluginOf({ 'p.held': run })];
    const before = stage.client({ plugins, leaseMs: 5_000, concurrencyMax: 1 });
    const left = await executed(stage, before, 'p.held');
    const queued = await executed(stage, before, 'p.held');
    const scheduledAtUtc = new Date(stage.time.now + 1_000).toISOString();
    const scheduled = await executed(stage, before, 'p.held', { scheduledAtUtc });
    expect(executions).toHaveLength(1);
    const later = new Stage(store());
    later.time.now = stage.time.now + 5_000;
    const heir = later.client({ plugins, scope: stage.scope, node: 9 });
    await heir.instance.start();
    await later.quiet();
    const taken = executions.slice(1).map(({ context }) => context.runId);
    expect(taken.toSorted()).toEqual([left.id, queued.id, scheduled.id].toSorted());
    await heir.instance.queue.stop();
  });

  alone('a stop takes no more runs and waits for those under way', async () => {
    const stage = new Stage(store());
    const { executions, run } = held();
    const client = stage.client({ plugins: [pluginOf({ 'p.held': run })], concurrencyMax: 1 });
    await client.instance.start();
    const first = await executed(stage, client, 'p.held');
    const second = await executed(stage, client, 'p.held');
    let stopped = false;
    const stopping = client.instance.stop().then(() => {
      stopped = true;
    });
    await stage.quiet();
    expect(stopped).toBe(false);
    expect(executions[0]?.context.signal.aborted).toBe(false);
    executions[0]?.end();
    await stopping;
    expect(await client.get(first.id)).toMatchObject({ status: 'succeeded' });
    expect(await client.get(second.id)).toMatchObject({ status: 'queued', attempt: 0 });
    expect(executions).toHaveLength(1);
    expect(stage.time.pendingTimers).toBe(0);
  });

  test('the server repeats a completion that the store refused, while the lease lasts', async () => {
    const stage = new Stage(store());
    const { executions, run } = held();
    let failures = 0;
    const flaky = patched(stage.store, {
      transact: (...given) => {
        if (failures === 0) return stage.store.transact(...given);
        failures -= 1;
        return Promise.reject(new StoreError(failures % 2 === 0 ? 'unavailable' : 'contention', 'not now'));
      },
    });
    const given = { world: stage.world, scope: stage.scope, plugins: [pluginOf({ 'p.held': run })] };
    const client = new ExecutionClient(executionInstance(flaky, { ...given, leaseMs: 8_000 }));
    await client.instance.start();
    const first = await executed(stage, client, 'p.held');
    failures = 3;
    executions[0]?.end();
    await stage.quiet();
    for (const ms of [100, 200, 400]) {
      expect(await client.get(first.id)).toMatchObject({ status: 'running' });
      await stage.pass(ms);
    }
    expect(await client.get(first.id)).toMatchObject({ status: 'succeeded', attempt: 1 });
    const second = await executed(stage, client, 'p.held');
    failures = 1;
    executions[1]?.fail(new StoreError('unavailable', 'not now'));
    await stage.quiet();
    // A store failure inside the handler does not fail the run: the lease expires, and the run is executed again.
    failures = 0;
    for (let turn = 0; turn < 8; turn += 1) await stage.pass(1_000);
    expect(executions[2]?.context).toMatchObject({ runId: second.id, attempt: 2 });
    executions[2]?.end();
    await stage.quiet();
    expect(await client.get(second.id)).toMatchObject({ status: 'succeeded', attempt: 2 });
    await client.instance.stop();
  });

  alone(
    'a handler that a stop interrupts is not cancelled: its run is executed again elsewhere',
    async () => {
      const stage = new Stage(store());
      const { executions, run } = held();
      const plugins = [pluginOf({ 'p.held': run })];
      const client = stage.client({ plugins, leaseMs: 8_000 });
      await client.instance.start();
      const { id } = await executed(stage, client, 'p.held');
      const stopping = client.instance.stop();
      await stage.quiet();
      await stage.pass(5_000);
      expect(executions[0]?.context.signal.aborted).toBe(true);
      executions[0]?.fail(new Error('aborted'));
      await stage.quiet();
      await stopping;
      expect(await client.get(id)).toMatchObject({ status: 'queued', cancellationRequested: false });
      const heir = stage.client({ plugins });
      await heir.instance.start();
      await stage.quiet();
      expect(executions.at(-1)?.context).toMatchObject({ runId: id, attempt: 2 });
      executions.at(-1)?.end();
      await stage.quiet();
      expect(await heir.get(id)).toMatchObject({ status: 'succeeded', result: 'by attempt 2' });
      await heir.instance.stop();
    },
  );
}
