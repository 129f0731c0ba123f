import { expect, test } from 'vitest';
import { begun, leased, proofOf, Stage, typesOf } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

/** A worker learns how many retries its run has left, and may end them. */
export function describeFailures({ store }: ExecutionConformance): void {
  test('a run shows its failures, and a lease whether the next one is final', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const retryPolicy = { maxAttempts: 3, initialDelaySeconds: 1, backoffMultiplier: 1 };
    const { id, lease, proof } = await begun(client, { retryPolicy }, { ttlSeconds: 1 });
    expect(lease).toMatchObject({ isLastAttempt: false, run: { failures: 0, attempt: 1 } });
    // Neither a lost lease nor a wait is a failure.
    stage.time.advance(1_000);
    const second = await leased(client, { runId: id });
    expect(second).toMatchObject({ isLastAttempt: false, run: { failures: 0, attempt: 2 } });
    await client.wait({ ...proofOf(second), kind: 'external_event', name: 'e' });
    await client.raise(id, { name: 'e' });
    for (const [failures, isLastAttempt] of [
      [0, false],
      [1, false],
      [2, true],
    ] as const) {
      const next = await leased(client, { runId: id });
      expect(next).toMatchObject({ isLastAttempt, run: { failures } });
      expect(await client.heartbeat(proofOf(next))).toMatchObject({ isLastAttempt });
      const status = failures === 1 ? 'timed_out' : 'failed';
      const run = await client.complete({ ...proofOf(next), result: { status } });
      expect(run).toMatchObject({ failures: failures + 1, status: isLastAttempt ? 'failed' : 'waiting' });
      stage.time.advance(1_000);
    }
    expect(await client.get(id)).toMatchObject({ failures: 3, maxAttempts: 3, attempt: 5 });
    expect((await begun(client)).lease).toMatchObject({ isLastAttempt: true });
    expect(proof.workerId).toBe(lease.workerId);
  });

  test('a completion that is not retryable ends the run, for every class', async () => {
    const client = new Stage(store()).client();
    for (const status of ['failed', 'timed_out'] as const) {
      for (const failureClass of ['transient', 'mine', null]) {
        const { id, proof } = await begun(client, { retryPolicy: { maxAttempts: 9 } });
        const result = { status, failureClass, error: 'stopped', retryable: false };
        const ended = await client.complete({ ...proof, result });
        expect(ended).toMatchObject({ status, failureClass, error: 'stopped', failures: 1 });
        expect(ended.completedAtUtc).not.toBeNull();
        expect(await typesOf(client, id)).not.toContain('retry.scheduled');
        // A repeat is answered with the ended run.
        expect(await client.complete({ ...proof, result: { status } })).toEqual(ended);
      }
    }
  });

  test('without that, and with true or null, the class decides as before', async () => {
    const client = new Stage(store()).client();
    for (const retryable of [undefined, null, true]) {
      const outcomes: string[] = [];
      for (const failureClass of ['validation', 'cancelled', 'transient', null]) {
        const { proof } = await begun(client, { retryPolicy: { maxAttempts: 2 } });
        const result = {
          status: 'failed' as const,
          failureClass,
          ...(retryable === undefined ? {} : { retryable }),
        };
        outcomes.push((await client.complete({ ...proof, result })).status);
      }
      expect(outcomes, String(retryable)).toEqual(['failed', 'failed', 'waiting', 'waiting']);
    }
  });

  test('it changes no other end: a success, a cancellation and the last attempt stay what they are', async () => {
    const client = new Stage(store()).client();
    const done = await begun(client);
    expect(await client.complete({ ...done.proof, result: { retryable: false, result: 1 } })).toMatchObject({
      status: 'succeeded',
      failures: 0,
    });
    const asked = await begun(client, { retryPolicy: { maxAttempts: 2 } });
    await client.cancel(asked.id);
    const failed = { status: 'failed', retryable: false } as const;
    expect(await client.complete({ ...asked.proof, result: failed })).toMatchObject({ status: 'cancelled' });
    const once = await begun(client);
    expect(await client.complete({ ...once.proof, result: { ...failed, retryable: true } })).toMatchObject({
      status: 'failed',
    });
  });
}
