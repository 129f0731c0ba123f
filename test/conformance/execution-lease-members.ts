import { describe, expect, test } from 'vitest';
import { createExecutionAccess } from '../../functions/identity/execution-access.ts';
import { CHECKPOINTS } from '../../functions/runs/records.ts';
import {
  type KeysSelection,
  type ListSelection,
  type RecordStore,
  type Scope,
  StoreError,
} from '../../functions/store/port.ts';
import { ExecutionClient, executionInstance } from '../support/execution.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { openProduct, scopeOf, textOfBytes } from './execution-fixtures.ts';
import { begun, HANDLER, leased, proofOf, refusedWith, Stage } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';

const KIB = 1_024;

/** A lease call may ask for checkpoints besides its run, and name a version that the run shows. */
export function describeLeaseMembers(conformance: ExecutionConformance): void {
  describe('the checkpoints that a lease call requests', () => {
    describeCheckpoints(conformance);
    describeCheckpointBounds(conformance);
  });
  describe('the version that a lease call names', () => describeVersions(conformance));
}

/** A run whose first holder wrote these checkpoints and gave it back. */
async function writtenRun(client: ExecutionClient, contents: Readonly<Record<string, unknown>>) {
  const { id, proof } = await begun(client);
  for (const [key, content] of Object.entries(contents))
    await client.putCheckpoint({ ...proof, checkpoint: { key, content: content as string } });
  await client.release(proof);
  return { id };
}

function describeCheckpoints({ store }: ExecutionConformance): void {
  test('come with the lease, in the order of the keys, and the other keys are absent', async () => {
    const client = new Stage(store()).client();
    await writtenRun(client, { a: 'of another run', d: 'of another run' });
    const { id } = await writtenRun(client, { a: 1, b: { n: 2 }, c: null });
    const checkpointKeys = ['c', 'd', ' b ', 'a'];
    const { checkpoints, ...lease } = await leased(client, { runId: id, checkpointKeys });
    const stored = [];
    for (const key of ['c', 'b', 'a']) stored.push(await client.readCheckpoint({ ...proofOf(lease), key }));
    expect(checkpoints).toEqual({ found: stored, absent: ['d'] });
    expect(await client.heartbeat(proofOf(lease))).not.toHaveProperty('checkpoints');
  });

  test('are the newest of all holders, and none is there without a request', async () => {
    const client = new Stage(store()).client();
    const { id } = await writtenRun(client, { a: 1 });
    const second = await leased(client, { runId: id });
    expect(second).not.toHaveProperty('checkpoints');
    await client.putCheckpoint({ ...proofOf(second), checkpoint: { key: 'a', content: 2 } });
    await client.release(proofOf(second));
    const none = await leased(client, { runId: id, checkpointKeys: [] });
    expect(none).not.toHaveProperty('checkpoints');
    await client.release(proofOf(none));
    const third = await leased(client, { runId: id, checkpointKeys: ['a'] });
    expect(third.checkpoints?.found.map(({ content }) => content)).toEqual([2]);
  });

  test('are absent from a first attempt, without a read', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const calls = async (more: object) => {
      const { id } = await client.start({ handlerId: HANDLER });
      const before = stage.storeCalls;
      const { checkpoints } = await leased(client, { runId: id, ...more });
      return { calls: stage.storeCalls - before, checkpoints };
    };
    const plain = await calls({});
    const asked = await calls({ checkpointKeys: ['a', 'b'] });
    expect(asked).toEqual({ calls: plain.calls, checkpoints: { found: [], absent: ['a', 'b'] } });
  });

  test('come with the next lease of a completion and of a wait too', async () => {
    const client = new Stage(store()).client();
    const ends = [
      (proof: ReturnType<typeof proofOf>, leaseNext: object) =>
        client.complete({ ...proof, result: {}, leaseNext: { handlerIds: [HANDLER], ...leaseNext } }),
      (proof: ReturnType<typeof proofOf>, leaseNext: object) =>
        client.wait({
          ...proof,
          kind: 'external_event',
          name: 'never',
          leaseNext: { handlerIds: [HANDLER], ...leaseNext },
        }),
    ];
    for (const end of ends) {
      const { proof } = await begun(client);
      const { id } = await writtenRun(client, { a: 1 });
      const { next } = await end(proof, { checkpointKeys: ['a', 'b'], handlerVersion: '7' });
      expect(next?.run).toMatchObject({ id, handlerVersion: '7' });
      expect(next?.checkpoints).toMatchObject({ found: [{ key: 'a', content: 1 }], absent: ['b'] });
    }
  });

  test('are left out where the store does not answer, and the run is leased all the same', async () => {
    const stage = new Stage(store());
    const { id } = await writtenRun(stage.client(), { a: 1 });
    const query = (scope: Scope, selection: KeysSelection | ListSelection) => {
      const fails =
        selection.by === 'keys' && selection.keys.some(({ key }) => key.collection === CHECKPOINTS.name);
      return fails
        ? Promise.reject(new StoreError('unavailable', 'away'))
        : stage.store.query(scope, selection);
    };
    const logged: string[] = [];
    const instance = executionInstance(patched(stage.store, { query: query as RecordStore['query'] }), {
      world: stage.world,
      scope: stage.scope,
      node: 9,
      external: [{ handlerId: HANDLER }],
      log: ({ message }) => void logged.push(message),
    });
    const lease = await leased(new ExecutionClient(instance), { runId: id, checkpointKeys: ['a', 'b'] });
    expect(lease).toMatchObject({ run: { status: 'running' }, checkpoints: { found: [], absent: [] } });
    expect(logged).toContain('A lease was answered without its checkpoints');
  });
}

