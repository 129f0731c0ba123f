import { describe, expect, test } from 'vitest';
import { executionCollections } from '../../functions/runs/records.ts';
import type { ExecutionClient } from '../support/execution.ts';
import { begun, HANDLER, leased, proofOf, refusedWith, Stage } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';
import { describeEnds } from './execution-worker-ends.ts';
import { describeFailures } from './execution-worker-failures.ts';
import { describeNext } from './execution-worker-next.ts';
import { describePolls } from './execution-worker-polls.ts';
import { describeRetries } from './execution-worker-retries.ts';
import { describeSharedKeys } from './execution-worker-shared.ts';
import { persist, scanAll, together } from './store-fixtures.ts';

type Proof = ReturnType<typeof proofOf>;

/** Every operation that needs an active lease. */
const underLease: Readonly<Record<string, (client: ExecutionClient, proof: Proof) => Promise<unknown>>> = {
  heartbeat: (client, proof) => client.heartbeat(proof),
  report: (client, proof) => client.report({ ...proof, update: { attempted: 1 } }),
  event: (client, proof) => client.record({ ...proof, message: 'hello' }),
  artifact: (client, proof) => client.putArtifact({ ...proof, artifact: { name: 'a', text: 'b' } }),
  checkpoint: (client, proof) => client.putCheckpoint({ ...proof, checkpoint: { key: 'k', content: 1 } }),
  read: (client, proof) => client.readCheckpoint({ ...proof, key: 'k' }),
  wait: (client, proof) => client.wait({ ...proof, kind: 'external_event', name: 'e' }),
  complete: (client, proof) => client.complete({ ...proof, result: { result: 1 } }),
};

/** External workers: specification, External worker protocol. */
export function describeWorkers(conformance: ExecutionConformance): void {
  describe('external workers', () => {
    describeClaims(conformance);
    describeProofs(conformance);
    describeReports(conformance);
    describeRetries(conformance);
    describeFailures(conformance);
    describeEnds(conformance);
    describePolls(conformance);
    describeNext(conformance);
    describeSharedKeys(conformance);
  });
}

