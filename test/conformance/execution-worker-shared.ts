import { expect, test } from 'vitest';
import type { ExecutionClient } from '../support/execution.ts';
import { HANDLER, leased, proofOf, Stage } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';
import { persist, together } from './store-fixtures.ts';

const FIRST = HANDLER;
const SECOND = 'test.second';
const external = [
  { handlerId: FIRST, concurrencyKey: 'key' },
  { handlerId: SECOND, concurrencyKey: 'key' },
  { handlerId: 'test.free' },
];
const handlerIds = [FIRST, SECOND];

/** Handlers that share a concurrency key: their runs are executed one after another, over all instances. */
export function describeSharedKeys({ store, rivals, alone }: ExecutionConformance): void {
  test('of runs that share a key one is running, at every instance', async () => {
    const stage = new Stage(store());
    const clients = [stage.client({ external }), stage.client({ external })];
    const [client] = clients as [ExecutionClient];
    for (let index = 0; index < 6; index += 1) await client.start({ handlerId: index % 2 ? FIRST : SECOND });
    const free = await client.start({ handlerId: 'test.free' });
    for (let turn = 0; turn < 3; turn += 1) {
      const answers = await together(Math.min(rivals, 12), (index) =>
        persist(() => (clients[index % 2] as ExecutionClient).lease({ workerId: `w-${index}`, handlerIds })),
      );
      const won = answers.flatMap((lease) => (lease === null ? [] : [lease]));
      expect(won.length).toBeLessThanOrEqual(1);
      // Rivals for the key may all give up; then it is still free.
      const lease = won[0] ?? (await leased(client, { handlerIds }));
      expect((await client.list({ status: 'running' })).map(({ id }) => id)).toEqual([lease.run.id]);
      expect(await client.lease({ workerId: 'w', handlerIds })).toBeNull();
      await client.complete({ ...proofOf(lease), result: {} });
    }
    const other = await leased(client, { handlerIds: [...handlerIds, 'test.free'], runId: free.id });
    expect(other.run.id).toBe(free.id);
  });

  alone('the key passes on when its holder completes, fails, waits or is cancelled', async () => {
    const stage = new Stage(store());
    const client = stage.client({ external });
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      ids.push((await client.start({ handlerId: FIRST, retryPolicy: { maxAttempts: 2 } })).id);
    }
    const ways = [
      (proof: ReturnType<typeof proofOf>) => client.complete({ ...proof, result: {} }),
      (proof: ReturnType<typeof proofOf>) => client.complete({ ...proof, result: { status: 'failed' } }),
      (proof: ReturnType<typeof proofOf>) => client.wait({ ...proof, kind: 'external_event', name: 'e' }),
      async (proof: ReturnType<typeof proofOf>) => {
        await client.cancel(ids[3] ?? '');
        await client.complete({ ...proof, result: {} });
      },
    ];
    let lease = await leased(client);
    for (const [index, way] of ways.entries()) {
      expect(lease.run.id).toBe(ids[index]);
      const next = client.lease({ workerId: 'w', handlerIds, waitSeconds: 20 });
      await stage.quiet();
      await way(proofOf(lease));
      const got = await next;
      if (got === null) throw new Error(`the key was not passed on in case ${index}`);
      lease = got;
    }
    expect(lease.run.id).toBe(ids[4]);
  });

  test('the key of a holder that died is free with the end of its lease', async () => {
    const stage = new Stage(store());
    const client = stage.client({ external });
    const first = await client.start({ handlerId: FIRST });
    const second = await client.start({ handlerId: SECOND });
    const { run } = await leased(client, { handlerIds: [FIRST], ttlSeconds: 5 });
    expect(run.id).toBe(first.id);
    stage.time.advance(4_999);
    expect(await client.lease({ workerId: 'w', handlerIds: [SECOND], runId: second.id })).toBeNull();
    stage.time.advance(1);
    // Also before any call has settled the run that held it.
    const next = await leased(client, { handlerIds: [SECOND], runId: second.id });
    expect(next.run.id).toBe(second.id);
    await stage.settle(client.instance);
    expect(await client.lease({ workerId: 'w', handlerIds: [FIRST], runId: first.id })).toBeNull();
    await client.complete({ ...proofOf(next), result: {} });
    expect((await leased(client, { handlerIds: [FIRST] })).run.id).toBe(first.id);
  });

  test('a call that waits gets the key of a holder that died', async () => {
    const stage = new Stage(store());
    const client = stage.client({ external });
    await client.instance.start();
    const first = await client.start({ handlerId: FIRST });
    await leased(client, { ttlSeconds: 5 });
    const second = await client.start({ handlerId: SECOND });
    const call = client.lease({ workerId: 'w', handlerIds: [SECOND], waitSeconds: 20 });
    await stage.quiet();
    await stage.pass(5_000);
    expect((await call)?.run.id).toBe(second.id);
    expect(await client.get(first.id)).toMatchObject({ status: 'queued' });
    await client.instance.stop();
  });

  test('a handler without a worker does not block the shared key for other handlers', async () => {
    const stage = new Stage(store());
    const client = stage.client({ external });
    const holder = await client.start({ handlerId: SECOND });
    const lease = await leased(client, { handlerIds: [SECOND] });
    expect(lease.run.id).toBe(holder.id);
    await client.start({ handlerId: FIRST });
    const younger = await client.start({ handlerId: SECOND });
    const call = client.lease({ workerId: 'w', handlerIds: [SECOND], waitSeconds: 20 });
    await stage.quiet();
    await client.complete({ ...proofOf(lease), result: {} });
    await stage.pass(0);
    expect((await call)?.run.id).toBe(younger.id);
  });
}
