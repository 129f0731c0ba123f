import { describe, expect, test } from 'vitest';
import { again, child, finish, waitFor } from './execution-children-stage.ts';
import { begun, event, HANDLER, refusedWith, Stage, timer } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

const COOPERATIVE = { cancellation: 'cooperative' as const };
const GRACE_MS = 300_000;

/** Runs whose handlers undo their work after a cancellation. */
export function describeCooperation(conformance: ExecutionConformance): void {
  describe('a cooperative cancellation', () => {
    describeUndo(conformance);
    describeGrace(conformance);
  });
}

function describeUndo({ store }: ExecutionConformance): void {
  test('leases a parked run once more, which ends as cancelled', async () => {
    const client = new Stage(store()).client();
    for (const park of ['event', 'timer', 'run']) {
      const { id, proof } = await begun(client, COOPERATIVE);
      if (park === 'event') await event(client, proof);
      if (park === 'timer') await timer(client, proof, client.instance.runtime.world.clock.now() + 1_000_000);
      if (park === 'run') await waitFor(client, proof, await child(client, proof));
      expect(await client.cancel(id)).toMatchObject({
        status: 'queued',
        cancellationRequested: true,
        currentStep: null,
        scheduledAtUtc: null,
      });
      const lease = await again(client, id);
      expect(await client.get(id)).toMatchObject({ status: 'running', cancellationRequested: true });
      await client.putCheckpoint({ ...lease, checkpoint: { key: 'undo', content: 1 } });
      const ended = await client.complete({ ...lease, result: { status: 'succeeded' } });
      expect(ended).toMatchObject({ status: 'cancelled', failureClass: 'cancelled' });
    }
  });

  test('of a run that waits for its retry leases it at once', async () => {
    const client = new Stage(store()).client();
    const retryPolicy = { maxAttempts: 3, initialDelaySeconds: 1_000 };
    const { id, proof } = await begun(client, { ...COOPERATIVE, retryPolicy });
    await client.complete({ ...proof, result: { status: 'failed', failureClass: 'transient' } });
    expect(await client.cancel(id)).toMatchObject({ status: 'queued' });
    const lease = await again(client, id);
    const ended = await client.complete({
      ...lease,
      result: { status: 'failed', failureClass: 'transient' },
    });
    expect(ended).toMatchObject({ status: 'cancelled' });
  });

  test('of a run that no worker has leased ends it at once, as does any other cancellation', async () => {
    const client = new Stage(store()).client();
    const { id } = await client.start({ handlerId: HANDLER, ...COOPERATIVE });
    expect(await client.cancel(id)).toMatchObject({ status: 'cancelled' });
    for (const cancellation of [null, 'immediate' as const]) {
      const parked = await begun(client, { cancellation });
      await event(client, parked.proof);
      expect(await client.cancel(parked.id)).toMatchObject({ status: 'cancelled' });
    }
  });

  test('wakes a parent only at the end of the child', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    const runId = await child(client, proof, 'c', COOPERATIVE);
    await event(client, await again(client, runId));
    await waitFor(client, proof, runId);
    await client.cancel(runId);
    expect(await client.get(id)).toMatchObject({ status: 'waiting' });
    await finish(client, runId);
    expect((await waitFor(client, await again(client, id), runId)).outcome?.run).toMatchObject({
      status: 'cancelled',
    });
  });

  test('cannot park the run again', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client, COOPERATIVE);
    await event(client, proof);
    await client.cancel(id);
    const lease = await again(client, id);
    expect((await event(client, lease)).run).toMatchObject({ status: 'cancelled' });
  });
}

function describeGrace({ store }: ExecutionConformance): void {
  test('ends the run after its grace, if no worker comes', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client, COOPERATIVE);
    await event(client, proof);
    await client.cancel(id);
    stage.time.advance(GRACE_MS - 1);
    await stage.settle(client.instance);
    expect(await client.get(id)).toMatchObject({ status: 'queued' });
    stage.time.advance(1);
    await stage.settle(client.instance);
    expect(await client.get(id)).toMatchObject({ status: 'cancelled' });
  });

  test('bounds the leases within it, and another worker follows one that is lost', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client, { ...COOPERATIVE, cancelGraceSeconds: 10 });
    await event(client, proof);
    await client.cancel(id);
    const endsAt = stage.time.now + 10_000;
    const lost = await client.lease({ workerId: 'w', handlerIds: [HANDLER], runId: id, ttlSeconds: 4 });
    expect(lost).not.toBeNull();
    stage.time.advance(4_000);
    await stage.settle(client.instance);
    expect(await client.get(id)).toMatchObject({ status: 'queued', cancellationRequested: true });
    const lease = await client.lease({ workerId: 'w', handlerIds: [HANDLER], runId: id, ttlSeconds: 600 });
    expect(lease?.expiresAtUtc).toBe(new Date(endsAt).toISOString());
    const { leaseKey, leaseToken } = lease ?? { leaseKey: '', leaseToken: '' };
    const held = { leaseKey, leaseToken, workerId: 'w' };
    expect((await client.heartbeat({ ...held, ttlSeconds: 600 })).expiresAtUtc).toBe(lease?.expiresAtUtc);
    stage.time.advance(6_000);
    await stage.settle(client.instance);
    expect(await client.get(id)).toMatchObject({ status: 'cancelled' });
    expect(await refusedWith(client.complete({ ...held, result: {} }))).toBe('lease_not_active');
  });

  test('needs the cooperative cancellation', async () => {
    const client = new Stage(store()).client();
    const start = client.start({ handlerId: HANDLER, cancelGraceSeconds: 10 });
    expect(await refusedWith(start)).toBe('validation_failed');
  });
}
