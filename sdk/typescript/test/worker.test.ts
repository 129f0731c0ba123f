import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostileErrors } from '../../../test/support/hostile-errors.ts';
import { keptValues, lostValues } from '../../../test/support/lost-values.ts';
import { type RunContext, RunFailure } from '../src/worker/index.ts';
import { answerLost, answers, leaseWith, lostOnTheWay, moment, WorkPlace } from './worker-stage.ts';

let place: WorkPlace;
beforeAll(async () => {
  place = await WorkPlace.open(30);
});
afterAll(() => place[Symbol.asyncDispose]());

let handlers = 0;
/** A handler id of this test alone, so that no other worker takes its runs. */
const fresh = () => `h${(handlers += 1)}`;
const ended = (run: { readonly id: string }) => place.client.waitForExecutionRun(run.id);
const statusOf = async ({ id }: { readonly id: string }) => (await place.client.getExecutionRun(id)).status;

describe('a run', () => {
  test('is carried out with all that a handler can do', async () => {
    const id = fresh();
    const run = await place.start(id, { order: '7' }, { tags: { kind: 'a' } });
    await using worker = place.worker({
      [id]: async (context) => {
        expect(context.run).toMatchObject({ id: run.id, attempt: 1, tags: { kind: 'a' }, scope: null });
        await context.report({ progress: 0.5, currentStep: 'half' });
        await context.recordEvent({ type: 'paid', message: 'it was paid', details: { cents: 7 } });
        const artifact = await context.putArtifact({ name: 'receipt', content: { paid: true } });
        expect(await context.readCheckpoint('none')).toBeNull();
        await context.checkpoint('step', { n: 1 }, { by: 'me' });
        const kept = await context.readCheckpoint('step');
        return { payload: context.payload, artifact: artifact.name, kept: kept?.content };
      },
    });
    void worker.run();
    expect(await ended(run)).toMatchObject({
      status: 'succeeded',
      result: { payload: { order: '7' }, artifact: 'receipt', kept: { n: 1 } },
      progress: 1,
    });
    expect(await place.historyOf(run)).toEqual(
      expect.arrayContaining(['paid', 'artifact.written', 'checkpoint.written', 'run.completed']),
    );
  });

  test('whose tenant may store nothing more continues without its events, and logs that', async () => {
    const id = fresh();
    const run = await place.start(id);
    await using way = await place.way();
    way.meets('leases/events', answers(409, 'quota_exceeded'), answers(409, 'idempotency_conflict'));
    await using worker = place.worker(
      {
        [id]: async ({ recordEvent }) => {
          await recordEvent({ message: 'dropped' });
          return recordEvent({ message: 'refused' }).catch((error: unknown) => String(error));
        },
      },
      { way },
    );
    void worker.run();
    expect(await ended(run)).toMatchObject({
      status: 'succeeded',
      result: expect.stringContaining('Conflict'),
    });
    expect(way.at('leases/events')).toHaveLength(2);
    expect(place.log).toContainEqual(
      expect.objectContaining({ level: 'warning', message: 'an event was dropped', runId: run.id }),
    );
  });

  test('whose handler returns nothing succeeds, and keeps the reported result', async () => {
    const id = fresh();
    const run = await place.start(id);
    await using worker = place.worker({ [id]: async ({ report }) => report({ result: { so: 'far' } }) });
    void worker.run();
    expect(await ended(run)).toMatchObject({ status: 'succeeded', result: { so: 'far' } });
  });

  test('that failed with a retryable class is retried', async () => {
    const id = fresh();
    const run = await place.start(id);
    await using worker = place.worker({
      [id]: ({ run: { attempt } }) => {
        if (attempt === 1) throw new RunFailure('transient', 'the bank is closed');
        return attempt;
      },
    });
    void worker.run();
    expect(await ended(run)).toMatchObject({ status: 'succeeded', result: 2, attempt: 2 });
    expect(await place.historyOf(run)).toContain('retry.scheduled');
  });

  test('keeps the class and message of a RunFailure', async () => {
    const id = fresh();
    const run = await place.start(id);
    await using worker = place.worker({
      [id]: () => Promise.reject(new RunFailure('validation', 'no such\norder')),
    });
    void worker.run();
    expect(await ended(run)).toMatchObject({
      status: 'failed',
      failureClass: 'validation',
      error: 'no such\norder',
    });
  });

  test.each([
    ['of Production', false],
    ['of release 0.5.0', undefined],
  ])(
    'on a server %s keeps a generic message for any other error; the log holds the error',
    async (_, shows) => {
      const id = fresh();
      const run = await place.start(id, null, { retryPolicy: { maxAttempts: 1 } });
      await using way = await place.way();
      way.always('leases', leaseWith({ showsHandlerErrors: shows }));
      const secret = new Error('the password is canary');
      await using worker = place.worker({ [id]: () => Promise.reject(secret) }, { way });
      void worker.run();
      expect(await ended(run)).toMatchObject({
        status: 'failed',
        failureClass: 'unknown',
        error: 'External plugin handler failed.',
      });
      expect(JSON.stringify(way.sent)).not.toContain('canary');
      expect(place.log).toContainEqual(
        expect.objectContaining({ runId: run.id, error: secret, level: 'error' }),
      );
    },
  );

  test.each<[string, unknown, string]>([
    ['an error', new Error('no\tconnection\r\nto\u0000 10.0.0.7'), 'no\tconnection\r\nto  10.0.0.7'],
    ['a text', 'no connection', 'no connection'],
    ['an error without a message', new Error(' '), 'External plugin handler failed.'],
    ['an object', { secret: 'canary' }, 'External plugin handler failed.'],
    ['a long message', new Error('x'.repeat(5_000)), 'x'.repeat(4_096)],
  ])('on a Development server shows the message of %s', async (_, thrown, error) => {
    const id = fresh();
    const run = await place.start(id, null, { retryPolicy: { maxAttempts: 1 } });
    await using worker = place.worker({ [id]: () => Promise.reject(thrown) });
    void worker.run();
    expect(await ended(run)).toMatchObject({ status: 'failed', failureClass: 'unknown', error });
  });

  test('that throws a value whose members throw fails at once: any such value', async () => {
    const id = fresh();
    const errors = hostileErrors(RunFailure);
    let calls = 0;
    await using worker = place.worker({
      [id]: ({ payload }) => {
        calls += 1;
        throw errors.get(payload as string);
      },
    });
    void worker.run();
    for (const name of errors.keys()) {
      const run = await ended(await place.start(id, name, { retryPolicy: { maxAttempts: 1 } }));
      expect([name, run.status, run.attempt]).toEqual([name, 'failed', 1]);
      expect(run.failureClass, name).toMatch(/^(unknown|c)$/);
    }
    expect(calls).toBe(errors.size);
  });

  test('whose result JSON would silently change fails for good, and one that JSON keeps is stored', async () => {
    const id = fresh();
    await using worker = place.worker({
      [id]: ({ payload }) => {
        const name = payload as string;
        return { a: [lostValues.has(name) ? lostValues.get(name) : keptValues.get(name)?.[0]] };
      },
    });
    void worker.run();
    const error = 'The result cannot be written as JSON';
    for (const name of lostValues.keys())
      expect(await ended(await place.start(id, name)), name).toMatchObject({
        failureClass: 'validation',
        error,
      });
    for (const [name, [, said]] of keptValues)
      expect((await ended(await place.start(id, name))).result, name).toEqual({ a: [said] });
  });

  test.each<[string, unknown, string]>([
    ['is no JSON', 1n, 'The result cannot be written as JSON'],
    ['the service does not take', 'x'.repeat(300_000), 'The result was refused'],
  ])('whose result %s fails for good', async (_, result, error) => {
    const id = fresh();
    const run = await place.start(id);
    await using worker = place.worker({ [id]: () => result });
    void worker.run();
    expect(await ended(run)).toMatchObject({
      status: 'failed',
      failureClass: 'validation',
      error,
      attempt: 1,
    });
  });

  test('of another plugin is refused', async () => {
    const id = fresh();
    const run = await place.start(id, null, { retryPolicy: { maxAttempts: 1 } });
    let calls = 0;
    await using worker = place.worker({ [id]: () => (calls += 1) }, { pluginId: 'refunds' });
    void worker.run();
    expect(await ended(run)).toMatchObject({ status: 'failed', failureClass: 'plugin_mismatch' });
    expect(calls).toBe(0);
  });
});

