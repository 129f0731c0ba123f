import { once } from 'node:events';
import { expect, test } from 'vitest';
import { canonicalJson, sha256 } from '../../functions/kernel/canonical-json.ts';
import { ServiceError } from '../../functions/kernel/errors.ts';
import type { LogEvent } from '../../functions/kernel/log.ts';
import { takeRejection } from '../../functions/runs/handler-scope.ts';
import { type RunContext, RunFailure } from '../../functions/runs/plugin.ts';
import { ExecutionClient, executionInstance } from '../support/execution.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { held } from './execution-handlers-life.ts';
import { executed, pluginOf } from './execution-plugins.ts';
import { refusedWith, Stage, typesOf } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

/** A handler that is careless, hangs or has lost its run must not harm other runs. */
export function describeHandlerGuards(conformance: ExecutionConformance): void {
  describeCalls(conformance);
  describeRoom(conformance);
  describeLateAskers(conformance);
}

function describeCalls({ store }: ExecutionConformance): void {
  test('an await that was forgotten ends nothing, and a later await gets the failure', async () => {
    const stage = new Stage(store());
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', note);
    const plugin = pluginOf({
      'p.careless': (context) => {
        void context.writeCheckpoint('', 1);
        void context.log('x'.repeat(5_000));
        void context.raiseEvent('e', null, 'no such run');
        return refusedWith(context.readCheckpoint(''));
      },
    });
    const run = await executed(stage, stage.client({ plugins: [plugin] }), 'p.careless');
    process.off('unhandledRejection', note);
    expect(run).toMatchObject({ status: 'succeeded', result: 'validation_failed' });
    expect(unhandled).toEqual([]);
  });

  test('an unhandled rejection of a handler fails its own run alone', async () => {
    const stage = new Stage(store());
    const lines: LogEvent[] = [];
    const left = new Error('canary');
    const abortedOf = async ({ signal }: RunContext) => {
      if (!signal.aborted) await once(signal, 'abort');
      return 'done';
    };
    const plugin = pluginOf({
      'p.careless': (context) => {
        takeRejection(left);
        return abortedOf(context);
      },
      'p.returns': () => {
        takeRejection(left);
        return 'done';
      },
      'p.fails': () => {
        takeRejection(left);
        throw new RunFailure('validation', 'of its own');
      },
      'p.parks': (context) => {
        takeRejection(left);
        return context.waitForTimer('t', new Date(stage.time.clock.now() + 1_000)).then(() => 'done');
      },
      'p.cancelled': async (context) => {
        void cancel.promise.then(() => client.cancel(context.runId));
        await abortedOf(context);
        takeRejection(left);
        return 'done';
      },
    });
    const cancel = Promise.withResolvers<void>();
    const log = (line: LogEvent) => lines.push(line);
    const client = stage.client({ plugins: [plugin], options: { showsHandlerErrors: true }, log });
    const failed = { status: 'failed', failureClass: 'unhandled_rejection', error: 'canary', attempt: 1 };
    for (const handlerId of ['p.careless', 'p.returns', 'p.fails'])
      expect(await executed(stage, client, handlerId), handlerId).toMatchObject(failed);
    expect(await executed(stage, client, 'p.parks')).toMatchObject({ status: 'waiting' });
    cancel.resolve();
    expect(await executed(stage, client, 'p.cancelled')).toMatchObject({ status: 'cancelled' });
    const texts = lines.filter(({ handlerId }) => handlerId !== undefined).map(({ message }) => message);
    expect(texts.filter((text) => text.includes('its run fails'))).toHaveLength(4);
    expect(texts.filter((text) => text.includes('was interrupted'))).toHaveLength(1);
    expect(takeRejection(left)).toBe(false);
  });

  test('a handler that leaves a rejection and ignores its signal is given up after the length of a lease', async () => {
    const stage = new Stage(store());
    const plugin = pluginOf({
      'p.stubborn': () => {
        takeRejection('left');
        return new Promise(() => undefined);
      },
    });
    const client = stage.client({ plugins: [plugin], leaseMs: 8_000 });
    const { id } = await executed(stage, client, 'p.stubborn');
    for (const ms of [2_000, 2_000, 2_000, 1_900]) await stage.pass(ms);
    expect(await client.get(id)).toMatchObject({ status: 'running', attempt: 1 });
    await stage.pass(200);
    const failure = 'The handler left a rejected promise unhandled.';
    expect(await client.get(id)).toMatchObject({ failureClass: 'unhandled_rejection', error: failure });
  });

  test('hash and size of an artifact are those of the stored content, also when the handler changes it meanwhile', async () => {
    const stage = new Stage(store());
    const plugin = pluginOf({
      'p.hasty': async (context) => {
        const items = ['first'];
        const put = context.putArtifact({ name: 'items', content: items });
        items.push('second');
        await put;
        return null;
      },
    });
    const client = stage.client({ plugins: [plugin] });
    const { id, status } = await executed(stage, client, 'p.hasty');
    expect(status).toBe('succeeded');
    const [artifact] = await client.artifacts(id);
    const text = canonicalJson(artifact?.content);
    expect(artifact).toMatchObject({ contentHash: sha256(text), sizeBytes: text.length });
  });

  test('an event reaches runs of the same product and tenant, and none once the lease is lost', async () => {
    const stage = new Stage(store());
    const { executions, run } = held();
    const client = stage.client({ plugins: [pluginOf({ 'p.held': run })], leaseMs: 8_000 });
    const ids: string[] = [];
    for (const scope of [
      { productId: 'p', tenantId: 't' },
      { productId: 'p', tenantId: 't' },
      { productId: 'p', tenantId: 'other' },
      { productId: 'other', tenantId: 't' },
      null,
    ]) {
      ids.push((await executed(stage, client, 'p.held', scope === null ? {} : { scope })).id);
    }
    const context = executions[0]?.context as RunContext;
    const raiseEvent = (...given: Parameters<RunContext['raiseEvent']>) => context.raiseEvent(...given);
    for (const id of [undefined, ids[0], ids[1]]) await raiseEvent('e', 1, id);
    for (const id of [ids[2], ids[3], ids[4], 'none'])
      expect(await refusedWith(raiseEvent('e', 1, id))).toBe('not_found');
    const raised = async (id = '') =>
      (await typesOf(client, id)).filter((type) => type === 'external_event.raised').length;
    expect(await Promise.all(ids.map(raised))).toEqual([2, 1, 0, 0, 0]);
    // Its process could not send anything in time.
    stage.time.now += 8_000;
    for (const id of [ids[0], ids[1]]) expect(await refusedWith(raiseEvent('e', 1, id))).toMatch(/^lease_/);
    expect(await Promise.all(ids.map(raised))).toEqual([2, 1, 0, 0, 0]);
    expect(executions[0]?.context.signal.aborted).toBe(true);
  });

  test('every next call of the handler reports a cancellation made through another instance', async () => {
    const stage = new Stage(store());
    const { executions, run } = held();
    const plugins = [pluginOf({ 'p.held': run })];
    const client = stage.client({ plugins });
    const other = stage.client({ plugins, concurrencyMax: 0 });
    const calls: Readonly<Record<string, (context: RunContext) => Promise<unknown>>> = {
      report: (context) => context.report({ attempted: 1 }),
      log: (context) => context.log('m'),
      artifact: (context) => context.putArtifact({ name: 'a', text: 't' }),
      checkpoint: (context) => context.writeCheckpoint('k', 1),
      read: (context) => context.readCheckpoint('k'),
      lease: (context) => context.acquireLease('l', 1),
      timer: (context) => context.scheduleTimer('t', new Date(stage.time.now)),
      event: (context) => context.raiseEvent('e'),
    };
    for (const [name, call] of Object.entries(calls)) {
      const { id } = await executed(stage, client, 'p.held');
      const execution = executions.at(-1);
      await other.cancel(id);
      expect(execution?.context.signal.aborted, name).toBe(false);
      await call(execution?.context as RunContext);
      expect(execution?.context.signal.aborted, name).toBe(true);
      execution?.fail(new Error('aborted'));
      await stage.quiet();
      expect(await client.get(id)).toMatchObject({ status: 'cancelled' });
    }
  });

  test('a refusal that a handler has from elsewhere is a failure of its own', async () => {
    const stage = new Stage(store());
    const plugin = pluginOf({
      'p.worker': () => Promise.reject(new ServiceError('lease_stale', 'of something else')),
    });
    const client = stage.client({ plugins: [plugin] });
    expect(await executed(stage, client, 'p.worker')).toMatchObject({
      status: 'failed',
      failureClass: 'unknown',
    });
  });
}

