import { describe, expect, test } from 'vitest';
import type { Json } from '../../functions/kernel/canonical-json.ts';
import { RunFailure } from '../../functions/runs/plugin.ts';
import { keptValues, lostValues } from '../support/lost-values.ts';
import { describeHandlerEnds } from './execution-handlers-ends.ts';
import { describeHandlerGuards } from './execution-handlers-guards.ts';
import { describeHandlerLife } from './execution-handlers-life.ts';
import { describeHandlerWaits } from './execution-handlers-waits.ts';
import { executed, pluginOf } from './execution-plugins.ts';
import { refusedWith, Stage, typesOf } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

/** Handlers that live in the process: specification, Handler context. */
export function describeHandlers(conformance: ExecutionConformance): void {
  describe('handlers in process', () => {
    describeResults(conformance);
    describeContext(conformance);
    describeHandlerWaits(conformance);
    describeHandlerLife(conformance);
    describeHandlerGuards(conformance);
    describeHandlerEnds(conformance);
  });
}

function describeResults({ store }: ExecutionConformance): void {
  test('a handler gets its run, and its return value is the result', async () => {
    const stage = new Stage(store());
    const seen: unknown[] = [];
    const plugin = pluginOf({
      'p.echo': (context) => {
        const { payload, attempt, maxAttempts, correlationId, scope, tags, pluginId, handlerId } = context;
        seen.push({ attempt, maxAttempts, correlationId, scope, tags, pluginId, handlerId });
        return { echo: payload };
      },
      'p.nothing': () => undefined,
    });
    const client = stage.client({ plugins: [plugin] });
    const scope = { productId: 'p', tenantId: 't' };
    const given = { payload: { a: [1] }, correlationId: 'c', scope, tags: { x: 'y' } };
    const run = await executed(stage, client, 'p.echo', { ...given, retryPolicy: { maxAttempts: 4 } });
    expect(run).toMatchObject({ status: 'succeeded', result: { echo: { a: [1] } }, attempt: 1, progress: 1 });
    expect(seen).toEqual([
      {
        attempt: 1,
        maxAttempts: 4,
        correlationId: 'c',
        scope: { ...scope, serviceIdentity: null },
        tags: { x: 'y' },
        pluginId: 'test.plugin',
        handlerId: 'p.echo',
      },
    ]);
    const large = await executed(stage, client, 'p.echo', { payload: 'x'.repeat(200_000) });
    expect(large).toMatchObject({ status: 'succeeded', result: { echo: 'x'.repeat(200_000) } });
    expect(await executed(stage, client, 'p.nothing')).toMatchObject({ status: 'succeeded', result: null });
  });

  test('a value that JSON would silently change is refused as a result and as a checkpoint', async () => {
    const stage = new Stage(store());
    const refused: unknown[] = [];
    const given = new Map<string, unknown>([
      ...lostValues,
      ...[...keptValues].map(([name, [value]]) => [name, value] as const),
    ]);
    const plugin = pluginOf({
      'p.returns': ({ payload }) => given.get(payload as string) as Json,
      'p.holds': ({ payload }) => ({ a: [given.get(payload as string)] }) as Json,
      'p.keeps': ({ payload, ...context }) =>
        context.writeCheckpoint('k', { a: given.get(payload as string) } as Json).then(
          ({ content }) => content,
          () => refused.push(payload),
        ),
    });
    const client = stage.client({ plugins: [plugin] });
    const failed = {
      status: 'failed',
      failureClass: 'validation',
      error: 'The result cannot be written as JSON',
    };
    for (const payload of lostValues.keys()) {
      // The service awaits a promise that is returned.
      if (payload !== 'a promise')
        expect(await executed(stage, client, 'p.returns', { payload }), payload).toMatchObject(failed);
      expect(await executed(stage, client, 'p.holds', { payload }), payload).toMatchObject(failed);
      await executed(stage, client, 'p.keeps', { payload });
    }
    expect(refused).toEqual([...lostValues.keys()]);
    for (const [payload, [, said]] of keptValues) {
      expect((await executed(stage, client, 'p.returns', { payload })).result, payload).toEqual(said);
      expect((await executed(stage, client, 'p.holds', { payload })).result, payload).toEqual({ a: [said] });
    }
  });

  test('a failure shows its class, status and message; any other error hides its own', async () => {
    const stage = new Stage(store());
    const plugin = pluginOf({
      'p.fail': ({ payload }) => {
        const { failureClass, status, message } = payload as Record<string, string>;
        throw new RunFailure(failureClass ?? '', message ?? '', { status: status as 'failed' });
      },
      'p.foreign': () => {
        throw new (class extends Error {
          override readonly name = 'RunFailure';
          readonly failureClass = 'validation';
          readonly status = 'rejected';
        })('by a class of its own');
      },
      'p.throw': () => {
        throw new Error('password=hunter2');
      },
      'p.reject': () => Promise.reject(new TypeError('password=hunter2')),
      'p.text': () => Promise.reject('password=hunter2'),
    });
    const client = stage.client({ plugins: [plugin] });
    for (const status of ['failed', 'timed_out', 'rejected']) {
      const payload = { failureClass: 'validation', status, message: 'no such\nthing' };
      const run = await executed(stage, client, 'p.fail', { payload, retryPolicy: { maxAttempts: 3 } });
      expect(run).toMatchObject({ status, failureClass: 'validation', error: 'no such\nthing', attempt: 1 });
    }
    expect(await executed(stage, client, 'p.foreign')).toMatchObject({
      status: 'rejected',
      failureClass: 'validation',
      error: 'by a class of its own',
    });
    for (const handlerId of ['p.throw', 'p.reject', 'p.text']) {
      const run = await executed(stage, client, handlerId);
      expect(run).toMatchObject({ status: 'failed', failureClass: 'unknown', error: 'The handler failed.' });
      expect(JSON.stringify([run, await client.history(run.id)])).not.toContain('hunter2');
    }
    const inDevelopment = stage.client({ plugins: [plugin], options: { showsHandlerErrors: true } });
    for (const handlerId of ['p.throw', 'p.reject', 'p.text']) {
      const run = await executed(stage, inDevelopment, handlerId);
      expect(run).toMatchObject({ status: 'failed', failureClass: 'unknown', error: 'password=hunter2' });
    }
    const long = { failureClass: 'x', status: 'failed', message: '🙂'.repeat(5_000) };
    const { error } = await executed(stage, client, 'p.fail', { payload: long });
    expect(error?.length).toBeLessThanOrEqual(4_096);
    expect(error?.isWellFormed()).toBe(true);
  });

  test('a result that is too large, or is no JSON, fails the run', async () => {
    const stage = new Stage(store());
    const plugin = pluginOf({
      'p.size': ({ payload }) => 'x'.repeat(Number(payload) - 2),
      'p.surrogate': ({ payload }) => `\ud800${'x'.repeat(Number(payload))}`,
      'p.big': () => 1n as never,
    });
    const client = stage.client({ plugins: [plugin] });
    const most = client.instance.runtime.options.resultBytesMax;
    expect(await executed(stage, client, 'p.size', { payload: most })).toMatchObject({ status: 'succeeded' });
    expect(await executed(stage, client, 'p.size', { payload: most + 1 })).toMatchObject({
      status: 'failed',
      failureClass: 'validation',
      result: null,
    });
    for (const size of [1, 100_000]) {
      const run = await executed(stage, client, 'p.surrogate', { payload: size });
      expect(run).toMatchObject({ status: 'failed', result: null });
    }
    expect(await executed(stage, client, 'p.big')).toMatchObject({ failureClass: 'validation' });
  });

  test('a failure is retried when its delay is over, with the checkpoint of the attempt before', async () => {
    const stage = new Stage(store());
    const plugin = pluginOf({
      'p.third': {
        maxAttempts: 3,
        run: async (context) => {
          const before = await context.readCheckpoint('tries');
          const tries = Number(before?.content ?? 0) + 1;
          await context.writeCheckpoint('tries', tries);
          if (tries < 3) throw new RunFailure('transient', `try ${tries}`);
          return { tries, attempt: context.attempt };
        },
      },
    });
    const client = stage.client({ plugins: [plugin] });
    await client.instance.start();
    const run = await executed(stage, client, 'p.third');
    expect(run).toMatchObject({ status: 'waiting', failureClass: 'transient', error: 'try 1' });
    await stage.pass(999);
    expect(await client.get(run.id)).toMatchObject({ status: 'waiting', attempt: 1 });
    await stage.pass(1);
    expect(await client.get(run.id)).toMatchObject({ status: 'waiting', attempt: 2 });
    await stage.pass(2_000);
    expect(await client.get(run.id)).toMatchObject({
      status: 'succeeded',
      result: { tries: 3, attempt: 3 },
      failureClass: null,
      error: null,
    });
    await client.instance.stop();
  });
}