function describeClaims({ store, rivals, alone }: ExecutionConformance): void {
  test('of concurrent claims of one run exactly one wins', async () => {
    const stage = new Stage(store());
    const clients = [stage.client(), stage.client()];
    const [first] = clients as [ExecutionClient];
    for (const byId of [true, false]) {
      const { id } = await first.start({ handlerId: HANDLER });
      const answers = await together(rivals, (index) =>
        persist(async () =>
          (clients[index % 2] as ExecutionClient).lease({
            workerId: `worker-${index}`,
            handlerIds: [HANDLER],
            ...(byId ? { runId: id } : {}),
          }),
        ),
      );
      const won = answers.flatMap((lease, index) => (lease === null ? [] : [{ lease, index }]));
      expect(won).toHaveLength(1);
      expect(won[0]?.lease).toMatchObject({
        workerId: `worker-${won[0]?.index}`,
        run: { id, status: 'running', attempt: 1 },
      });
      expect(await first.get(id)).toMatchObject({ status: 'running', attempt: 1 });
    }
  });

  alone('many claims share many runs, each once, the oldest first', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const count = Math.min(rivals, 30);
    const ids: string[] = [];
    for (let index = 0; index < count; index += 1) ids.push((await client.start({ handlerId: HANDLER })).id);
    const first = [await leased(client), await leased(client)];
    expect(first.map(({ run }) => run.id)).toEqual(ids.slice(0, 2));
    const rest = await together(count - 2, () => persist(() => leased(client)));
    expect(rest.map(({ run }) => run.id).toSorted()).toEqual(ids.slice(2));
    expect(await client.lease({ workerId: 'w', handlerIds: [HANDLER] })).toBeNull();
  });

  test('only lease and heartbeat show the token, and only its hash is stored', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, lease, proof } = await begun(client);
    expect(lease.leaseToken).toMatch(/^[0-9a-f]{64}$/);
    expect((await client.heartbeat(proof)).leaseToken).toBe(lease.leaseToken);
    const answers: unknown[] = [];
    for (const [name, call] of Object.entries(underLease)) {
      if (name !== 'heartbeat') answers.push(await call(client, proof).catch((error: unknown) => error));
    }
    answers.push(await client.get(id), await client.list(), await client.history(id));
    expect(JSON.stringify(answers)).not.toContain(lease.leaseToken);
    const names = executionCollections.map(({ name }) => name);
    const records = JSON.stringify(await scanAll(stage.store, stage.scope, names));
    expect(records).toContain(id);
    expect(records).not.toContain(lease.leaseToken);
    const other = await begun(client);
    expect(other.lease.leaseToken).not.toBe(lease.leaseToken);
  });

  test('lease and heartbeat show whether a run shows the message of an error; only Development does', async () => {
    const stage = new Stage(store());
    for (const showsHandlerErrors of [false, true]) {
      const client = stage.client({ options: { showsHandlerErrors } });
      const { lease, proof } = await begun(client);
      expect(lease).toMatchObject({ showsHandlerErrors });
      expect(await client.heartbeat(proof)).toMatchObject({ showsHandlerErrors });
    }
  });

  test('a worker gets runs of the handlers that it names and that external workers have, and no others', async () => {
    const stage = new Stage(store());
    const external = [{ handlerId: HANDLER }, { handlerId: 'test.other' }];
    const run = () => new Promise<undefined>(() => undefined);
    const plugin = { pluginId: 'p', name: 'p', version: '1', handlers: [{ handlerId: 'test.process', run }] };
    const client = stage.client({ external, plugins: [plugin], concurrencyMax: 0 });
    const { id } = await client.start({ handlerId: 'test.other' });
    const inProcess = await client.start({ handlerId: 'test.process' });
    expect(await client.lease({ workerId: 'w', handlerIds: [HANDLER] })).toBeNull();
    expect(await client.lease({ workerId: 'w', handlerIds: [HANDLER], runId: id })).toBeNull();
    expect(
      await client.lease({ workerId: 'w', handlerIds: ['test.process'], runId: inProcess.id }),
    ).toBeNull();
    expect(await client.lease({ workerId: 'w', handlerIds: [HANDLER], runId: 'none' })).toBeNull();
    expect((await leased(client, { handlerIds: [HANDLER, 'test.other'] })).run.id).toBe(id);
    const twice = client.lease({ workerId: 'w', handlerIds: [HANDLER, ` ${HANDLER} `] });
    expect(await refusedWith(twice)).toBe('validation_failed');
  });

  test('a run that is scheduled is not leased before its moment, and then is', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const scheduledAtUtc = new Date(stage.time.now + 5_000).toISOString();
    const { id, status } = await client.start({ handlerId: HANDLER, scheduledAtUtc });
    expect(status).toBe('waiting');
    stage.time.advance(4_999);
    await stage.settle(client.instance);
    expect(await client.lease({ workerId: 'w', handlerIds: [HANDLER] })).toBeNull();
    expect(await client.lease({ workerId: 'w', handlerIds: [HANDLER], runId: id })).toBeNull();
    stage.time.advance(1);
    expect((await leased(client, { runId: id })).run).toMatchObject({ id, status: 'running', attempt: 1 });
  });
}