function describeCheckpointBounds({ store }: ExecutionConformance): void {
  test('are together at most 1 MiB, but the first is always there', async () => {
    const client = new Stage(store()).client();
    const contents = {
      whole: textOfBytes(1_024 * KIB),
      half: textOfBytes(512 * KIB),
      rest: textOfBytes(512 * KIB),
      more: 1,
    };
    const { id } = await writtenRun(client, contents);
    const keysOf = async (checkpointKeys: readonly string[]) => {
      const lease = await leased(client, { runId: id, checkpointKeys });
      await client.release(proofOf(lease));
      return { found: lease.checkpoints?.found.map(({ key }) => key), absent: lease.checkpoints?.absent };
    };
    expect(await keysOf(['whole', 'more'])).toEqual({ found: ['whole'], absent: [] });
    expect(await keysOf(['half', 'rest', 'more'])).toEqual({ found: ['half', 'rest'], absent: [] });
    expect(await keysOf(['none', 'more', 'half', 'rest', 'other'])).toEqual({
      found: ['more', 'half'],
      absent: ['none'],
    });
  });

  test.each<[string, string, readonly string[]]>([
    ['one key twice', 'validation_failed', ['a', ' a']],
    ['a blank key', 'validation_failed', [' ']],
    ['a key with a line break', 'validation_failed', ['a\nb']],
    ['a key of 161 units', 'limit_exceeded', ['x'.repeat(161)]],
    ['17 keys', 'limit_exceeded', Array.from({ length: 17 }, (_, n) => `k${n}`)],
  ])('with %s are refused, and nothing is leased', async (_, code, checkpointKeys) => {
    const client = new Stage(store()).client();
    const { id } = await client.start({ handlerId: HANDLER });
    const wish = { workerId: 'w', handlerIds: [HANDLER], runId: id, checkpointKeys };
    expect(await refusedWith(client.lease(wish))).toBe(code);
    expect(await client.get(id)).toMatchObject({ status: 'queued', attempt: 0 });
    const held = await begun(client);
    const leaseNext = { handlerIds: [HANDLER], checkpointKeys };
    expect(await refusedWith(client.complete({ ...held.proof, result: {}, leaseNext }))).toBe(code);
    expect(await client.get(held.id)).toMatchObject({ status: 'running' });
  });

  test('of 16 keys are read whole', async () => {
    const client = new Stage(store()).client();
    const keys = Array.from({ length: 16 }, (_, n) => `k${n}`);
    const { id } = await writtenRun(client, Object.fromEntries(keys.map((key) => [key, key])));
    const { checkpoints } = await leased(client, { runId: id, checkpointKeys: keys });
    expect(checkpoints?.found.map(({ content }) => content)).toEqual(keys);
  });

  test('are for no worker without the right to the run', async () => {
    const grants = ['mine', 'theirs'].map((tenant) => ({
      principal: `${tenant}@x`,
      productId: 'p',
      workerId: 'w',
      tenantIds: [tenant],
      handlerIds: [],
      operations: ['start_run', 'read_run', 'worker'] as const,
    }));
    const policies = [{ ...openProduct, productId: 'p' }];
    const instance = new Stage(store()).instance({ policies, access: createExecutionAccess(grants) });
    const as = (tenant: string) =>
      new ExecutionClient(instance, { kind: 'workload', principal: `${tenant}@x` });
    const mine = as('mine');
    const worker = { workerId: 'w', checkpointKeys: ['a'] };
    const { id, proof } = await begun(mine, { scope: scopeOf('p', 'mine') }, worker);
    await mine.putCheckpoint({ ...proof, checkpoint: { key: 'a', content: 'secret' } });
    await mine.release(proof);
    const wish = { ...worker, handlerIds: [HANDLER], runId: id };
    expect(await as('theirs').lease(wish)).toBeNull();
    expect(await refusedWith(as('stranger').lease(wish))).toBe('permission_denied');
    expect((await mine.lease(wish))?.checkpoints?.found[0]?.content).toBe('secret');
  });
}

