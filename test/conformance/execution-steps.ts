import { describe, expect, test } from 'vitest';
import type { Json } from '../../functions/kernel/canonical-json.ts';
import vectors from '../../sdk/steps/vectors.json' with { type: 'json' };
import { RunFailure, type Steps, type StepWork, Stop } from '../../sdk/typescript/src/worker/index.ts';
import { definitionOf, type Program } from '../../sdk/typescript/test/steps-program.ts';
import { ExecutionClient, executionInstance } from '../support/execution.ts';
import { dyingStore, StepsStage } from './execution-steps-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

const programs = vectors.programs as unknown as readonly Program[];

/** Handlers with steps that a plugin brings: the worker kit over the calls of the process. */
export function describeSteps(conformance: ExecutionConformance): void {
  describe('handlers with steps in process', () => {
    describeJournals(conformance);
    describeChildren(conformance);
    describeUndo(conformance);
    describeCancellation(conformance);
    describeDeaths(conformance);
  });
}

/** The ids of children, and the moments of their ends, are those of the store. */
function withoutChildren(text: string | undefined): unknown {
  const entries = JSON.parse(text ?? '[]') as { t: string; v?: unknown; id?: string; at?: number }[];
  return entries.map(({ t, v, at, ...entry }) => ({
    ...entry,
    t,
    id: '',
    v: t === 'start' ? '' : v,
    at: t === 'child' ? 0 : at,
  }));
}

function describeJournals({ store }: ExecutionConformance): void {
  test.each(programs.map((program) => [program.title, program] as const))(
    'write the journal of a worker: %s',
    async (_, program) => {
      const stage = new StepsStage(store());
      stage.play(program);
      const { handler, ops } = program;
      const children = ops.flatMap(({ op, handler: id = '', result = null, failed }) => {
        const run = () => {
          if (failed !== undefined) throw new RunFailure(failed.failureClass, failed.error);
          return result;
        };
        return op === 'invoke' || op === 'start' ? [[id, run] as const] : [];
      });
      const definition = definitionOf(program, { clock: stage } as never);
      const plugin = stage.plugin({ ...Object.fromEntries(children), [handler]: definition });
      const client = stage.client({ plugins: [plugin] });
      const ended = await stage.driven(client, handler);
      expect(ended).toMatchObject({
        handlerVersion: program.version ?? '1',
        status: program.ends === undefined ? 'succeeded' : 'failed',
        error: program.ends ?? null,
      });
      const texts = await stage.segments(client, ended.id);
      if (children.length === 0) expect(texts).toEqual(program.segments);
      else expect(texts.map(withoutChildren)).toEqual(program.segments.map(withoutChildren));
    },
  );

  test('show the names of their steps in the history', async () => {
    const stage = new StepsStage(store());
    const client = stage.client({
      plugins: [
        stage.plugin({ h: ({ step, all }) => all([() => step('a', () => 1), () => step('b', () => 2)]) }),
      ],
    });
    const { id, result } = await stage.driven(client, 'h');
    expect(result).toEqual([1, 2]);
    const history = await client.history(id, { limit: 200 });
    const named = history.filter(({ type }) => type === 'step.completed').map(({ message }) => message);
    expect(named.join(', ')).toBe('a, b');
  });

  test('wait for the events of two branches at once', async () => {
    const stage = new StepsStage(store());
    const wait = ({ all, waitForEvent }: Steps) =>
      all([() => waitForEvent('left'), () => waitForEvent('right', { timeout: '1h' })]);
    const client = stage.client({ plugins: [stage.plugin({ h: wait })] });
    const { id } = await client.start({ handlerId: 'h' });
    await stage.quiet();
    await client.raise(id, { name: 'right', payload: 2 });
    await stage.quiet();
    await client.raise(id, { name: 'left', payload: 1 });
    expect(await stage.drive(client, id)).toMatchObject({ status: 'succeeded', result: [1, 2] });
  });
}

const scope = { productId: 'p', tenantId: 't' };

