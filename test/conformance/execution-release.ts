import { describe, expect, test } from 'vitest';
import { pluginOf } from './execution-plugins.ts';
import { begun, event, HANDLER, leased, proofOf, refusedWith, Stage, typesOf } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

/** Runs that their workers release, and runs that make progress between two lost leases. */
export function describeRelease(conformance: ExecutionConformance): void {
  describe('a lease that is given back', () => {
    describeOperation(conformance);
    // A queue with deliveries has no such process: a suite must not be empty.
    describeStop(conformance);
  });
  describe('leases that expire', () => {
    describeCount(conformance);
  });
}

function describeOperation({ store }: ExecutionConformance): void {
  test('queues its run at once, uncounted, however often', async () => {
    const client = new Stage(store()).client();
    const { id, ...first } = await begun(client, {}, { ttlSeconds: 600 });
    let { proof } = first;
    for (let attempt = 1; attempt <= 7; attempt += 1) {
      const released = await client.release(proof);
      expect(released).toMatchObject({ id, status: 'queued', attempt, failureClass: null });
      // The answer was lost, and the worker asks again.
      expect(await client.release(proof)).toMatchObject({ status: 'queued', attempt });
      expect(await refusedWith(client.report({ ...proof, update: { progress: 1 } }))).toBe(
        'lease_not_active',
      );
      expect(await refusedWith(client.complete({ ...proof, result: {} }))).toBe('lease_not_active');
      proof = proofOf(await leased(client, { runId: id, ttlSeconds: 600 }));
    }
    await client.complete({ ...proof, result: { status: 'succeeded' } });
    expect(await client.get(id)).toMatchObject({ status: 'succeeded', attempt: 8 });
    expect((await typesOf(client, id)).filter((type) => type === 'lease.returned')).toHaveLength(7);
  });

  test('is that of its holder alone', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client, {}, { ttlSeconds: 1 });
    expect(await refusedWith(client.release({ ...proof, leaseToken: 'x' }))).toBe('lease_stale');
    expect(await refusedWith(client.release({ ...proof, workerId: 'other' }))).toBe('lease_stale');
    stage.time.advance(1_000);
    expect(await refusedWith(client.release(proof))).toBe('lease_not_active');
    const next = proofOf(await leased(client, { runId: id }));
    expect(await refusedWith(client.release(proof))).toBe('lease_stale');
    await client.complete({ ...next, result: { status: 'succeeded' } });
    expect(await refusedWith(client.release(next))).toBe('lease_not_active');
  });

  test('of a run that is to be cancelled cancels it', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    await client.cancel(id);
    expect(await client.release(proof)).toMatchObject({ id, status: 'cancelled' });
  });

  test('gives the outcome of a wait back, where no checkpoint records it', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    await client.raise(id, { name: 'e', payload: 'x' });
    const taken = await event(client, proof);
    await client.release(proof);
    const next = proofOf(await leased(client, { runId: id }));
    expect((await event(client, next)).outcome).toEqual(taken.outcome);
    await client.putCheckpoint({ ...next, checkpoint: { key: 'c', content: 1 } });
    await client.release(next);
    const last = proofOf(await leased(client, { runId: id }));
    expect(await event(client, last)).toMatchObject({ suspended: true });
  });
}

function describeCount({ store }: ExecutionConformance): void {
  const MAX = 5;

  /** Leases the run and lets the lease expire, the given number of times; `work` runs under each lease. */
  async function expired(times: number, work: (stage: Held) => Promise<unknown>) {
    const stage = new Stage(store());
    const client = stage.client({ options: { leaseExpirationsMax: MAX } });
    const { id } = await client.start({ handlerId: HANDLER });
    for (let round = 0; round < times; round += 1) {
      const lease = await client.lease({ workerId: 'w', handlerIds: [HANDLER], ttlSeconds: 1 });
      if (lease === null) break;
      await work({ client, id, proof: proofOf(lease), round });
      stage.time.advance(1_000);
      await stage.settle(client.instance);
    }
    return client.get(id);
  }

  test('fail a run that gets no further', async () => {
    const run = await expired(2 * MAX, async () => undefined);
    expect(run).toMatchObject({ status: 'failed', failureClass: 'lease_expired', attempt: MAX });
  });

  test('do not fail a run that writes a new checkpoint under each', async () => {
    const write = ({ client, proof, round }: Held) =>
      client.putCheckpoint({ ...proof, checkpoint: { key: 'c', content: round } });
    expect(await expired(2 * MAX, write)).toMatchObject({ status: 'queued', attempt: 2 * MAX });
  });

  test('fail a run that writes the same checkpoint under each', async () => {
    const write = ({ client, proof }: Held) =>
      client.putCheckpoint({ ...proof, checkpoint: { key: 'c', content: 'begun' } });
    // The first write is progress: it happens before the first expiry.
    expect(await expired(2 * MAX, write)).toMatchObject({ status: 'failed', attempt: MAX });
  });

  test('do not fail a run that consumes an event under each, and fail one that takes the same again', async () => {
    const take = async ({ client, id, proof, round }: Held) => {
      await client.raise(id, { name: `e${round}` });
      await event(client, proof, `e${round}`);
    };
    expect(await expired(2 * MAX, take)).toMatchObject({ status: 'queued', attempt: 2 * MAX });
    const takeAgain = async ({ client, id, proof, round }: Held) => {
      if (round === 0) await client.raise(id, { name: 'e' });
      await event(client, proof);
    };
    expect(await expired(2 * MAX, takeAgain)).toMatchObject({ status: 'failed', attempt: MAX });
  });
}

interface Held {
  readonly client: ReturnType<Stage['client']>;
  readonly id: string;
  readonly proof: ReturnType<typeof proofOf>;
  readonly round: number;
}

function describeStop({ store, alone }: ExecutionConformance): void {
  alone('give their runs back: seven deploys do not fail a run', async () => {
    const stage = new Stage(store());
    let begins = 0;
    const plugins = [
      pluginOf({
        'p.long': ({ signal }) => {
          begins += 1;
          return new Promise<never>((_, refuse) => {
            signal.addEventListener('abort', () => refuse(signal.reason));
          });
        },
      }),
    ];
    let runId = '';
    for (let deploy = 1; deploy <= 7; deploy += 1) {
      const client = stage.client({ plugins });
      if (runId === '') runId = (await client.start({ handlerId: 'p.long' })).id;
      else client.instance.engine.wake();
      await stage.quiet();
      expect(begins).toBe(deploy);
      const stopping = client.instance.stop();
      await stage.quiet();
      await stage.pass(5_000);
      await stopping;
      expect(await client.get(runId)).toMatchObject({ status: 'queued', attempt: deploy });
    }
  });

  alone('requeue the run of a handler that does not return, and ignore its later calls', async () => {
    const stage = new Stage(store());
    const late = Promise.withResolvers<string>();
    const client = stage.client({ plugins: [pluginOf({ 'p.deaf': () => late.promise })] });
    const { id } = await client.start({ handlerId: 'p.deaf' });
    await stage.quiet();
    const stopping = client.instance.engine.stop(5_000);
    await stage.pass(5_000);
    await stage.pass(1_000);
    expect(await stopping).toBe(false);
    expect(await client.get(id)).toMatchObject({ status: 'queued', attempt: 1 });
    late.resolve('too late');
    await stage.quiet();
    expect(await client.get(id)).toMatchObject({ status: 'queued', result: null });
  });
}