describe('a wait', () => {
  const waiting = async ({ waitForExternalEvent }: RunContext) =>
    (await waitForExternalEvent('approval'))?.payload ?? 'none';

  test('ends the execution without completing it, and another worker continues the run', async () => {
    const id = fresh();
    const run = await place.start(id);
    await using way = await place.way();
    await using first = place.worker({ [id]: waiting }, { way });
    expect(await first.deliver({ runId: run.id })).toBe('suspended');
    expect(await statusOf(run)).toBe('waiting');
    await first.stop();
    expect(way.at('leases/complete')).toEqual([]);
    await place.client.raiseExecutionEvent(run.id, { name: 'approval', payload: { by: 'kim' } });
    await using second = place.worker({ [id]: waiting });
    void second.run();
    expect(await ended(run)).toMatchObject({ status: 'succeeded', result: { by: 'kim' }, attempt: 2 });
  });

  test('neither ends nor fails a run whose handler swallows the error', async () => {
    const id = fresh();
    const run = await place.start(id);
    await using way = await place.way();
    const refused = moment<unknown>();
    await using worker = place.worker(
      {
        [id]: async (context) => {
          await context.waitForExternalEvent('never').catch(() => null);
          expect(context.signal.reason).toMatchObject({ kind: 'suspended' });
          refused.come(await context.report({ progress: 1 }).catch((error: unknown) => error));
          return 'swallowed';
        },
      },
      { way },
    );
    void worker.run();
    expect(await refused.came).toMatchObject({ kind: 'suspended' });
    await way.awaited('leases', 2);
    expect(way.sent.map(({ path }) => path)).toEqual(['leases', 'leases/wait', 'leases']);
    expect(await statusOf(run)).toBe('waiting');
  });

  test('for an event ends with its timeout', async () => {
    const id = fresh();
    const run = await place.start(id);
    await using worker = place.worker({
      [id]: ({ waitForExternalEvent }) => waitForExternalEvent('never', { timeoutSeconds: 0.05 }),
    });
    void worker.run();
    expect(await ended(run)).toMatchObject({ status: 'succeeded', result: null });
  });

  test('for a timer returns its name and payload', async () => {
    const id = fresh();
    const run = await place.start(id);
    await using worker = place.worker({
      [id]: async ({ waitForTimer }) => [
        (await waitForTimer('soon', { seconds: 1.5, payload: { n: 1 } })).payload,
        (await waitForTimer('past', { fireAt: new Date(0) })).name,
      ],
    });
    void worker.run();
    expect(await ended(run)).toMatchObject({ result: [{ n: 1 }, 'past'], attempt: 2 });
  });

  test('refuses an invalid time', async () => {
    const id = fresh();
    const run = await place.start(id);
    await using worker = place.worker({
      [id]: async ({ waitForTimer, waitForExternalEvent }) => [
        await waitForTimer('t', { seconds: -1 }).catch(String),
        await waitForExternalEvent('e', { timeoutSeconds: Number.NaN }).catch(String),
      ],
    });
    void worker.run();
    const { result } = await ended(run);
    expect(JSON.stringify(result)).toContain('seconds must be a number of seconds from 0');
    expect(JSON.stringify(result)).toContain('timeoutSeconds must be a number');
  });

  test('whose answer was lost is answered to the next lease', async () => {
    const id = fresh();
    const run = await place.start(id);
    await place.client.raiseExecutionEvent(run.id, { name: 'approval', payload: 'yes' });
    await using way = await place.way();
    way.always('leases/wait', answerLost);
    way.always('leases/heartbeat', lostOnTheWay);
    const abortReason = moment<unknown>();
    const given = place.worker(
      {
        [id]: async (context) => {
          const error = await context.waitForExternalEvent('approval').catch((reason: unknown) => reason);
          abortReason.come(error);
          return error;
        },
      },
      // Long enough that its handler begins before it is over.
      { way, leaseSeconds: 3 },
    );
    const delivered = given.deliver({ runId: run.id });
    await expect(delivered).rejects.toThrow('not completed');
    expect(await abortReason.came).toMatchObject({ kind: 'lease_lost' });
    expect(way.at('leases/complete')).toEqual([]);
    await using second = place.worker({ [id]: waiting });
    void second.run();
    expect(await ended(run)).toMatchObject({ status: 'succeeded', result: 'yes' });
  });
});