function describeChildren({ store }: ExecutionConformance): void {
  test('start children of their run, and get their results', async () => {
    const stage = new StepsStage(store());
    const parent = async ({ invoke, run }: Steps) => {
      const first = await invoke('ship', { id: 'ship' }, { order: 7 });
      return { first, parent: run.id };
    };
    const ship = async ({ sleep, run }: Steps, payload: Json) => {
      await sleep('long', '2h');
      return { payload, parentRunId: run.parentRunId ?? null, tenant: run.scope?.tenantId ?? null };
    };
    const client = stage.client({ plugins: [stage.plugin({ parent, ship })] });
    const { id } = await client.start({ handlerId: 'parent', scope, correlationId: 'c' });
    await stage.quiet();
    expect(await client.get(id)).toMatchObject({ status: 'waiting', currentStep: 'waiting:run:@child:ship' });
    const ended = await stage.drive(client, id);
    expect(ended).toMatchObject({
      status: 'succeeded',
      attempt: 2,
      result: { first: { payload: { order: 7 }, parentRunId: id, tenant: 't' }, parent: id },
    });
    const child = (await client.list({ handlerId: 'ship' })).find((run) => run.parentRunId === id);
    expect(child).toMatchObject({ correlationId: 'c', scope });
  });

  test('get the failure of a child, and of one that no handler executes', async () => {
    const stage = new StepsStage(store());
    const parent = async ({ invoke }: Steps) => {
      const failures: string[] = [];
      for (const id of ['broken', 'nowhere'])
        await invoke(id, { id }, null).catch((error: Error) => failures.push(error.message));
      return failures;
    };
    const broken = () => {
      throw new Stop('no box');
    };
    const client = stage.client({ plugins: [stage.plugin({ parent, broken })] });
    expect((await stage.driven(client, 'parent')).result).toEqual([
      '"broken" failed: broken ended as failed: no box',
      '"nowhere" failed: nowhere ended as rejected: No handler is registered under the id "nowhere"',
    ]);
  });
}

function describeUndo({ store }: ExecutionConformance): void {
  const saga =
    (stage: StepsStage, end: (steps: Steps) => unknown) =>
    async (steps: Steps): Promise<Json> => {
      for (const name of ['flight', 'hotel'])
        await steps.step(name, stage.effect, { undo: (_, its) => stage.effect(its) });
      await end(steps);
      return null;
    };

  test('undo their steps in reverse with the last failure, and not before', async () => {
    const stage = new StepsStage(store());
    const fails = () => {
      throw new Error('no car');
    };
    const client = stage.client({ plugins: [stage.plugin({ h: saga(stage, fails) })] });
    const retryPolicy = { maxAttempts: 2, initialDelaySeconds: 1 };
    const { id } = await client.start({ handlerId: 'h', retryPolicy });
    await stage.quiet();
    expect(stage.effects).toEqual(['flight', 'hotel']);
    expect(await stage.drive(client, id)).toMatchObject({ status: 'failed', failures: 2 });
    expect(stage.effects).toEqual(['flight', 'hotel', '@undo:hotel', '@undo:flight']);
  });

  test('undo their steps when they stop, which is not retried', async () => {
    const stage = new StepsStage(store());
    const stops = () => {
      throw new Stop('no car');
    };
    const client = stage.client({ plugins: [stage.plugin({ h: saga(stage, stops) })] });
    const retryPolicy = { maxAttempts: 5 };
    expect(await stage.driven(client, 'h', { retryPolicy })).toMatchObject({
      status: 'failed',
      error: 'no car',
      failures: 1,
    });
    expect(stage.effects).toEqual(['flight', 'hotel', '@undo:hotel', '@undo:flight']);
  });
}

