import { expect, test } from 'vitest';
import { createExecutionAccess, type ExecutionGrant } from '../../functions/identity/execution-access.ts';
import { StoreError } from '../../functions/store/port.ts';
import { ExecutionClient } from '../support/execution.ts';
import { patched } from './canonical-outbox-tenant.ts';
import { openProduct } from './execution-fixtures.ts';
import { begun, HANDLER, leased, proofOf, refusedWith, Stage, typesOf } from './execution-stage.ts';
import type { ExecutionConformance } from './execution-suite.ts';
import { together } from './store-fixtures.ts';

const leaseNext = { handlerIds: [HANDLER] };

/** Completions and waits that also ask for the next run. */
export function describeNext(conformance: ExecutionConformance): void {
  describeGiven(conformance);
  describeNotGiven(conformance);
  describeRights(conformance);
  describeNeighbours(conformance);
}

function describeGiven({ store, rivals }: ExecutionConformance): void {
  test('a completion gives the next run, which its worker then holds', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client);
    const second = await client.start({ handlerId: HANDLER, payload: { n: 2 } });
    const { next, ...ended } = await client.complete({
      ...proof,
      result: { result: { n: 1 } },
      leaseNext: { ...leaseNext, ttlSeconds: 7 },
    });
    expect(ended).toEqual(await client.get(id));
    expect(ended).toMatchObject({ status: 'succeeded', result: { n: 1 } });
    expect(next).toMatchObject({
      workerId: proof.workerId,
      run: { id: second.id, status: 'running', attempt: 1, payload: { n: 2 } },
      expiresAtUtc: new Date(stage.time.now + 7_000).toISOString(),
    });
    if (next === undefined) throw new Error('nothing was leased');
    expect(next.leaseToken).not.toBe(proof.leaseToken);
    expect(await client.lease({ workerId: 'w', handlerIds: [HANDLER] })).toBeNull();
    const last = await client.complete({ ...proofOf(next), result: {}, leaseNext });
    expect(last).toEqual(await client.get(second.id));
    expect(last).not.toHaveProperty('next');
    expect(await typesOf(client, second.id)).toEqual(await typesOf(client, id));
  });

  test('a failed result gives it too, and a wait that ends the lease', async () => {
    const client = new Stage(store()).client();
    const first = await begun(client, { retryPolicy: { maxAttempts: 2, initialDelaySeconds: 60 } });
    const second = await client.start({ handlerId: HANDLER });
    const failed = await client.complete({ ...first.proof, result: { status: 'failed' }, leaseNext });
    expect([failed.status, failed.next?.run.id]).toEqual(['waiting', second.id]);
    if (failed.next === undefined) throw new Error('nothing was leased');
    const third = await client.start({ handlerId: HANDLER });
    const waiting = { ...proofOf(failed.next), kind: 'external_event', name: 'e', leaseNext } as const;
    await client.raise(second.id, { name: 'e' });
    const answered = await client.wait(waiting);
    expect([answered.suspended, 'next' in answered]).toEqual([false, false]);
    const parked = await client.wait(waiting);
    expect([parked.suspended, parked.next?.run.id]).toEqual([true, third.id]);
  });

  test('a repeat gets a new lease, and the lease of a lost answer expires', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { id, proof } = await begun(client);
    const second = await client.start({ handlerId: HANDLER });
    const third = await client.start({ handlerId: HANDLER });
    const asked = { ...proof, result: { result: 1 }, leaseNext: { ...leaseNext, ttlSeconds: 5 } };
    const given = [await client.complete(asked), await client.complete(asked), await client.complete(asked)];
    const got = given.map(({ next }) => next?.run.id);
    expect(new Set(got.slice(0, 2))).toEqual(new Set([second.id, third.id]));
    expect(got[2]).toBeUndefined();
    expect(new Set(given.map(({ updatedAtUtc }) => updatedAtUtc)).size).toBe(1);
    expect((await typesOf(client, id)).filter((type) => type === 'run.completed')).toHaveLength(1);
    stage.time.advance(5_000);
    await stage.settle(client.instance);
    expect(await leased(client)).toMatchObject({ run: { attempt: 2 } });
  });

  test('of rivals that request a next run with their completions, each run goes to one', async () => {
    const stage = new Stage(store());
    const clients = [stage.client(), stage.client()];
    const [client] = clients as [ExecutionClient];
    const count = Math.min(rivals, 6);
    const proofs: ReturnType<typeof proofOf>[] = [];
    for (let index = 0; index < count; index += 1) proofs.push((await begun(client)).proof);
    const left = [];
    for (let index = 0; index < count; index += 1) left.push((await client.start({ handlerId: HANDLER })).id);
    const answers = await together(count, (index) =>
      (clients[index % 2] as ExecutionClient).complete({
        ...(proofs[index] as (typeof proofs)[number]),
        result: {},
        leaseNext,
      }),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 'succeeded'));
    const given = answers.flatMap(({ next }) => (next === undefined ? [] : [next.run.id]));
    expect(new Set(given).size).toBe(given.length);
    for (const id of given) expect(left).toContain(id);
    // A rival may have found none: the lease calls that follow find the others.
    for (let index = given.length; index < count; index += 1) given.push((await leased(client)).run.id);
    expect(given.toSorted()).toEqual(left.toSorted());
  });
}