test('as many runs are under way as the concurrency allows, and no more', async () => {
  const id = fresh();
  const runs = await Promise.all(Array.from({ length: 7 }, (_, n) => place.start(id, n)));
  const full = moment();
  let underWay = 0;
  let most = 0;
  await using worker = place.worker(
    {
      [id]: async () => {
        underWay += 1;
        most = Math.max(most, underWay);
        if (underWay === 3) full.come();
        await full.came;
        await Promise.all(Array.from({ length: 20 }, () => place.client.health()));
        underWay -= 1;
      },
    },
    { concurrency: 3 },
  );
  void worker.run();
  for (const run of runs) expect((await ended(run)).status).toBe('succeeded');
  expect(most).toBe(3);
});

test('a token is in no log and in no address', async () => {
  const id = fresh();
  await place.start(id);
  await using way = await place.way();
  way.meets('leases/complete', lostOnTheWay, answers(403, 'permission_denied'));
  await using worker = place.worker({ [id]: () => 1 }, { way });
  void worker.run();
  await way.awaited('leases', 2);
  const { leaseToken } = way.leases[0] ?? expect.fail('nothing was leased');
  expect(leaseToken).toHaveLength(64);
  expect(place.log.length).toBeGreaterThan(1);
  expect(place.logText()).not.toContain(leaseToken);
  expect(way.sent.map(({ url }) => url).join()).not.toContain(leaseToken);
});
