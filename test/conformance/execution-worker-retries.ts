import { expect, test } from 'vitest';
import { begun, HANDLER, leased, proofOf, refusedWith, Stage, typesOf } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

/** Retries, lost leases, and what each costs. */
export function describeRetries({ store }: ExecutionConformance): void {
  test('each retry waits by its policy, to the millisecond, up to the longest delay', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const retryPolicy = {
      maxAttempts: 5,
      initialDelaySeconds: 0.25,
      maxDelaySeconds: 1.5,
      backoffMultiplier: 2.5,
    };
    const { id } = await client.start({ handlerId: HANDLER, retryPolicy });
    const delays = [250, 625, 1_500, 1_500];
    for (const [index, delay] of delays.entries()) {
      const lease = await leased(client, { runId: id });
      expect(lease.run.attempt).toBe(index + 1);
      stage.time.advance(7);
      const result = { status: 'failed', failureClass: 'transient', error: `no ${index}` } as const;
      const waiting = await client.complete({ ...proofOf(lease), result });
      expect(waiting).toMatchObject({
        status: 'waiting',
        attempt: index + 1,
        failureClass: 'transient',
        error: `no ${index}`,
        completedAtUtc: null,
        scheduledAtUtc: new Date(stage.time.now + delay).toISOString(),
      });
      stage.time.advance(delay - 1);
      expect(await client.lease({ workerId: 'w', handlerIds: [HANDLER], runId: id })).toBeNull();
      stage.time.advance(1);
    }
    const last = await leased(client, { runId: id });
    expect(await client.complete({ ...proofOf(last), result: { status: 'timed_out' } })).toMatchObject({
      status: 'timed_out',
      attempt: 5,
      completedAtUtc: new Date(stage.time.now).toISOString(),
    });
    expect((await typesOf(client, id)).filter((type) => type === 'retry.scheduled')).toHaveLength(4);
  });

  test('the failure class decides whether a failure is retried', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const outcomes: Record<string, string> = {};
    for (const failureClass of ['validation', 'cancelled', 'transient', 'timeout', 'unknown', 'mine', null]) {
      for (const status of ['failed', 'timed_out'] as const) {
        const { proof } = await begun(client, { retryPolicy: { maxAttempts: 2 } });
        const run = await client.complete({ ...proof, result: { status, failureClass } });
        outcomes[`${failureClass} ${status}`] = run.status;
      }
    }
    expect(outcomes).toEqual({
      'validation failed': 'failed',
      'validation timed_out': 'timed_out',
      'cancelled failed': 'failed',
      'cancelled timed_out': 'timed_out',
      'transient failed': 'waiting',
      'transient timed_out': 'waiting',
      'timeout failed': 'waiting',
      'timeout timed_out': 'waiting',
      'unknown failed': 'waiting',
      'unknown timed_out': 'waiting',
      'mine failed': 'waiting',
      'mine timed_out': 'waiting',
      'null failed': 'waiting',
      'null timed_out': 'waiting',
    });
    for (const status of ['rejected', 'cancelled'] as const) {
      const { proof } = await begun(client, { retryPolicy: { maxAttempts: 2 } });
      const result = { status, failureClass: 'transient' };
      expect(await client.complete({ ...proof, result })).toMatchObject({ status });
    }
  });

  test('the budget is the one of the request, else of the handler, else one attempt', async () => {
    const stage = new Stage(store());
    const external = [{ handlerId: HANDLER, maxAttempts: 2 }, { handlerId: 'test.once' }];
    const client = stage.client({ external });
    const fail = { result: { status: 'failed' } } as const;
    const asked = await begun(client, { retryPolicy: { maxAttempts: 1 } });
    expect(await client.complete({ ...asked.proof, ...fail })).toMatchObject({ status: 'failed' });
    const described = await begun(client);
    expect(await client.complete({ ...described.proof, ...fail })).toMatchObject({ status: 'waiting' });
    const once = await begun(client, { handlerId: 'test.once' }, { handlerIds: ['test.once'] });
    expect(await client.complete({ ...once.proof, ...fail })).toMatchObject({ status: 'failed' });
  });

  test('waits and lost leases count as attempts and cost no retry', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const retryPolicy = { maxAttempts: 2, initialDelaySeconds: 1 };
    const { id, proof } = await begun(client, { retryPolicy });
    await client.wait({ ...proof, kind: 'external_event', name: 'e' });
    await client.raise(id, { name: 'e' });
    const second = await leased(client, { runId: id, ttlSeconds: 1 });
    expect(second.run.attempt).toBe(2);
    stage.time.advance(1_000);
    const third = await leased(client, { runId: id });
    expect(third.run.attempt).toBe(3);
    const failing = { result: { status: 'failed' } } as const;
    expect(await client.complete({ ...proofOf(third), ...failing })).toMatchObject({
      status: 'waiting',
      // The first retry, so the first delay.
      scheduledAtUtc: new Date(stage.time.now + 1_000).toISOString(),
    });
    stage.time.advance(1_000);
    const fourth = await leased(client, { runId: id });
    expect(await client.complete({ ...proofOf(fourth), ...failing })).toMatchObject({
      status: 'failed',
      attempt: 4,
      maxAttempts: 2,
    });
  });

  test('lost leases have a ceiling of their own, beyond which the run has failed', async () => {
    const stage = new Stage(store());
    const client = stage.client({ options: { leaseExpirationsMax: 3 } });
    const { id } = await client.start({ handlerId: HANDLER, retryPolicy: { maxAttempts: 50 } });
    let proof = null;
    for (const attempt of [1, 2, 3]) {
      const lease = await leased(client, { runId: id, ttlSeconds: 2 });
      expect(lease.run.attempt).toBe(attempt);
      proof = proofOf(lease);
      stage.time.advance(2_000);
    }
    // The first call finds it so, even where no process handles due runs.
    expect(await client.lease({ workerId: 'w', handlerIds: [HANDLER], runId: id })).toBeNull();
    const ended = await client.get(id);
    expect(ended).toMatchObject({ status: 'failed', failureClass: 'lease_expired', attempt: 3 });
    expect(ended.completedAtUtc).toBe(new Date(stage.time.now).toISOString());
    expect((await typesOf(client, id)).filter((type) => type === 'lease.expired')).toHaveLength(3);
    if (proof !== null) {
      expect(await refusedWith(client.complete({ ...proof, result: {} }))).toBe('lease_not_active');
    }
  });

  test('lost leases that a look finds: queued again, failed at the ceiling, each event once', async () => {
    const stage = new Stage(store());
    const client = stage.client({ options: { leaseExpirationsMax: 2 } });
    const { id } = await begun(client, {}, { ttlSeconds: 2 });
    stage.time.advance(2_000);
    const other = stage.client({ options: { leaseExpirationsMax: 2 } });
    await Promise.all([stage.settle(client.instance), stage.settle(other.instance)]);
    expect(await client.get(id)).toMatchObject({ status: 'queued', attempt: 1 });
    expect((await typesOf(client, id)).slice(-2)).toEqual(['lease.expired', 'run.status']);
    await leased(client, { runId: id, ttlSeconds: 2 });
    stage.time.advance(2_000);
    await Promise.all([stage.settle(client.instance), stage.settle(other.instance)]);
    expect(await client.get(id)).toMatchObject({ status: 'failed', failureClass: 'lease_expired' });
    expect((await typesOf(client, id)).filter((type) => type === 'run.failed')).toHaveLength(1);
  });
}
