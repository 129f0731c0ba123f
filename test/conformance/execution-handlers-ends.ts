import { expect, test } from 'vitest';
import type { LogEvent } from '../../functions/kernel/log.ts';
import { type RunContext, RunFailure } from '../../functions/runs/plugin.ts';
import { ExecutionClient, executionInstance } from '../support/execution.ts';
import { hostileErrors } from '../support/hostile-errors.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { held } from './execution-handlers-life.ts';
import { executed, pluginOf } from './execution-plugins.ts';
import { Stage, typesOf } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

/** Ends of runs that a handler chooses, and what is logged of them. */
export function describeHandlerEnds({ store }: ExecutionConformance): void {
  test('a handler ends its run as cancelled, and it is not tried again', async () => {
    const stage = new Stage(store());
    const plugin = pluginOf({
      'p.cancelled': () => {
        throw new RunFailure('out_of_date', 'the order is gone', { status: 'cancelled' });
      },
    });
    const client = stage.client({ plugins: [plugin] });
    const run = await executed(stage, client, 'p.cancelled', { retryPolicy: { maxAttempts: 3 } });
    expect(run).toMatchObject({
      status: 'cancelled',
      attempt: 1,
      failureClass: 'out_of_date',
      error: 'the order is gone',
      cancellationRequested: true,
    });
    expect(await typesOf(client, run.id)).not.toContain('retry.scheduled');
  });

  test('a failure is logged with its run, and without the text of the error', async () => {
    const stage = new Stage(store());
    const lines: LogEvent[] = [];
    const plugin = pluginOf({
      'p.throw': () => {
        throw new TypeError('password=hunter2');
      },
    });
    const client = stage.client({ plugins: [plugin], log: (line) => lines.push(line) });
    const { id } = await executed(stage, client, 'p.throw');
    expect(lines).toMatchObject([
      { message: 'A handler failed', runId: id },
      { message: 'A run failed', runId: id, handlerId: 'p.throw', failureClass: 'unknown' },
    ]);
    expect(lines[0]?.failure).toContain('TypeError');
    expect(JSON.stringify(lines)).not.toContain('hunter2');
  });

  test('a value whose members throw fails its run at once, whichever is thrown', async () => {
    const stage = new Stage(store());
    const lines: LogEvent[] = [];
    const calls: string[] = [];
    const errors = hostileErrors(RunFailure);
    const run = (context: RunContext): never => {
      calls.push(context.runId);
      throw errors.get(context.payload as string);
    };
    const plugins = [pluginOf({ 'p.throw': run })];
    for (const showsHandlerErrors of [true, false]) {
      const client = stage.client({
        plugins,
        options: { showsHandlerErrors },
        log: (line) => lines.push(line),
      });
      for (const name of errors.keys()) {
        const ended = await executed(stage, client, 'p.throw', { payload: name });
        expect([name, ended.status, ended.attempt]).toEqual([name, 'failed', 1]);
        expect(ended.failureClass, name).toMatch(/^(unknown|c)$/);
      }
    }
    expect(calls).toHaveLength(2 * errors.size);
    expect(lines.filter(({ message }) => message === 'A run failed')).toHaveLength(2 * errors.size);
    expect(JSON.stringify(lines)).not.toContain('canary');
  });

  test('a completion that overtakes a renewal does not count as a lost lease', async () => {
    const stage = new Stage(store());
    const lines: LogEvent[] = [];
    const { executions, run } = held();
    const renewal = Promise.withResolvers<void>();
    const completion = Promise.withResolvers<void>();
    let next: 'renewal' | 'completion' | null = null;
    const slow = patched(stage.store, {
      transact: async (...given) => {
        const which = next;
        next = null;
        if (which === 'renewal') await renewal.promise;
        const result = await stage.store.transact(...given);
        if (which === 'completion') await completion.promise;
        return result;
      },
    });
    const plugins = [pluginOf({ 'p.held': run })];
    const given = { world: stage.world, scope: stage.scope, plugins, leaseMs: 8_000 };
    const client = new ExecutionClient(
      executionInstance(slow, { ...given, log: (line) => lines.push(line) }),
    );
    const { id } = await executed(stage, client, 'p.held');
    await stage.pass(2_000);
    next = 'renewal';
    await stage.pass(2_000);
    expect(next).toBeNull();
    next = 'completion';
    executions[0]?.end();
    await stage.quiet();
    expect(await client.get(id)).toMatchObject({ status: 'succeeded' });
    renewal.resolve();
    await stage.quiet();
    expect(executions[0]?.context.signal.aborted).toBe(false);
    completion.resolve();
    await stage.quiet();
    expect(executions[0]?.context.signal.aborted).toBe(true);
    expect(lines).toEqual([]);
  });

  test('a late call that the handler did not await does not count as a lost lease', async () => {
    const stage = new Stage(store());
    const lines: LogEvent[] = [];
    const { executions, run } = held();
    const plugins = [pluginOf({ 'p.held': run })];
    const client = stage.client({ plugins, log: (line) => lines.push(line) });
    await executed(stage, client, 'p.held');
    executions[0]?.end();
    await stage.quiet();
    await expect(executions[0]?.context.report({ progress: 1 })).rejects.toThrow();
    expect(lines).toEqual([]);
  });
}