function describeVersions({ store }: ExecutionConformance): void {
  test('is shown by the run until another lease names another or none', async () => {
    const client = new Stage(store()).client();
    const { id } = await client.start({ handlerId: HANDLER });
    expect(await client.get(id)).toMatchObject({ handlerVersion: null });
    for (const [given, shown] of [
      [' 3 ', '3'],
      ['4', '4'],
      [null, null],
      ['x'.repeat(160), 'x'.repeat(160)],
      [' ', null],
      ['5', '5'],
    ] as const) {
      const lease = await leased(client, { runId: id, handlerVersion: given });
      expect(lease.run.handlerVersion).toBe(shown);
      await client.release(proofOf(lease));
      expect(await client.get(id)).toMatchObject({ status: 'queued', handlerVersion: shown });
    }
    const last = await leased(client, { runId: id, handlerVersion: '6' });
    await client.complete({ ...proofOf(last), result: {} });
    expect(await client.get(id)).toMatchObject({ status: 'succeeded', handlerVersion: '6', tags: {} });
  });

  test('finds the runs of a version, parked ones too, with other filters and over pages', async () => {
    const client = new Stage(store()).client();
    const parked: string[] = [];
    for (const handlerVersion of ['1', '2', '1', null, '1']) {
      const { id, proof } = await begun(client, {}, { handlerVersion });
      await client.wait({ ...proof, kind: 'external_event', name: 'e' });
      if (handlerVersion === '1') parked.unshift(id);
    }
    await begun(client, {}, { handlerVersion: '1' });
    await client.start({ handlerId: HANDLER, tags: { handlerVersion: '1' } });
    const waiting = { handlerVersion: '1', status: 'waiting' } as const;
    expect((await client.list(waiting)).map(({ id }) => id)).toEqual(parked);
    expect(await client.list({ handlerVersion: '1' })).toHaveLength(4);
    expect(await client.list({ handlerVersion: '3' })).toEqual([]);
    const first = await client.listPage({ ...waiting, limit: 2 });
    const rest = await client.listPage({ ...waiting, limit: 2, continuationToken: first.next ?? '' });
    expect([...first.runs, ...rest.runs].map(({ id }) => id)).toEqual(parked);
    const other = client.listPage({ handlerVersion: '2', continuationToken: first.next ?? '' });
    expect(await refusedWith(other)).toBe('continuation_token_invalid');
    // The run leaves the list when a worker of another version takes it.
    await client.raise(parked[0] ?? '', { name: 'e' });
    await leased(client, { runId: parked[0] ?? '', handlerVersion: '2' });
    expect((await client.list(waiting)).map(({ id }) => id)).toEqual(parked.slice(1));
  });

  test.each([
    ['of 161 units', 'x'.repeat(161), 'limit_exceeded'],
    ['with a line break', 'a\nb', 'validation_failed'],
  ])('%s is refused, and nothing is leased', async (_, handlerVersion, code) => {
    const client = new Stage(store()).client();
    const { id } = await client.start({ handlerId: HANDLER });
    expect(await refusedWith(client.lease({ workerId: 'w', handlerIds: [HANDLER], handlerVersion }))).toBe(
      code,
    );
    expect(await client.get(id)).toMatchObject({ attempt: 0 });
  });

  test('never decides who gets a run', async () => {
    const client = new Stage(store()).client();
    const { id, lease } = await begun(client, {}, { handlerVersion: '2' });
    await client.release(proofOf(lease));
    for (const handlerVersion of ['1', '3', null]) {
      const again = await leased(client, { runId: id, handlerVersion });
      await client.release(proofOf(again));
    }
  });
}