function describeProofs({ store }: ExecutionConformance): void {
  async function expectAll(client: ExecutionClient, proof: Proof, code: string, but: readonly string[] = []) {
    for (const [name, call] of Object.entries(underLease)) {
      if (!but.includes(name)) expect([name, await refusedWith(call(client, proof))]).toEqual([name, code]);
    }
  }

  test('every operation refuses another token, worker or key, and changes nothing', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    const before = await client.get(id);
    const other = await begun(client);
    const wrong: Proof[] = [
      { ...proof, leaseToken: proof.leaseToken.replace(/^./, (digit) => (digit === '0' ? '1' : '0')) },
      { ...proof, leaseToken: other.proof.leaseToken },
      { ...proof, leaseToken: proof.leaseToken.slice(0, -1) },
      { ...proof, leaseToken: 'x' },
      { ...proof, workerId: 'worker-2' },
      { ...proof, workerId: 'WORKER-1' },
      { ...proof, leaseKey: other.proof.leaseKey },
      { ...proof, leaseKey: `${proof.leaseKey}0` },
      { ...proof, leaseKey: 'nothing' },
    ];
    for (const each of wrong) await expectAll(client, each, 'lease_stale');
    expect(await client.get(id)).toEqual(before);
    expect(await client.report({ ...proof, update: {} })).toMatchObject({ id, status: 'running' });
  });

  test('a lease holds up to, and not including, its expiry', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { proof, lease, id } = await begun(client, {}, { ttlSeconds: 10 });
    expect(lease.acquiredAtUtc).toBe(new Date(stage.time.now).toISOString());
    expect(lease.expiresAtUtc).toBe(new Date(stage.time.now + 10_000).toISOString());
    stage.time.advance(9_999);
    expect(await client.report({ ...proof, update: { attempted: 3 } })).toMatchObject({ attempted: 3 });
    stage.time.advance(1);
    await expectAll(client, proof, 'lease_not_active');
    // No call has settled the run: its next holder finds it so. A message carries the time itself.
    const delivers = client.instance.runtime.queue.delivers === true;
    if (!delivers) expect(await client.get(id)).toMatchObject({ status: 'running', attempted: 3 });
    await stage.settle(client.instance);
    expect(await client.get(id)).toMatchObject({ status: 'queued', attempt: 1, attempted: 3 });
    await expectAll(client, proof, 'lease_not_active');
  });

  test('after a reclaim the old token is stale for every operation, and the new one works', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { proof, id } = await begun(client, {}, { ttlSeconds: 10 });
    stage.time.advance(10_000);
    const again = await leased(client, { runId: id });
    expect(again.run).toMatchObject({ attempt: 2, status: 'running' });
    expect(again.leaseToken).not.toBe(proof.leaseToken);
    await expectAll(client, proof, 'lease_stale');
    await expectAll(client, { ...proof, workerId: again.workerId }, 'lease_stale');
    for (const name of ['heartbeat', 'report', 'event', 'artifact', 'checkpoint', 'read', 'complete']) {
      await underLease[name]?.(client, proofOf(again));
    }
    expect(await client.get(id)).toMatchObject({ status: 'succeeded', attempt: 2, result: 1 });
  });

  test('a suspended or completed run is not active any more', async () => {
    const client = new Stage(store()).client();
    const waiting = await begun(client);
    await client.wait({ ...waiting.proof, kind: 'external_event', name: 'e' });
    await expectAll(client, waiting.proof, 'lease_not_active');
    expect(await client.get(waiting.id)).toMatchObject({ status: 'waiting' });
    const completed = await begun(client);
    await client.complete({ ...completed.proof, result: {} });
    await expectAll(client, completed.proof, 'lease_not_active', ['complete']);
  });

  test('a heartbeat moves the expiry from now on, also to an earlier moment', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { proof, lease, id } = await begun(client, {}, { ttlSeconds: 60 });
    stage.time.advance(50_000);
    const longer = await client.heartbeat({ ...proof, ttlSeconds: 120 });
    expect(longer).toMatchObject({ ...proof, acquiredAtUtc: lease.acquiredAtUtc });
    expect(longer.expiresAtUtc).toBe(new Date(stage.time.now + 120_000).toISOString());
    stage.time.advance(119_000);
    await stage.settle(client.instance);
    const shorter = await client.heartbeat({ ...proof, ttlSeconds: 0.5 });
    expect(shorter.expiresAtUtc).toBe(new Date(stage.time.now + 500).toISOString());
    expect(await client.get(id)).toMatchObject({ status: 'running', updatedAtUtc: shorter.run.updatedAtUtc });
    stage.time.advance(500);
    await stage.settle(client.instance);
    expect(await client.get(id)).toMatchObject({ status: 'queued' });
  });
}

