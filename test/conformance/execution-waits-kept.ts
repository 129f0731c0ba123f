import { expect, test } from 'vitest';
import { findRun } from '../../functions/runs/read-runs.ts';
import { VALUES } from '../../functions/runs/records.ts';
import {
  begun,
  event,
  HANDLER,
  leased,
  proofOf,
  refusedWith,
  Stage,
  timer,
  typesOf,
} from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';
import { scanAll } from './store-fixtures.ts';

/** The server keeps wait outcomes and external events until a handler takes them. */
export function describeKept(conformance: ExecutionConformance): void {
  describeOutcomes(conformance);
  describeInbox(conformance);
}

function describeOutcomes({ store }: ExecutionConformance): void {
  test('an outcome is kept until the same kind and name is asked for, also when the lease is lost', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client);
    await timer(client, proof, stage.time.now + 10, 'same');
    stage.time.advance(10);
    await leased(client, { runId: id, ttlSeconds: 1 });
    stage.time.advance(1_000);
    const second = proofOf(await leased(client, { runId: id }));
    // The event of that name is another wait: it parks, with the timer's outcome still there.
    expect(await event(client, second, 'same')).toMatchObject({ suspended: true });
    await client.raise(id, { name: 'same', payload: 'x' });
    const third = proofOf(await leased(client, { runId: id, ttlSeconds: 1 }));
    stage.time.advance(1_000);
    const fourth = proofOf(await leased(client, { runId: id }));
    expect(await refusedWith(timer(client, third, stage.time.now))).toBe('lease_stale');
    expect((await timer(client, fourth, stage.time.now + 5_000, 'same')).outcome).toMatchObject({
      outcome: 'timer',
    });
    expect((await event(client, fourth, 'same')).outcome).toMatchObject({ event: { payload: 'x' } });
    expect(await timer(client, fourth, stage.time.now + 5_000, 'same')).toMatchObject({ suspended: true });
  });

  test('an outcome outlives a retry, and is removed with the end of the run', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client, { retryPolicy: { maxAttempts: 2, initialDelaySeconds: 1 } });
    await event(client, proof);
    await client.raise(id, { name: 'e' });
    const second = proofOf(await leased(client, { runId: id }));
    await client.complete({ ...second, result: { status: 'failed' } });
    stage.time.advance(1_000);
    const third = proofOf(await leased(client, { runId: id }));
    expect(await event(client, third)).toMatchObject({ suspended: false });
  });

  test('a run that is parked without a deadline is not to be had', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client);
    await event(client, proof);
    stage.time.advance(365 * 86_400_000);
    await stage.settle(client.instance);
    for (const runId of [id, null]) {
      expect(await client.lease({ workerId: 'w', handlerIds: [HANDLER], runId })).toBeNull();
    }
    expect(await client.get(id)).toMatchObject({ status: 'waiting', attempt: 1 });
  });

  test('a cancellation removes the wait, and the timer that was set fires without effect', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client);
    await timer(client, proof, stage.time.now + 10);
    const cancelled = await client.cancel(id);
    expect(cancelled).toMatchObject({ status: 'cancelled', currentStep: null });
    stage.time.advance(10);
    await stage.settle(client.instance);
    expect(await client.lease({ workerId: 'w', handlerIds: [HANDLER], runId: id })).toBeNull();
    expect(await client.get(id)).toEqual(cancelled);
    expect(await typesOf(client, id)).not.toContain('wait.resumed');
  });
}

function describeInbox({ store }: ExecutionConformance): void {
  test('events to a run that has ended are kept, and change nothing of it', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    const ended = await client.complete({ ...proof, result: {} });
    const raised = await client.raise(id, { name: 'late', payload: 1 });
    expect(raised).toMatchObject({ name: 'late', runId: id });
    const { updatedAtUtc: _later, ...run } = await client.get(id);
    expect(ended).toMatchObject(run);
    expect(await typesOf(client, id)).toContain('external_event.raised');
    const kept = await findRun(client.instance.runtime, id);
    expect(kept?.inbox).toMatchObject([{ id: raised.id, name: 'late', payload: { json: 1 } }]);
    expect(await refusedWith(client.raise('nothing', { name: 'e' }))).toBe('not_found');
  });

  test('a run holds at most 256 unconsumed events', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    for (let index = 0; index < 256; index += 1) await client.raise(id, { name: 'e', payload: index });
    expect(await refusedWith(client.raise(id, { name: 'e' }))).toBe('inbox_full');
    expect(await refusedWith(client.raise(id, { name: 'x', payload: 'x'.repeat(5_000) }))).toBe('inbox_full');
    expect((await event(client, proof)).outcome).toMatchObject({ event: { payload: 0 } });
    await client.raise(id, { name: 'e', payload: 256 });
    expect(await refusedWith(client.raise(id, { name: 'e' }))).toBe('inbox_full');
    // An event that a wait is waiting for does not count against the inbox limit.
    expect(await event(client, proof, 'y')).toMatchObject({ suspended: true });
    await client.raise(id, { name: 'y', payload: 'mine' });
    const again = proofOf(await leased(client, { runId: id }));
    expect((await event(client, again, 'y')).outcome).toMatchObject({ event: { payload: 'mine' } });
  });

  test('large events are kept beside their run, and are read back whole', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client);
    const payloads = ['a', 'b', 'c'].map((letter) => letter.repeat(200_000));
    for (const payload of payloads) {
      expect((await client.raise(id, { name: 'e', payload })).payload).toBe(payload);
    }
    const values = await scanAll(stage.store, stage.scope, [VALUES.name]);
    expect(values).toHaveLength(3);
    for (const payload of payloads) {
      expect((await event(client, proof)).outcome?.event?.payload).toBe(payload);
    }
    expect(await event(client, proof)).toMatchObject({ suspended: true });
    await client.raise(id, { name: 'e', payload: payloads[0] ?? null });
    const again = proofOf(await leased(client, { runId: id }));
    expect((await event(client, again)).outcome?.event?.payload).toBe(payloads[0]);
    const over = 'x'.repeat(262_143);
    expect(await refusedWith(client.raise(id, { name: 'e', payload: over }))).toBe('limit_exceeded');
  });
}