function describeRoom({ store, alone }: ExecutionConformance): void {
  alone('a handler that was given up, or has lost its run, frees its slot', async () => {
    const stage = new Stage(store());
    const { executions, run } = held();
    const client = stage.client({
      plugins: [pluginOf({ 'p.held': run })],
      concurrencyMax: 1,
      leaseMs: 8_000,
    });
    const hung = await executed(stage, client, 'p.held');
    const second = await executed(stage, client, 'p.held');
    expect(executions).toHaveLength(1);
    await client.cancel(hung.id);
    for (let turn = 0; turn < 4; turn += 1) await stage.pass(2_000);
    expect(executions.map(({ context }) => context.runId)).toEqual([hung.id, second.id]);
    expect(await refusedWith(executions[0]?.context.log('late') ?? Promise.resolve())).toMatch(/^lease_/);
    // The second one loses its lease, since no call renewed it, and a third takes its room.
    stage.time.now += 8_000;
    const third = await executed(stage, client, 'p.held');
    expect(executions).toHaveLength(2);
    await stage.pass(2_000);
    expect(executions.at(-1)?.context.runId).toBe(third.id);
    expect(executions[1]?.context.signal.aborted).toBe(true);
    for (const { end } of executions) end();
    await stage.quiet();
    expect(await client.get(third.id)).toMatchObject({ status: 'succeeded' });
    for (const { id } of [hung, second]) expect(await client.get(id)).toMatchObject({ result: null });
    // Nothing is renewed any more.
    const calls = stage.storeCalls;
    for (let turn = 0; turn < 10; turn += 1) await stage.pass(2_000);
    expect(stage.storeCalls).toBe(calls);
  });
}

