import { expect, test } from 'vitest';
import { begun, HANDLER, leased, proofOf, refusedWith, Stage, typesOf } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';
import { persist } from './store-fixtures.ts';

/** Completions and cancellations, alone and against each other. */
export function describeEnds(conformance: ExecutionConformance): void {
  describeReplays(conformance);
  describeCancels(conformance);
}

function describeReplays({ store, rivals }: ExecutionConformance): void {
  test('a repeated completion changes nothing, also with another result', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client);
    const ended = await client.complete({ ...proof, result: { result: { n: 1 }, statusDetails: { a: 1 } } });
    expect(ended).toMatchObject({
      status: 'succeeded',
      result: { n: 1 },
      statusDetails: { a: 1 },
      progress: 1,
    });
    const types = await typesOf(client, id);
    stage.time.advance(100_000);
    const other = { status: 'failed', result: 'x'.repeat(50_000), error: 'no' } as const;
    for (const result of [{}, { result: { n: 1 } }, other]) {
      expect(await client.complete({ ...proof, result })).toEqual(ended);
    }
    expect(await typesOf(client, id)).toEqual(types);
    expect(await client.get(id)).toEqual(ended);
  });

  test('a completion that led to a retry may be repeated until the run is leased again', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client, { retryPolicy: { maxAttempts: 3, initialDelaySeconds: 5 } });
    const waiting = await client.complete({ ...proof, result: { status: 'failed' } });
    expect(waiting.status).toBe('waiting');
    expect(await client.complete({ ...proof, result: { status: 'succeeded' } })).toEqual(waiting);
    stage.time.advance(5_000);
    await stage.settle(client.instance);
    expect(await client.complete({ ...proof, result: {} })).toMatchObject({ status: 'queued', attempt: 1 });
    const again = await leased(client, { runId: id });
    expect(await refusedWith(client.complete({ ...proof, result: {} }))).toBe('lease_stale');
    await client.complete({ ...proofOf(again), result: {} });
    expect(await refusedWith(client.complete({ ...proof, result: {} }))).toBe('lease_stale');
  });

  test('of many completions at once one counts', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client, { retryPolicy: { maxAttempts: 3, initialDelaySeconds: 5 } });
    const answers = await Promise.all(
      Array.from({ length: Math.min(rivals, 20) }, (_, index) =>
        persist(() => client.complete({ ...proof, result: { status: 'failed', error: `${index}` } })),
      ),
    );
    expect(new Set(answers.map((run) => JSON.stringify(run))).size).toBe(1);
    expect((await typesOf(client, id)).filter((type) => type === 'retry.scheduled')).toHaveLength(1);
  });
}