function describeReports({ store }: ExecutionConformance): void {
  test('a report keeps the members that it omits', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    const all = { requested: 10, attempted: 4, succeeded: 3, failed: 1, progress: 0.4, currentStep: 'four' };
    const said = { ...all, statusDetails: { at: 'x' }, result: { so: 'far' } };
    expect(await client.report({ ...proof, update: said })).toMatchObject(said);
    const nothing = Object.fromEntries(Object.keys(said).map((name) => [name, null]));
    expect(await client.report({ ...proof, update: nothing })).toMatchObject(said);
    const zeroes = { attempted: 0, progress: 0 };
    expect(await client.report({ ...proof, update: zeroes })).toMatchObject({ ...said, ...zeroes });
    expect(await client.get(id)).toMatchObject({ ...said, ...zeroes, status: 'running' });
    expect(await client.report({ ...proof, update: { progress: 1 } })).toMatchObject({ progress: 1 });
    const ended = await client.complete({ ...proof, result: { status: 'failed' } });
    expect(ended).toMatchObject({ ...said, ...zeroes, progress: 1, status: 'failed', currentStep: null });
  });

  test('counters are counts and progress is from 0 to 1', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    const before = await client.get(id);
    const wrong = [
      ...['requested', 'attempted', 'succeeded', 'failed'].flatMap((name) => [
        { [name]: -1 },
        { [name]: 0.5 },
      ]),
      { progress: -0.01 },
      { progress: 1.01 },
      { currentStep: 'x'.repeat(201) },
      { statusDetails: { text: 'x'.repeat(65_536) } },
    ];
    for (const update of wrong) {
      const code = await refusedWith(client.report({ ...proof, update }));
      expect(['validation_failed', 'limit_exceeded']).toContain(code);
    }
    expect(await client.get(id)).toEqual(before);
  });

  test('a large result is kept beside its run, and the last one counts', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client, { payload: 'p'.repeat(200_000) });
    for (const letter of ['a', 'b']) {
      const result = letter.repeat(200_000);
      expect(await client.report({ ...proof, update: { result } })).toMatchObject({ result });
    }
    const ended = await client.complete({ ...proof, result: {} });
    expect(ended).toMatchObject({ result: 'b'.repeat(200_000), payload: 'p'.repeat(200_000) });
    expect((await client.get(id)).result).toBe(ended.result);
    const over = await begun(client);
    const tooLarge = client.complete({ ...over.proof, result: { result: 'x'.repeat(262_143) } });
    expect(await refusedWith(tooLarge)).toBe('limit_exceeded');
    expect(await client.get(over.id)).toMatchObject({ status: 'running' });
  });

  test('a checkpoint is the last write of its key, and outlives retries, waits and lost leases', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client, {
      retryPolicy: { maxAttempts: 2, initialDelaySeconds: 1 },
    });
    expect(await refusedWith(client.readCheckpoint({ ...proof, key: 'a/b' }))).toBe('not_found');
    await client.putCheckpoint({ ...proof, checkpoint: { key: 'a/b', content: { step: 1 } } });
    const checkpoint = { key: 'a/b', content: { step: 2 }, metadata: { by: 'test' } };
    const written = await client.putCheckpoint({ ...proof, checkpoint });
    expect(written).toMatchObject({ ...checkpoint, runId: id });
    await client.complete({ ...proof, result: { status: 'failed' } });
    stage.time.advance(1_000);
    const second = await leased(client, { runId: id, ttlSeconds: 5 });
    expect(await client.readCheckpoint({ ...proofOf(second), key: 'a/b' })).toEqual(written);
    stage.time.advance(5_000);
    const third = await leased(client, { runId: id });
    expect(await client.readCheckpoint({ ...proofOf(third), key: 'a/b' })).toEqual(written);
    await client.wait({ ...proofOf(third), kind: 'external_event', name: 'e' });
    await client.raise(id, { name: 'e' });
    const fourth = await leased(client, { runId: id });
    expect(await client.readCheckpoint({ ...proofOf(fourth), key: 'a/b' })).toEqual(written);
    const strange = await begun(client);
    expect(await refusedWith(client.readCheckpoint({ ...strange.proof, key: 'a/b' }))).toBe('not_found');
  });
}