function describeLateAskers({ store, alone }: ExecutionConformance): void {
  /** An instance that is about to lease a run; the test releases the answer. */
  async function asking() {
    const stage = new Stage(store());
    const { executions, run } = held();
    const plugins = [pluginOf({ 'p.held': run })];
    let gate = Promise.resolve();
    const slow = patched(stage.store, {
      transact: async (...given) => {
        await gate;
        return stage.store.transact(...given);
      },
    });
    const { world, scope } = stage;
    const client = new ExecutionClient(executionInstance(slow, { world, scope, plugins, node: 9 }));
    const { id } = await stage.client({ plugins, concurrencyMax: 0 }).start({ handlerId: 'p.held' });
    const { promise, resolve: open } = Promise.withResolvers<void>();
    gate = promise;
    client.instance.engine.wake();
    await stage.quiet();
    return { stage, executions, client, id, open };
  }

  alone('a stop waits for a run that is just being taken', async () => {
    const { stage, executions, client, id, open } = await asking();
    let stopped: boolean | null = null;
    const stopping = client.instance.engine.stop(5_000).then((done) => {
      stopped = done;
    });
    await stage.quiet();
    expect([stopped, executions.length]).toEqual([null, 0]);
    open();
    await stage.quiet();
    expect([stopped, executions.length]).toEqual([null, 1]);
    executions[0]?.end();
    await stopping;
    expect(stopped).toBe(true);
    expect(await client.get(id)).toMatchObject({ status: 'succeeded' });
  });

  alone('nothing is begun after a stop', async () => {
    const { stage, executions, client, id, open } = await asking();
    const stopping = client.instance.engine.stop(5_000);
    await stage.pass(5_000);
    expect(await stopping).toBe(false);
    open();
    await stage.quiet();
    expect(executions).toHaveLength(0);
    expect(await client.get(id)).toMatchObject({ status: 'running', attempt: 1 });
    expect(stage.time.pendingTimers).toBe(0);
  });
}
