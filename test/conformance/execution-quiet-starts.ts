import { describe, expect, test } from 'vitest';
import { removeRun } from '../../functions/runs/maintenance/remove-run.ts';
import { requireRun } from '../../functions/runs/read-runs.ts';
import { quietKey } from '../../functions/runs/records.ts';
import type { ExecutionClient } from '../support/execution.ts';
import { HANDLER, leased, proofOf, refusedWith, Stage, typesOf } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';
import { persist, together } from './store-fixtures.ts';

type StartBody = Partial<Parameters<ExecutionClient['start']>[0]>;

const quiet = (payload: NonNullable<StartBody['payload']>, more: StartBody = {}) => ({
  handlerId: HANDLER,
  concurrencyKey: 'k',
  startAfterQuietSeconds: 10,
  payload,
  ...more,
});

const done = { status: 'succeeded' } as const;

/** Starts that are put off until no other of their key comes. */
export function describeQuietStarts(conformance: ExecutionConformance): void {
  describe('a start after a quiet time', () => {
    describeReplaced(conformance);
    describeRepeated(conformance);
    describeRefused(conformance);
    describeLeft(conformance);
  });
}

function describeReplaced({ store, rivals }: ExecutionConformance): void {
  test('replaces payload and moment of the run that is still put off', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const first = await client.start(quiet(1, { tags: { a: 'first' } }));
    expect(first).toMatchObject({ status: 'waiting', concurrencyKey: 'k' });
    expect(first).not.toHaveProperty('replaced');
    await stage.pass(9_000);
    const second = await client.start(quiet({ text: 'x'.repeat(20_000) }));
    expect(second).toMatchObject({ id: first.id, replaced: true, tags: { a: 'first' } });
    await stage.pass(9_000);
    const third = await client.start(quiet(3));
    expect(third).toMatchObject({ id: first.id, replaced: true, payload: 3 });
    expect(third.admission).toMatchObject({ replayed: false, requestHash: third.payloadHash });
    await stage.pass(9_999);
    await stage.settle(client.instance);
    expect(await client.lease({ workerId: 'w', handlerIds: [HANDLER] })).toBeNull();
    await stage.pass(1);
    await stage.settle(client.instance);
    expect((await leased(client)).run).toMatchObject({ id: first.id, payload: 3 });
    expect((await typesOf(client, first.id)).slice(0, 3)).toEqual([
      'run.created',
      'run.replaced',
      'run.replaced',
    ]);
  });

  test('makes a new run once the one before has started, or was cancelled', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const first = await client.start(quiet(1));
    await stage.pass(10_000);
    // The moment has come, although nothing has settled the run.
    const second = await client.start(quiet(2));
    expect(second.id).not.toBe(first.id);
    expect(second).not.toHaveProperty('replaced');
    expect(await client.get(first.id)).toMatchObject({ payload: 1 });
    await client.cancel(second.id);
    const third = await client.start(quiet(3));
    expect(third.id).not.toBe(second.id);
    expect(await client.start(quiet(4))).toMatchObject({ id: third.id, replaced: true });
  });

  test('is not put off for ever', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id } = await client.start(quiet(0, { startWithinSeconds: 25 }));
    for (let at = 1; at <= 3; at += 1) {
      await stage.pass(8_000);
      // Only the first start decides how long.
      expect(await client.start(quiet(at, { startWithinSeconds: 600_000 }))).toMatchObject({ id });
    }
    await stage.pass(1_000);
    expect((await client.start(quiet(4))).id).not.toBe(id);
    expect(await client.get(id)).toMatchObject({ payload: 3 });
  });

  test('has one run for each key, of its handler, product and tenant', async () => {
    const client = new Stage(store()).client();
    const scope = (tenantId: string) => ({ productId: 'p', tenantId });
    const ids = [
      await client.start(quiet(1)),
      await client.start(quiet(1, { concurrencyKey: 'other' })),
      await client.start(quiet(1, { scope: scope('a') })),
      await client.start(quiet(1, { scope: scope('b') })),
    ].map(({ id }) => id);
    expect(new Set(ids).size).toBe(4);
  });

  test('makes one run of many starts at once', async () => {
    const stage = new Stage(store());
    const clients = [stage.client(), stage.client()] as const;
    const runs = await together(Math.min(rivals, 8), (at) =>
      persist(() => (at % 2 ? clients[0] : clients[1]).start(quiet(at, { idempotencyKey: `i${at}` }))),
    );
    expect(new Set(runs.map(({ id }) => id)).size).toBe(1);
    const replaced = runs.filter((run) => run.replaced === true);
    expect(replaced).toHaveLength(runs.length - 1);
    const { events } = { events: await typesOf(clients[0], runs[0]?.id ?? '') };
    expect(events.filter((type) => type === 'run.replaced')).toHaveLength(runs.length - 1);
    const kept = await clients[0].get(runs[0]?.id ?? '');
    expect(runs.map(({ payload }) => payload)).toContain(kept.payload);
  });
}