function describeCancellation({ store }: ExecutionConformance): void {
  const booked =
    (stage: StepsStage) =>
    async ({ step, waitForEvent }: Steps): Promise<Json> => {
      const undo = (_: unknown, its: StepWork) => stage.effect(its);
      await step('flight', stage.effect, { undo });
      await step('hotel', () => stage.pause(5_000), { undo });
      return waitForEvent('approval');
    };
  const undone = ['flight', '@undo:hotel', '@undo:flight'];

  test('undo their steps after a cooperative cancellation while they wait', async () => {
    const stage = new StepsStage(store());
    const client = stage.client({ plugins: [stage.plugin({ h: booked(stage) })] });
    const { id } = await client.start({ handlerId: 'h', cancellation: 'cooperative' });
    await stage.quiet();
    await stage.pass(5_000);
    expect(await client.get(id)).toMatchObject({ status: 'waiting' });
    await client.cancel(id);
    expect(await stage.drive(client, id)).toMatchObject({ status: 'cancelled', failureClass: 'cancelled' });
    expect(stage.effects).toEqual(undone);
  });

  test('undo their steps after a cooperative cancellation while they work', async () => {
    const stage = new StepsStage(store());
    const client = stage.client({ plugins: [stage.plugin({ h: booked(stage) })] });
    const { id } = await client.start({ handlerId: 'h', cancellation: 'cooperative' });
    await stage.quiet();
    await client.cancel(id);
    expect(await stage.drive(client, id)).toMatchObject({ status: 'cancelled', attempt: 2 });
    expect(stage.effects).toEqual(['flight', '@undo:flight']);
  });

  test('undo for as long as the grace lasts, also beyond a lease', async () => {
    const stage = new StepsStage(store());
    const slow = async ({ step, waitForEvent }: Steps): Promise<Json> => {
      const undo = async (_: unknown, its: StepWork) => {
        await stage.pause(70_000);
        stage.effect(its);
      };
      await step('flight', stage.effect, { undo });
      return waitForEvent('approval');
    };
    const client = stage.client({ plugins: [stage.plugin({ h: slow })], leaseMs: 30_000 });
    const { id } = await client.start({ handlerId: 'h', cancellation: 'cooperative' });
    await stage.quiet();
    await client.cancel(id);
    expect(await stage.drive(client, id)).toMatchObject({ status: 'cancelled', attempt: 2 });
    expect(stage.effects).toEqual(['flight', '@undo:flight']);
  });

  test('undo nothing where the cancellation is not cooperative', async () => {
    const stage = new StepsStage(store());
    const client = stage.client({ plugins: [stage.plugin({ h: booked(stage) })] });
    const { id } = await client.start({ handlerId: 'h' });
    await stage.quiet();
    await client.cancel(id);
    expect(await stage.drive(client, id)).toMatchObject({ status: 'cancelled', attempt: 1 });
    expect(stage.effects).toEqual(['flight']);
  });
}

function describeDeaths({ store, alone }: ExecutionConformance): void {
  const approval =
    (stage: StepsStage) =>
    async ({ step, waitForEvent, sleep, invoke, map }: Steps): Promise<Json> => {
      await step('charge', stage.effect);
      const its = (await waitForEvent('approval', { timeout: '7d' })) as { readonly by: string } | null;
      await sleep('cool-off', '1h');
      const label = await invoke<Json, Json>('label', { id: 'label' }, { order: 7 });
      const sent = await map(['kim', 'ann'], {}, (to) => step(['mail', to], stage.effect));
      return { by: its?.by ?? null, label, sent: sent.length };
    };
  const label = (_: Steps, payload: Json) => ({ of: payload });
  const result = { by: 'kim', label: { of: { order: 7 } }, sent: 2 };
  const effects = ['charge', 'mail/ann', 'mail/kim'];

  const outcomeOf = async (diesAt: number, when: 'before' | 'after') => {
    const stage = new StepsStage(store());
    stage.replies.set('approval', { afterMs: 60_000, payload: { by: 'kim' } });
    const plugins = () => [stage.plugin({ approval: approval(stage), label })];
    const dying = dyingStore(stage.store, diesAt, when);
    const common = { world: stage.world, scope: stage.scope, external: [] };
    const first = new ExecutionClient(executionInstance(dying.store, { ...common, plugins: plugins() }));
    const second = stage.client({ plugins: plugins() });
    const body = { handlerId: 'approval', idempotencyKey: 'k' };
    const { id } = await first.start(body).catch(() => second.start(body));
    const clientNow = () => (dying.state.isDead ? second : first);
    const { status, result: given } = await stage.drive(clientNow, id);
    const made = [...new Set(stage.effects)].toSorted();
    const children = (await second.list({ handlerId: 'label' })).length;
    return { died: dying.state.isDead, status, result: given, effects: made, children };
  };

  for (const when of ['before', 'after'] as const) {
    const dies = async () => {
      for (let diesAt = 1; ; diesAt += 1) {
        const { died, ...outcome } = await outcomeOf(diesAt, when);
        const expected = { status: 'succeeded', result, effects, children: 1 };
        expect(outcome, `transaction ${diesAt}`).toEqual(expected);
        if (died) continue;
        expect(diesAt).toBeGreaterThan(10);
        return;
      }
    };
    alone(`go on where their process dies ${when} any transaction`, dies, 60_000);
  }

  test('go on after the end of their process', async () => {
    const stage = new StepsStage(store());
    stage.replies.set('approval', { afterMs: 60_000, payload: { by: 'kim' } });
    const plugin = () => stage.plugin({ approval: approval(stage), label });
    const first = stage.client({ plugins: [plugin()] });
    const { id } = await first.start({ handlerId: 'approval' });
    await stage.quiet();
    await first.instance.stop();
    const second = stage.client({ plugins: [plugin()] });
    expect(await stage.drive(second, id)).toMatchObject({ status: 'succeeded', result });
    expect(stage.effects.toSorted()).toEqual(effects);
  });
}