function describeNotGiven({ store }: ExecutionConformance): void {
  test('a stopping or crowded server gives the result and no run, also to a disconnected caller', async () => {
    const client = new Stage(store()).client();
    const aborted = AbortSignal.abort();
    for (const context of [{ draining: aborted }, { signal: aborted }, { crowded: () => true }]) {
      const { id, proof } = await begun(client);
      const other = await client.start({ handlerId: HANDLER });
      const answer = await client.complete({ ...proof, result: {}, leaseNext }, context);
      expect(answer.status).toBe('succeeded');
      expect(answer).not.toHaveProperty('next');
      expect(await client.get(id)).toEqual(answer);
      expect(await client.get(other.id)).toMatchObject({ status: 'queued', attempt: 0 });
      await client.cancel(other.id);
    }
    const { proof } = await begun(client);
    const other = await client.start({ handlerId: HANDLER });
    const calm = await client.complete({ ...proof, result: {}, leaseNext }, { crowded: () => false });
    expect(calm.next?.run.id).toBe(other.id);
  });

  test('a completion stands also when the store refuses the next lease', async () => {
    let left = Number.POSITIVE_INFINITY;
    const failing = patched(store(), {
      transact: async (...given) => {
        left -= 1;
        if (left < 0) throw new StoreError('unavailable', 'away');
        return store().transact(...given);
      },
    });
    const logged: string[] = [];
    const log = ({ message }: { readonly message: string }) => void logged.push(message);
    const client = new Stage(failing).client({ log });
    const { id, proof } = await begun(client);
    const other = await client.start({ handlerId: HANDLER });
    // The completion is one transaction.
    left = 1;
    const answer = await client.complete({ ...proof, result: {}, leaseNext });
    expect(left).toBeLessThan(0);
    left = Number.POSITIVE_INFINITY;
    expect(answer).toEqual(await client.get(id));
    expect(answer.status).toBe('succeeded');
    expect(logged).toContain('No next run was leased');
    expect((await leased(client)).run.id).toBe(other.id);
  });

  test('a request that every lease call would refuse is refused, and decides nothing', async () => {
    const client = new Stage(store()).client();
    const { id, proof } = await begun(client);
    for (const handlerIds of [[HANDLER, ` ${HANDLER}`], ['\u0000']]) {
      const asked = client.complete({ ...proof, result: {}, leaseNext: { handlerIds } });
      expect(await refusedWith(asked)).toBe('validation_failed');
    }
    expect(await client.get(id)).toMatchObject({ status: 'running' });
    await client.complete({ ...proof, result: {}, leaseNext: null });
    await client.start({ handlerId: HANDLER });
    const stale = client.complete({ ...proof, leaseToken: 'x', result: {}, leaseNext });
    expect(await refusedWith(stale)).toBe('lease_stale');
    expect(await client.list({ status: 'running' })).toEqual([]);
  });
}

const grant: ExecutionGrant = {
  principal: 'worker@x',
  productId: 'p',
  workerId: 'w',
  tenantIds: ['t'],
  handlerIds: [HANDLER],
  operations: ['worker'],
};

/** An instance with identity policies, and a client of it for each caller. */
function guarded(stage: Stage, given: Parameters<Stage['instance']>[0] = {}) {
  const starter = { workerId: null, tenantIds: [], handlerIds: [], operations: ['start_run'] } as const;
  const access = createExecutionAccess([grant, { ...grant, ...starter, principal: 'app@x' }]);
  const external = [{ handlerId: HANDLER }, { handlerId: 'other' }];
  const instance = stage.instance({ access, external, ...given });
  const as = (name: string) => new ExecutionClient(instance, { kind: 'workload', principal: `${name}@x` });
  const start = (tenantId: string, handlerId = HANDLER) =>
    as('app').start({ handlerId, scope: { productId: 'p', tenantId } });
  return { as, start, worker: as('worker') };
}