function describeContext({ store }: ExecutionConformance): void {
  test('progress, log, trace and artifacts of a handler are shown with its run', async () => {
    const stage = new Stage(store());
    const plugin = pluginOf({
      'p.tell': async (context) => {
        await context.report({ requested: 3, attempted: 1, currentStep: 'one', statusDetails: { s: 1 } });
        await context.report({ attempted: 2 });
        await context.log('hello', { severity: 'warning', details: { d: 1 } });
        await context.trace('mine', { message: 'm' });
        const artifact = await context.putArtifact({ name: 'a', text: 'body', mediaType: 'text/plain' });
        return { artifact: artifact.id };
      },
    });
    const client = stage.client({ plugins: [plugin] });
    const run = await executed(stage, client, 'p.tell');
    expect(run).toMatchObject({ status: 'succeeded', requested: 3, attempted: 2, statusDetails: { s: 1 } });
    const history = await client.history(run.id, { limit: 100 });
    expect(history.find(({ type }) => type === 'log')).toMatchObject({
      message: 'hello',
      severity: 'warning',
      details: { d: 1 },
    });
    expect(history.find(({ type }) => type === 'mine')).toMatchObject({ message: 'm', severity: 'info' });
    const input = { params: { runId: run.id }, query: {}, body: null };
    const { body } = await client.instance.operations.listExecutionRunArtifacts(input, {
      caller: { kind: 'development', principal: null },
      correlationId: 'test',
      now: stage.time.now,
      signal: new AbortController().signal,
    });
    expect(body).toMatchObject([{ name: 'a', text: 'body', sizeBytes: 4, mediaType: 'text/plain' }]);
    expect(run.result).toEqual({ artifact: body[0]?.id });
  });

  test('a handler is held to the limits of workers', async () => {
    const stage = new Stage(store());
    const codes: Record<string, string> = {};
    const large = 'x'.repeat(262_143);
    const plugin = pluginOf({
      'p.over': async (context) => {
        const later = new Date(stage.time.now + 1_000);
        const calls = {
          report: () => context.report({ attempted: -1 }),
          details: () => context.report({ statusDetails: { text: large } }),
          trace: () => context.trace('t', { details: { text: large } }),
          artifact: () => context.putArtifact({ name: 'empty' }),
          name: () => context.writeCheckpoint('', 1),
          lease: () => context.acquireLease('l', 0),
          longLease: () => context.acquireLease('l', 86_401),
          event: () => context.raiseEvent('e', large),
          timer: () => context.scheduleTimer('t', later, large),
          wait: () => context.waitForTimer('t', later, large),
          far: () => context.waitForTimer('t', new Date(stage.time.now + 4_000 * 86_400_000)),
        };
        for (const [name, call] of Object.entries(calls)) {
          codes[name] = await refusedWith(call()).catch((error: unknown) => String(error));
        }
        return codes;
      },
    });
    const client = stage.client({ plugins: [plugin] });
    expect(await executed(stage, client, 'p.over')).toMatchObject({ status: 'succeeded' });
    expect(codes).toEqual({
      report: 'validation_failed',
      details: 'limit_exceeded',
      trace: 'limit_exceeded',
      artifact: 'validation_failed',
      name: 'validation_failed',
      lease: 'limit_exceeded',
      longLease: 'limit_exceeded',
      event: 'limit_exceeded',
      timer: 'limit_exceeded',
      wait: 'limit_exceeded',
      far: 'limit_exceeded',
    });
  });

  test('a lease on a name is one run’s until it is released or runs out', async () => {
    const stage = new Stage(store());
    const steps: ((name: string) => void)[] = [];
    const step = () => new Promise<string>((resolve) => steps.push(resolve));
    const answers: unknown[] = [];
    const plugin = pluginOf({
      'p.lease': async (context) => {
        for (let what = await step(); what !== 'end'; what = await step()) {
          if (what === 'take') answers.push(await context.acquireLease('name', 10));
          else answers.push(await context.releaseLease('name'));
        }
        return null;
      },
    });
    const client = stage.client({ plugins: [plugin] });
    const ids = [];
    for (const _ of [0, 1]) ids.push((await executed(stage, client, 'p.lease')).id);
    const say = async (index: number, what: string) => {
      const waiting = steps.splice(0);
      expect(waiting).toHaveLength(2);
      // The other handler keeps waiting for its next command.
      steps.push(...waiting.filter((_, other) => other !== index));
      waiting[index]?.(what);
      await stage.quiet();
      if (index === 0) steps.reverse();
      return answers.at(-1);
    };
    expect(await say(0, 'take')).toBe(true);
    expect(await say(1, 'take')).toBe(false);
    expect(await say(1, 'release')).toBe(false);
    expect(await say(0, 'take')).toBe(true);
    expect(await say(0, 'release')).toBe(true);
    expect(await say(0, 'release')).toBe(false);
    expect(await say(1, 'take')).toBe(true);
    stage.time.advance(9_999);
    expect(await say(0, 'take')).toBe(false);
    stage.time.advance(1);
    expect(await say(0, 'take')).toBe(true);
    expect(await say(1, 'release')).toBe(false);
    for (const waiting of steps) waiting('end');
    await stage.quiet();
    expect((await typesOf(client, ids[0] ?? '')).filter((type) => type === 'lease.released')).toHaveLength(1);
    expect(await client.get(ids[1] ?? '')).toMatchObject({ status: 'succeeded' });
  });
}
