import { describe, expect, test } from 'vitest';
import { createExecutionAccess, type ExecutionGrant } from '../../functions/identity/execution-access.ts';
import { type KeysSelection, type RecordStore, type Scope, StoreError } from '../../functions/store/port.ts';
import { ExecutionClient } from '../support/execution.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { HANDLER, leased, proofOf, Stage } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

/** Starts that wait for the end of their run. */
export function describeStartWaits(conformance: ExecutionConformance): void {
  describe('a start that waits', () => {
    describeAnswers(conformance);
    describeReaders(conformance);
  });
}

type Started = Awaited<ReturnType<ExecutionClient['start']>>;

/** A start under way, and its answer once there is one. */
function starting(
  client: ExecutionClient,
  ...[body, context]: Partial<Parameters<ExecutionClient['start']>>
) {
  const call: { answer?: Started } = {};
  const done = client.start({ handlerId: HANDLER, waitSeconds: 20, ...body }, context).then((run) => {
    call.answer = run;
    return run;
  });
  return { call, done };
}

function describeAnswers({ store }: ExecutionConformance): void {
  test('is answered with the run at its end', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { call, done } = starting(client);
    await stage.quiet();
    const lease = await leased(client);
    await stage.quiet();
    expect(call.answer).toBeUndefined();
    await client.complete({ ...proofOf(lease), result: { result: { n: 1 } } });
    const run = await done;
    expect(run).toMatchObject({ id: lease.run.id, status: 'succeeded', result: { n: 1 } });
    expect(run).toEqual(await client.get(run.id));
  });

  test('is answered with the current run when the time is over, the caller disconnects or the server stops', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const [gone, stops] = [new AbortController(), new AbortController()];
    const calls = [
      starting(client, { handlerId: HANDLER, waitSeconds: 3 }),
      starting(client, undefined, { signal: gone.signal }),
      starting(client, undefined, { draining: stops.signal }),
    ];
    await stage.quiet();
    await stage.pass(2_999);
    expect(calls.map(({ call }) => call.answer)).toEqual([undefined, undefined, undefined]);
    await stage.pass(1);
    gone.abort();
    stops.abort();
    for (const { done } of calls) expect(await done).toMatchObject({ status: 'queued', attempt: 0 });
  });

  test('with the key of an earlier start waits for the run of that start', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const keyed = { handlerId: HANDLER, idempotencyKey: 'k' };
    const { id } = await client.start(keyed);
    const { call, done } = starting(client, keyed);
    await stage.quiet();
    expect(call.answer).toBeUndefined();
    await client.complete({ ...proofOf(await leased(client)), result: {} });
    expect(await done).toMatchObject({ id, status: 'succeeded', admission: { replayed: true } });
    const again = await client.start({ ...keyed, waitSeconds: 20 });
    expect(again).toMatchObject({ id, status: 'succeeded', admission: { replayed: true } });
  });

  test('whose run cannot be read any more counts as a start all the same', async () => {
    let isAway = false;
    const failing = patched(store(), {
      transact: async (...given) => {
        const result = await store().transact(...given);
        isAway = true;
        return result;
      },
      query: ((scope: Scope, selection: KeysSelection) =>
        isAway
          ? Promise.reject(new StoreError('unavailable', 'away'))
          : store().query(scope, selection)) as RecordStore['query'],
    });
    const client = new Stage(failing).client();
    const run = await client.start({ handlerId: HANDLER, payload: 1, waitSeconds: 20 });
    expect(isAway).toBe(true);
    isAway = false;
    expect(run).toMatchObject({ status: 'queued', payload: 1 });
    expect(await client.get(run.id)).toEqual(run);
  });
}

function describeReaders({ store }: ExecutionConformance): void {
  test('waits only for a caller who may read the run', async () => {
    const stage = new Stage(store());
    const operations: ExecutionGrant['operations'] = ['start_run'];
    const grant = { productId: 'p', workerId: null, tenantIds: [], handlerIds: [], operations };
    const access = createExecutionAccess([
      { ...grant, principal: 'starter@x' },
      { ...grant, principal: 'reader@x', operations: ['start_run', 'read_run'] },
    ]);
    const instance = stage.instance({ access });
    const as = (name: string) => new ExecutionClient(instance, { kind: 'workload', principal: `${name}@x` });
    const body = { handlerId: HANDLER, scope: { productId: 'p', tenantId: 't' } };
    const reading = starting(as('reader'), body);
    await stage.quiet();
    expect(reading.call.answer).toBeUndefined();
    const blind = await as('starter').start({ ...body, waitSeconds: 20 });
    expect(blind).toMatchObject({ status: 'queued' });
    await stage.pass(20_000);
    expect(await reading.done).toMatchObject({ status: 'queued' });
  });
}
