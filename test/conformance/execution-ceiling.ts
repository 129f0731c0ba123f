import { describe, expect, it } from 'vitest';
import type { ServiceError } from '../../functions/kernel/errors.ts';
import { refused } from '../support/canonical.ts';
import { ExecutionClient, executionInstance } from '../support/execution.ts';
import { HANDLER, leased, OTHER, ownRuns, PLUGIN, scopeOf, someKey } from './execution-fixtures.ts';
import { admissionIn } from './execution-runs.ts';
import type { ExecutionConformance } from './execution-suite.ts';

export function describeCeiling({ store, rivals }: ExecutionConformance): void {
  describe.each([1, 8])('the ceiling of active runs, counted by %i', (counterShards) => {
    const bounded = (activeRunsMax: number) =>
      ownRuns(store(), { options: { activeRunsMax, counterShards, leaseExpirationsMax: 1 } });

    it('is exact, however many start at once', async () => {
      const { client, instance, scope } = bounded(10);
      const other = new ExecutionClient(
        executionInstance(store(), {
          scope,
          node: 2,
          world: instance.runtime.world,
          external: [{ handlerId: HANDLER, pluginId: PLUGIN }],
          options: { activeRunsMax: 10, counterShards },
        }),
      );
      const keys = Array.from({ length: Math.max(50, Math.min(rivals, 60)) }, someKey);
      const answers = await Promise.allSettled(
        keys.map((idempotencyKey, n) =>
          (n % 2 === 0 ? client : other).start({
            handlerId: HANDLER,
            scope: scopeOf('p'),
            idempotencyKey,
            payload: { n },
          }),
        ),
      );
      const full = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
      expect(full.map(({ code }: ServiceError) => code)).toEqual(
        Array.from({ length: keys.length - 10 }, () => 'queue_full'),
      );
      const setting = 'ExecutionRuntime:MaxActiveRuns';
      expect(full[0]).toMatchObject({
        message: `10 of 10 runs of the deployment are queued, running or waiting (${setting})`,
        extensions: { limit: 10, used: 10, setting },
      });
      const runs = await client.list({ limit: 200 });
      expect(runs).toHaveLength(10);
      await expectNothingOf(client, full[0] as ServiceError);
      // A refused caller may try again with the same key, also with another request.
      for (const run of runs) await client.cancel(run.id);
      const left = keys[answers.findIndex(({ status }) => status === 'rejected')] ?? '';
      const again = { handlerId: HANDLER, scope: scopeOf('p'), idempotencyKey: left, payload: 'another' };
      expect((await client.start(again)).admission.replayed).toBe(false);
    });

    it('does not block a replay, or a run that is rejected', async () => {
      const { client } = bounded(1);
      const idempotencyKey = someKey();
      const run = await client.start({ handlerId: HANDLER, idempotencyKey });
      await refused('queue_full', client.start({ handlerId: HANDLER }));
      expect((await client.start({ handlerId: HANDLER, idempotencyKey })).id).toBe(run.id);
      await refused('handler_missing', client.start({ handlerId: 'unregistered' }));
      await refused('queue_full', client.start({ handlerId: HANDLER }));
    });

    it.each<[string, (world: ReturnType<typeof bounded>, runId: string) => Promise<unknown>]>([
      ['cancelled while queued', ({ client }, runId) => client.cancel(runId)],
      ...(['succeeded', 'failed', 'timed_out', 'rejected', 'cancelled'] as const).map(
        (status): [string, (world: ReturnType<typeof bounded>, runId: string) => Promise<unknown>] => [
          status,
          async ({ client }, runId) =>
            client.complete({ ...(await leased(client, runId)), result: { status } }),
        ],
      ),
      [
        'cancelled while it waits for an event',
        async ({ client }, runId) => {
          await client.wait({ ...(await leased(client, runId)), kind: 'external_event', name: 'e' });
          await client.cancel(runId);
        },
      ],
      [
        'cancelled when it would have been parked',
        async ({ client }, runId) => {
          const work = await leased(client, runId);
          await client.cancel(runId);
          await client.wait({ ...work, kind: 'external_event', name: 'e' });
        },
      ],
      [
        'failed with its last lease',
        async ({ client, pass }, runId) => {
          await leased(client, runId, 1);
          await pass(1_000);
        },
      ],
      [
        'failed with its last lease, found by a read of it',
        async ({ client, clock }, runId) => {
          await leased(client, runId, 1);
          clock.now += 1_000;
          await client.lease({ workerId: 'w', handlerIds: [HANDLER], runId });
        },
      ],
      [
        'failed with its last lease, found by a raised event',
        async ({ client, clock }, runId) => {
          await leased(client, runId, 1);
          clock.now += 1_000;
          await client.raise(runId, { name: 'e' });
        },
      ],
      [
        'cancelled with its last lease',
        async ({ client, pass }, runId) => {
          await leased(client, runId, 1);
          await client.cancel(runId);
          await pass(1_000);
        },
      ],
    ])('is given back once by a run that is %s', async (_, end) => {
      const world = bounded(2);
      const { client } = world;
      const stays = await client.start({ handlerId: OTHER });
      const run = await client.start({ handlerId: HANDLER });
      await refused('queue_full', client.start({ handlerId: HANDLER }));
      await end(world, run.id);
      expect((await client.get(run.id)).completedAtUtc).not.toBeNull();
      await client.cancel(run.id);
      await client.raise(run.id, { name: 'late' });
      await client.start({ handlerId: HANDLER });
      await refused('queue_full', client.start({ handlerId: HANDLER }));
      expect((await client.get(stays.id)).status).toBe('queued');
    });

    it('is freed once by a run that many end at once', async () => {
      const { client, scope } = bounded(2);
      const options = { activeRunsMax: 2, counterShards, leaseExpirationsMax: 1 };
      const other = new ExecutionClient(ownRuns(store(), { scope, node: 2, options }).instance);
      const stays = await client.start({ handlerId: OTHER });
      for (const taken of [false, true]) {
        const run = await client.start({ handlerId: HANDLER });
        const work = taken ? await leased(client, run.id) : null;
        await Promise.all(
          Array.from({ length: 12 }, (_, n) => {
            const by = n % 2 === 0 ? client : other;
            return work === null || n === 3 ? by.cancel(run.id) : by.complete({ ...work, result: {} });
          }),
        );
        const ends = (await client.history(run.id)).filter(({ type }) => type === 'run.completed');
        expect(ends).toHaveLength(1);
      }
      const last = await client.start({ handlerId: HANDLER });
      await refused('queue_full', other.start({ handlerId: HANDLER }));
      expect((await client.list({ status: 'queued' })).map(({ id }) => id)).toEqual([last.id, stays.id]);
    });

    it('is not given back by a run that waits, retries or is taken back', async () => {
      const { client, clock } = ownRuns(store(), { options: { activeRunsMax: 1, counterShards } });
      const run = await client.start({ handlerId: HANDLER, retryPolicy: { maxAttempts: 2 } });
      const full = () => refused('queue_full', client.start({ handlerId: HANDLER }));
      await client.complete({ ...(await leased(client, run.id)), result: { status: 'failed' } });
      await full();
      clock.now += 10_000;
      await client.wait({ ...(await leased(client, run.id)), kind: 'external_event', name: 'e' });
      await full();
      await client.raise(run.id, { name: 'e' });
      await leased(client, run.id, 1);
      clock.now += 1_000;
      await full();
      await leased(client, run.id);
      await full();
    });
  });
}

/** A run that found no room is nowhere. */
async function expectNothingOf(client: ExecutionClient, problem: ServiceError): Promise<void> {
  const { resourceId } = admissionIn(problem);
  expect(problem.extensions).toMatchObject({
    retryAfterSeconds: 1,
    admission: { status: 'rejected', failureClass: 'queue_full' },
  });
  await refused('not_found', client.get(resourceId));
  await refused('not_found', client.history(resourceId));
}
