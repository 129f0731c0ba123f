import { expect } from 'vitest';
import type {
  CanonicalOutboxLeaseList,
  CanonicalTransactionResult,
  ExecutionCheckpoint,
  ExecutionTraceEventList,
} from '../../contracts/generated/models.ts';
import { type TenantAt, TIMED, type Work } from './two-releases-client.ts';

/** Steps that one server begins and another ends: of two releases, in either order, or of one. */

function commitOf(tenantId: string, id: string, more: object = {}) {
  const document = { tenantId, documentType: 'claim', id, schemaVersion: '1', data: { id } };
  return {
    idempotencyKey: `commit ${id}`,
    mutations: [{ operation: 'upsert', document, ...more }],
    fences: [
      { operation: 'claim', name: 'number', value: id, ownerDocumentType: 'claim', ownerDocumentId: id },
    ],
    outbox: [{ topic: 'claims', key: id, payload: { id } }],
  };
}

/** The promises of the canonical store about one commit: its key, its fence, its revisions and its events. */
export async function canonicalAcross(one: TenantAt, other: TenantAt, name: string): Promise<void> {
  const { tenant } = one;
  const body = commitOf(tenant, name);
  const first = await one.canonical<CanonicalTransactionResult>('/transactions', body);
  const again = await other.canonical<CanonicalTransactionResult>('/transactions', body);
  expect(again).toEqual({ ...first, replayed: true });
  const conflicting = {
    ...body,
    mutations: [{ ...body.mutations[0], precondition: { mustNotExist: true } }],
  };
  expect((await other.refused('/transactions', conflicting)).body.code).toBe('idempotency_conflict');
  const claimed = {
    ...commitOf(tenant, `${name} 2`),
    fences: [{ ...body.fences[0], ownerDocumentId: `${name} 2` }],
  };
  expect((await other.refused('/transactions', claimed)).status, 'the fence is held').toBe(409);
  const stale = {
    ...commitOf(tenant, name, { precondition: { mustNotExist: true } }),
    idempotencyKey: 'stale',
  };
  expect((await other.refused('/transactions', stale)).status).toBe(412);
  const changed = {
    ...commitOf(tenant, name, { precondition: { expectedRevision: 1 } }),
    idempotencyKey: `${name} again`,
  };
  await other.canonical('/transactions', { ...changed, outbox: [] });
  const read = await one.canonical<{ revision: number }>('/documents/read', {
    documentType: 'claim',
    id: name,
  });
  expect(read).toMatchObject({ revision: 2 });
  await pagesAcross(one, other);
  await outboxAcross(one, other);
  await ledgerAcross(one, other, name);
}

/** A migration that one has recorded is known to the other. */
async function ledgerAcross(one: TenantAt, other: TenantAt, name: string): Promise<void> {
  const id = `${one.tenant}-${name}`;
  const migrations = [{ namespace: 'two', id, checksum: 'sha256:1', description: name }];
  expect((await one.call('POST', '/canonical/migrations', migrations)).status).toBe(204);
  const listed = await other.call<readonly { readonly id: string }[]>('GET', '/canonical/migrations');
  expect(listed.body.map((each) => each.id)).toContain(id);
  expect((await other.call('POST', '/canonical/migrations', migrations)).status, 'again').toBe(204);
}

/** A list that starts at one server continues at the other. */
async function pagesAcross(one: TenantAt, other: TenantAt): Promise<void> {
  await one.canonical('/transactions', { ...commitOf(one.tenant, 'paged'), outbox: [] });
  const query = { documentType: 'claim', limit: 1 };
  interface Page {
    readonly items: readonly { readonly id: string }[];
    readonly continuationToken: string | null;
  }
  const first = await one.canonical<Page>('/documents/query', query);
  const { continuationToken } = first;
  const rest = await other.canonical<Page>('/documents/query', { ...query, limit: 100, continuationToken });
  const whole = await other.canonical<Page>('/documents/query', { ...query, limit: 100 });
  expect([...first.items, ...rest.items]).toEqual(whole.items);
}

async function outboxAcross(one: TenantAt, other: TenantAt): Promise<void> {
  const given = { consumerId: 'consumer', maxItems: 10, leaseSeconds: 600 };
  const leases = await one.canonical<CanonicalOutboxLeaseList>('/outbox/leases', given);
  expect(leases.length).toBeGreaterThan(0);
  expect(await other.canonical<CanonicalOutboxLeaseList>('/outbox/leases', given)).toEqual([]);
  for (const { event, leaseToken } of leases) {
    const path = `/outbox/${encodeURIComponent(event.id)}`;
    await other.canonical(`${path}/renew`, { leaseToken, leaseSeconds: 600 });
    await one.canonical(`${path}/renew`, { leaseToken, leaseSeconds: 600 });
    await other.canonical(`${path}/ack`, { leaseToken });
  }
  expect(await one.canonical<CanonicalOutboxLeaseList>('/outbox/leases', given)).toEqual([]);
}