function describeRepeated({ store }: ExecutionConformance): void {
  test('that is repeated changes nothing, before and after its run has started', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const one = quiet(1, { idempotencyKey: 'one' });
    const two = quiet(2, { idempotencyKey: 'two' });
    const { id } = await client.start(one);
    await client.start(two);
    await client.start(quiet(3));
    for (const body of [one, two]) {
      const repeated = await client.start(body);
      expect(repeated).toMatchObject({ id, payload: 3, admission: { replayed: true } });
      expect(repeated).not.toHaveProperty('replaced');
    }
    await stage.pass(10_000);
    await stage.settle(client.instance);
    await client.complete({ ...proofOf(await leased(client)), result: done });
    for (const body of [one, two])
      expect(await client.start(body)).toMatchObject({ id, status: 'succeeded', payload: 3 });
  });

  test('conflicts with another payload under its idempotency key', async () => {
    const client = new Stage(store()).client();
    await client.start(quiet(1, { idempotencyKey: 'one' }));
    await client.start(quiet(2, { idempotencyKey: 'two' }));
    for (const idempotencyKey of ['one', 'two'])
      expect(await refusedWith(client.start(quiet(3, { idempotencyKey })))).toBe('idempotency_conflict');
    const elsewhere = await client.start({ handlerId: HANDLER, payload: 5, idempotencyKey: 'plain' });
    expect(await refusedWith(client.start(quiet(6, { idempotencyKey: 'plain' })))).toBe(
      'idempotency_conflict',
    );
    expect((await client.start(quiet(5, { idempotencyKey: 'plain' }))).id).toBe(elsewhere.id);
  });
}

function describeRefused({ store }: ExecutionConformance): void {
  test.each<{ why: string; more: StartBody }>([
    { why: 'without a key', more: { concurrencyKey: null } },
    { why: 'with a schedule', more: { scheduledAtUtc: '2030-01-01T00:00:00Z' } },
    { why: 'with checkpoints', more: { checkpoints: [{ key: 'c', content: 1 }] } },
    { why: 'that may start sooner than it is quiet', more: { startWithinSeconds: 9 } },
    { why: 'that only bounds how long', more: { startAfterQuietSeconds: null, startWithinSeconds: 9 } },
    { why: 'with a key that is no line of text', more: { concurrencyKey: 'a\u0000b' } },
    { why: 'with half a character as its key', more: { concurrencyKey: '\ud800' } },
    { why: 'with a longer key', more: { concurrencyKey: 'k'.repeat(161) } },
  ])('$why is refused', async ({ more }) => {
    const client = new Stage(store()).client();
    expect(await refusedWith(client.start(quiet(1, more)))).toMatch(/^(validation_failed|limit_exceeded)$/);
  });

  test('with a payload beyond the limit leaves the run as it is', async () => {
    const client = new Stage(store()).client({ options: { payloadBytesMax: 100 } });
    const { id } = await client.start(quiet(1));
    expect(await refusedWith(client.start(quiet('x'.repeat(200))))).toBe('limit_exceeded');
    expect(await client.get(id)).toMatchObject({ payload: 1 });
  });
}

function describeLeft({ store }: ExecutionConformance): void {
  test('leaves nothing when its run is removed', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id } = await client.start(quiet('x'.repeat(20_000)));
    await client.start(quiet(2, { idempotencyKey: 'two' }));
    await client.cancel(id);
    const { runtime } = client.instance;
    const run = await requireRun(runtime, id);
    await removeRun(runtime, run, stage.time.now);
    const keys = [{ key: quietKey(run) }];
    expect((await stage.store.query(stage.scope, { by: 'keys', keys })).records).toEqual([]);
    expect((await client.start(quiet(2, { idempotencyKey: 'two' }))).id).not.toBe(id);
  });
}