function describeRights({ store }: ExecutionConformance): void {
  test('a worker gets no run that a lease call would not give it, and its completion counts', async () => {
    const { start, worker } = guarded(new Stage(store()));
    await start('t');
    const lease = await leased(worker, { workerId: 'w' });
    await start('elsewhere');
    await start('t', 'other');
    const none = await worker.complete({ ...proofOf(lease), result: {}, leaseNext });
    expect(none.status).toBe('succeeded');
    expect(none).not.toHaveProperty('next');
    const more = { handlerIds: [HANDLER, 'other'] };
    const own = await start('t');
    const forbidden = await worker.complete({ ...proofOf(lease), result: {}, leaseNext: more });
    expect(forbidden).not.toHaveProperty('next');
    const given = await worker.complete({ ...proofOf(lease), result: {}, leaseNext });
    expect(given.next?.run.id).toBe(own.id);
  });

  test('a stranger with the proof of another gets neither', async () => {
    const { as, start, worker } = guarded(new Stage(store()));
    await start('t');
    const lease = await leased(worker, { workerId: 'w' });
    await start('t');
    for (const name of ['stranger', 'app']) {
      const asked = as(name).complete({ ...proofOf(lease), result: {}, leaseNext });
      expect(await refusedWith(asked)).toBe('permission_denied');
    }
    expect((await leased(worker, { workerId: 'w' })).run.attempt).toBe(1);
  });

  test('a worker that its product does not list gets no run of the product', async () => {
    const policies = [{ ...openProduct, productId: 'p', allowedServiceIdentities: ['listed'] }];
    const client = new Stage(store()).client({ policies });
    const scope = { productId: 'p', tenantId: 't' };
    await client.start({ handlerId: HANDLER, scope });
    const lease = await leased(client, { workerId: 'listed' });
    await client.start({ handlerId: HANDLER, scope });
    const asked = { ...proofOf(lease), result: {}, leaseNext };
    expect(await refusedWith(client.complete({ ...asked, workerId: 'unlisted' }))).toBe('lease_stale');
    expect((await client.complete(asked)).next?.workerId).toBe('listed');
  });
}

function describeNeighbours({ store, alone }: ExecutionConformance): void {
  alone('a polling worker and a waiting lease call alternate: the oldest run goes first', async () => {
    const client = new Stage(store()).client();
    const { proof } = await begun(client);
    const ids: string[] = [];
    for (let index = 0; index < 6; index += 1) {
      const scope = { productId: 'p', tenantId: index % 2 === 0 ? 'busy' : 'other' };
      ids.push((await client.start({ handlerId: HANDLER, scope })).id);
    }
    const got: (string | undefined)[] = [];
    let held = proof;
    for (let turn = 0; turn < 3; turn += 1) {
      const { next } = await client.complete({ ...held, result: {}, leaseNext });
      if (next === undefined) throw new Error('nothing was leased');
      held = proofOf(next);
      got.push(next.run.id, (await leased(client, { workerId: 'neighbour' })).run.id);
    }
    expect(got).toEqual(ids);
  });

  alone('a run that becomes ready goes to the call that waits, not to a later completion', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const { proof } = await begun(client);
    const call = client.lease({ workerId: 'neighbour', handlerIds: [HANDLER], waitSeconds: 20 });
    await stage.quiet();
    const { id } = await client.start({ handlerId: HANDLER });
    await stage.quiet();
    expect((await client.complete({ ...proof, result: {}, leaseNext })).next).toBeUndefined();
    expect((await call)?.run.id).toBe(id);
  });

  alone('a completion without a run to give searches no store where this process knows all', async () => {
    const stage = new Stage(store());
    const client = stage.client();
    const first = await begun(client);
    const second = await begun(client);
    await client.lease({ workerId: 'w', handlerIds: [HANDLER] });
    const before = stage.storeCalls;
    await client.complete({ ...first.proof, result: {} });
    const cost = stage.storeCalls - before;
    await client.complete({ ...second.proof, result: {}, leaseNext });
    expect(stage.storeCalls - before).toBe(2 * cost);
  });
}