/** A run in the middle of its work. */
export interface HalfDone {
  readonly leased: string;
  readonly work: Work;
  readonly waiting: string;
  readonly timed: string;
  readonly queued: string;
  readonly artifact: { readonly id: string };
}

/** Leaves runs of every kind at this server: leased, waiting for an event, waiting for a timer and queued. */
export async function begin(at: TenantAt, name: string): Promise<HalfDone> {
  const key = { idempotencyKey: `run ${name}`, tags: { name }, correlationId: `run ${name}` };
  const leased = await at.start({ ...key, payload: { name } });
  const work = await at.lease(leased.id);
  await at.work('checkpoints', work, { checkpoint: { key: 'place', content: { step: 1 } } });
  const artifact = await at.work<{ id: string }>('artifacts', work, {
    artifact: { name: 'report', content: { name } },
  });
  await at.work('events', work, { type: 'test.begun', message: 'begun' });
  const waiting = await at.start();
  const first = await at.lease(waiting.id);
  const parked = await at.wait(first, { kind: 'external_event', name: 'go' });
  expect(parked.suspended).toBe(true);
  const timed = await at.start({ handlerId: TIMED });
  const timing = await at.lease(timed.id);
  // Far enough that the run parks on a busy machine, and soon enough to fire while the test goes on.
  const fireAtUtc = new Date(Date.now() + 15_000).toISOString();
  const napping = await at.wait(timing, { kind: 'timer', name: 'tick', fireAtUtc });
  expect(napping.suspended, 'the timer is not due yet').toBe(true);
  const queued = (await at.start()).id;
  return { leased: leased.id, work, waiting: waiting.id, timed: timed.id, queued, artifact };
}

/** Ends them at another server, or in turns at both. */
export async function finish(
  half: HalfDone,
  name: string,
  { one, other }: { readonly one: TenantAt; readonly other: TenantAt },
): Promise<void> {
  const { leased, work } = half;
  const key = { idempotencyKey: `run ${name}`, tags: { name }, correlationId: `run ${name}` };
  expect((await other.start({ ...key, payload: { name } })).id, 'the key has its run').toBe(leased);
  await other.work('heartbeat', work, { ttlSeconds: 600 });
  await one.work('heartbeat', work, { ttlSeconds: 600 });
  const place = await other.work<ExecutionCheckpoint>('checkpoints/read', work, { key: 'place' });
  expect(place.content).toEqual({ step: 1 });
  await other.work('checkpoints', work, { checkpoint: { key: 'place', content: { step: 2 } } });
  await one.work('reports', work, { update: { progress: 0.5, currentStep: 'half' } });
  expect(await other.run(leased)).toMatchObject({ status: 'running', progress: 0.5, currentStep: 'half' });
  expect(await one.read(leased, 'checkpoints/place')).toMatchObject({ content: { step: 2 } });
  await other.work('complete', work, { result: { status: 'succeeded', result: { name } } });
  // A late repeat is answered at both.
  await one.work('complete', work, { result: { status: 'succeeded', result: { name } } });
  const ended = await one.run(leased);
  expect(ended).toMatchObject({ status: 'succeeded', result: { name } });
  expect(await other.read(leased, `artifacts/${half.artifact.id}`)).toMatchObject({ content: { name } });
  const history = await other.read<ExecutionTraceEventList>(leased, 'history');
  expect(history.map(({ type }) => type)).toEqual(expect.arrayContaining(['test.begun']));
  await waited(half.waiting, { one, other });
  await timerFired(half.timed, other);
  await other.cancel(half.queued);
  expect((await one.run(half.queued)).status).toBe('cancelled');
}

async function waited(
  id: string,
  { one, other }: { readonly one: TenantAt; readonly other: TenantAt },
): Promise<void> {
  await other.raise(id, 'go', { by: 'other' });
  const work = await one.lease(id);
  const { suspended, outcome } = await one.wait(work, { kind: 'external_event', name: 'go' });
  expect([suspended, outcome?.event?.payload]).toEqual([false, { by: 'other' }]);
  // A failed attempt is tried again, by the policy that both know.
  await other.work('complete', work, { result: { status: 'failed', error: 'again', failureClass: 'test' } });
  await other.cancel(id);
}

/** A worker asks and waits until a server fires the timer. Timers of other runs may come first. */
async function timerFired(id: string, at: TenantAt): Promise<void> {
  const given = { workerId: 'worker', handlerIds: [TIMED], ttlSeconds: 600, waitSeconds: 20 };
  while ((await at.run(id)).completedAtUtc === null) {
    const lease = await at.call<Work | null>('POST', '/execution/workers/leases', given);
    // No run was there within the wait.
    if (lease.status === 204) continue;
    expect(lease.status).toBe(200);
    const { leaseKey, leaseToken } = lease.body as Work;
    const work = { leaseKey, leaseToken, workerId: 'worker' };
    const fireAtUtc = new Date().toISOString();
    const { outcome } = await at.wait(work, { kind: 'timer', name: 'tick', fireAtUtc });
    expect(outcome?.timer?.name).toBe('tick');
    await at.work('complete', work, { result: { status: 'succeeded' } });
  }
}