function describeCancels({ store, rivals }: ExecutionConformance): void {
  test('a queued and a scheduled run are cancelled at once, and stay so', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const scheduledAtUtc = new Date(stage.time.now + 5_000).toISOString();
    for (const body of [{}, { scheduledAtUtc }]) {
      const { id } = await client.start({ handlerId: HANDLER, ...body });
      const cancelled = await client.cancel(id);
      expect(cancelled).toMatchObject({
        status: 'cancelled',
        cancellationRequested: true,
        failureClass: 'cancelled',
        attempt: 0,
      });
      expect(cancelled.completedAtUtc).not.toBeNull();
      const types = await typesOf(client, id);
      expect(types.slice(-2)).toEqual(['run.cancellation_requested', 'run.completed']);
      stage.time.advance(6_000);
      await stage.settle(client.instance);
      expect(await client.cancel(id)).toEqual(cancelled);
      expect(await typesOf(client, id)).toEqual(types);
      expect(await client.lease({ workerId: 'w', handlerIds: [HANDLER], runId: id })).toBeNull();
    }
    expect(await client.lease({ workerId: 'w', handlerIds: [HANDLER] })).toBeNull();
    expect(await refusedWith(client.cancel('nothing'))).toBe('not_found');
  });

  test('a run that waits for its retry is cancelled at once', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client, { retryPolicy: { maxAttempts: 2 } });
    await client.complete({ ...proof, result: { status: 'failed', error: 'no' } });
    expect(await client.cancel(id)).toMatchObject({ status: 'cancelled', failureClass: 'cancelled' });
    stage.time.advance(100_000);
    await stage.settle(client.instance);
    expect(await client.get(id)).toMatchObject({ status: 'cancelled' });
  });

  test('a terminal run stays as it ended', async () => {
    const client = new Stage(store()).client();
    for (const status of ['succeeded', 'failed', 'cancelled', 'rejected', 'timed_out'] as const) {
      const { id, proof } = await begun(client);
      const ended = await client.complete({ ...proof, result: { status } });
      expect(ended.status).toBe(status);
      expect(await client.cancel(id)).toEqual(ended);
    }
  });

  test('a running run is cancelled by its holder, which learns of the request and completes it', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const expected = {
      succeeded: 'cancelled',
      failed: 'cancelled',
      rejected: 'cancelled',
      cancelled: 'cancelled',
      timed_out: 'timed_out',
    } as const;
    for (const [status, becomes] of Object.entries(expected)) {
      const { id, proof } = await begun(client, { retryPolicy: { maxAttempts: 5 } });
      expect(await client.cancel(id)).toMatchObject({ status: 'running', cancellationRequested: true });
      await client.cancel(id);
      const asked = (await typesOf(client, id)).filter((type) => type === 'run.cancellation_requested');
      expect(asked).toHaveLength(1);
      expect((await client.heartbeat(proof)).run.cancellationRequested).toBe(true);
      const result = { status: status as keyof typeof expected, result: { kept: true } };
      const ended = await client.complete({ ...proof, result });
      expect([status, ended.status]).toEqual([status, becomes]);
      expect(ended).toMatchObject({ result: { kept: true }, cancellationRequested: true });
      if (becomes === 'cancelled') expect(ended.failureClass).toBe('cancelled');
    }
  });

  test('cancellation and completion at once end in one of their two orders', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const rival = stage.client();
    for (let turn = 0; turn < Math.min(rivals, 20); turn += 1) {
      const { id, proof } = await begun(client);
      const [ended, asked] = await Promise.all([
        persist(() => client.complete({ ...proof, result: { result: 1 } })),
        persist(() => rival.cancel(id)),
      ]);
      const run = await client.get(id);
      expect(ended).toEqual(run);
      if (run.status === 'succeeded') expect(asked).toEqual(run);
      else expect(asked).toMatchObject({ status: 'running', cancellationRequested: true });
      expect(run.status).toBe(run.cancellationRequested ? 'cancelled' : 'succeeded');
      const ends = (await typesOf(client, id)).filter((type) => /^run\.(completed|failed)$/.test(type));
      expect(ends).toHaveLength(1);
    }
  });

  test('where the lease runs out after the request, the run is cancelled and not recovered', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const found = await begun(client, {}, { ttlSeconds: 3 });
    const asked = await begun(client, {}, { ttlSeconds: 3 });
    const again = await begun(client, {}, { ttlSeconds: 3 });
    for (const { id } of [found, asked, again]) await client.cancel(id);
    stage.time.advance(3_000);
    // Found by a claim, by a second request to cancel, and by a search for due runs.
    expect(await client.lease({ workerId: 'w', handlerIds: [HANDLER], runId: found.id })).toBeNull();
    expect(await client.cancel(again.id)).toMatchObject({ status: 'cancelled' });
    await stage.settle(client.instance);
    for (const { id, proof } of [found, asked, again]) {
      expect(await client.get(id)).toMatchObject({
        status: 'cancelled',
        attempt: 1,
        failureClass: 'cancelled',
      });
      expect((await typesOf(client, id)).slice(-2)).toEqual(['lease.expired', 'run.completed']);
      expect(await refusedWith(client.complete({ ...proof, result: {} }))).toBe('lease_not_active');
    }
  });

  test('a cancellation after the expiry ends the run at once', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id } = await begun(client, {}, { ttlSeconds: 3 });
    stage.time.advance(3_000);
    expect(await client.cancel(id)).toMatchObject({ status: 'cancelled', attempt: 1 });
  });
}
