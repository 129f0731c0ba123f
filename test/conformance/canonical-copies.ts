import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { CanonicalFenceMutation, CanonicalTenantSnapshot } from '../../contracts/generated/models.ts';
import { DeliveredRetention } from '../../functions/groups/canonical/outbox/retention.ts';
import { callAt, handlersOver, refused, TenantClient } from '../support/canonical.ts';
import { readAnswer } from '../support/written-answer.ts';
import type { Conformance } from './canonical-suite.ts';

const DAY_MS = 86_400_000;

function fence(operation: 'claim' | 'release', value: string, owner: string): CanonicalFenceMutation {
  return { operation, name: 'number', value, ownerDocumentType: 'claim', ownerDocumentId: owner };
}

/** Documents with two revisions and with a tombstone, a fence, and events that wait, are leased and were delivered. */
async function fill(tenant: TenantClient) {
  await tenant.commit({
    idempotencyKey: 'first',
    mutations: [
      tenant.upsert('a', { n: 1, text: 'ü \u{1f600}' }, { indexes: { title: 'α' } }),
      tenant.upsert('gone'),
    ],
    fences: [fence('claim', 'F-1', 'a')],
    outbox: ['delivered', 'leased', 'waiting'].map((id) => ({ id, topic: 't', key: 'k', payload: { id } })),
  });
  await tenant.commit({
    idempotencyKey: 'second',
    mutations: [tenant.upsert('a', { n: 2 }, { indexes: { title: 'β' } }), tenant.remove('gone')],
  });
  const leases = await tenant.lease({ maxItems: 2, leaseSeconds: 600 });
  const tokenOf = (id: string) => leases.find(({ event }) => event.id === id)?.leaseToken ?? '';
  await tenant.ack('delivered', tokenOf('delivered'));
  return { leased: tokenOf('leased') };
}

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const member of Object.values(value)) frozen(member);
  return Object.freeze(value);
}

async function hashOf(tenant: TenantClient): Promise<string> {
  return (await tenant.export()).contentHash;
}

const stateOf = async (tenant: TenantClient, state: 'ready' | 'leased' | 'delivered') =>
  (await tenant.queryOutbox({ state })).items.map(({ id }) => id).sort();

export function describeCopies(conformance: Conformance): void {
  describe('copies of a tenant', () => {
    describeExport(conformance);
    describeRefusals(conformance);
    describeRestore(conformance);
    describeOthers(conformance);
  });
}

function describeExport({ store }: Conformance): void {
  it('an export holds all records, is the same each time, and ends no lease', async () => {
    const tenant = new TenantClient(store());
    const { leased } = await fill(tenant);
    const snapshot = await tenant.export();
    expect(snapshot.contentHash).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(snapshot.documents.map(({ id, revision, deleted }) => [id, revision, deleted])).toEqual([
      ['a', 2, false],
      ['gone', 2, true],
    ]);
    expect(snapshot.revisions.map(({ id, revision }) => `${id} ${revision}`)).toEqual([
      'a 1',
      'a 2',
      'gone 1',
      'gone 2',
    ]);
    expect(snapshot.fences).toMatchObject([{ name: 'number', value: 'F-1', ownerDocumentId: 'a' }]);
    expect(snapshot.transactions.map(({ idempotencyKey }) => idempotencyKey).sort()).toEqual([
      'first',
      'second',
    ]);
    expect(
      snapshot.outbox.map(({ id, deliveryCount, leaseOwner }) => [id, deliveryCount, leaseOwner]),
    ).toEqual([
      ['delivered', 1, null],
      ['leased', 1, null],
      ['waiting', 0, null],
    ]);
    tenant.advance(1_000);
    const { exportedAtUtc: _, ...again } = await tenant.otherInstance().export();
    expect(snapshot).toMatchObject(again);
    await tenant.renew('leased', { leaseToken: leased });
  });

  it('a tenant without data has an export, which names the tenant', async () => {
    const [one, two] = [new TenantClient(store()), new TenantClient(store())];
    const snapshot = await one.export();
    const lists = { documents: [], revisions: [], fences: [], outbox: [], transactions: [] };
    expect(snapshot).toMatchObject({ tenantId: one.tenantId, ...lists });
    expect(await hashOf(two)).not.toBe(snapshot.contentHash);
  });

  it('a removed delivered event is in no export, but its receipt still names it', async () => {
    const tenant = new TenantClient(store());
    await fill(tenant);
    const { tenantId, clock } = tenant;
    const retention = new DeliveredRetention({
      keptDays: 1,
      store: () => Promise.resolve(store()),
      clock: { now: () => clock.now },
      log: () => undefined,
    });
    const { exportCanonicalTenant } = handlersOver(store(), clock, { retention });
    const input = { params: { tenantId }, query: {}, body: null };
    const exported = async () => readAnswer((await exportCanonicalTenant(input, callAt(clock.now))).body);
    expect((await exported()).outbox).toHaveLength(3);
    tenant.advance(2 * DAY_MS);
    const snapshot = await exported();
    expect(snapshot.outbox.map(({ id }) => id)).toEqual(['leased', 'waiting']);
    await tenant.restore(snapshot);
    expect(await stateOf(tenant, 'delivered')).toEqual([]);
    const { result } = snapshot.transactions.find(({ idempotencyKey }) => idempotencyKey === 'first') ?? {};
    expect(result?.outbox.map(({ id }) => id)).toEqual(['delivered', 'leased', 'waiting']);
  });
}

function describeRefusals({ store }: Conformance): void {
  /** Refused without any change, also of the holder of an event. */
  async function expectRefusal(
    code: string,
    change: (snapshot: CanonicalTenantSnapshot) => CanonicalTenantSnapshot,
    expectedContentHash?: (snapshot: CanonicalTenantSnapshot) => string,
  ): Promise<void> {
    const tenant = new TenantClient(store());
    const snapshot = await tenant.export();
    const { leased } = await fill(tenant);
    const full = await tenant.export();
    await refused(code, tenant.restore(change(full), expectedContentHash?.(snapshot)));
    expect(await hashOf(tenant)).toBe(full.contentHash);
    await tenant.ack('leased', leased);
  }

  it('another content than the expected one is refused, and nothing replaced', async () => {
    await expectRefusal(
      'content_hash_mismatch',
      (full) => full,
      ({ contentHash }) => contentHash,
    );
  });

  it('a content that its own hash does not name is refused, and nothing replaced', async () => {
    await expectRefusal('content_hash_mismatch', (full) => ({
      ...full,
      documents: full.documents.map((each) => (each.id === 'a' ? { ...each, data: { n: 3 } } : each)),
      revisions: full.revisions,
    }));
    await expectRefusal('content_hash_mismatch', (full) => ({ ...full, fences: [] }));
  });

  it('a snapshot with contradicting lists is refused, and replaces nothing', async () => {
    await expectRefusal('validation_failed', (full) => ({ ...full, revisions: full.revisions.slice(1) }));
    await expectRefusal('validation_failed', (full) => ({ ...full, transactions: [] }));
  });

  it('the snapshot of another tenant is refused, also under the name of this one', async () => {
    const other = new TenantClient(store());
    await fill(other);
    const snapshot = await other.export();
    await expectRefusal('tenant_mismatch', () => snapshot);
    await expectRefusal('tenant_mismatch', ({ tenantId }) => ({ ...snapshot, tenantId }));
    const empty = await new TenantClient(store()).export();
    await expectRefusal('tenant_mismatch', () => empty);
    await expectRefusal('content_hash_mismatch', ({ tenantId }) => ({ ...empty, tenantId }));
    expect(await hashOf(other)).toBe(snapshot.contentHash);
  });
}

function describeRestore({ store, rivals }: Conformance): void {
  it('restores all records, from a snapshot that is not changed', async () => {
    const tenant = new TenantClient(store());
    await fill(tenant);
    const snapshot = frozen(await tenant.export());
    const before = structuredClone(snapshot);
    await tenant.commit({ mutations: [tenant.upsert('a', { n: 9 }), tenant.upsert('later')] });
    expect(await hashOf(tenant)).not.toBe(snapshot.contentHash);
    await tenant.restore(snapshot, snapshot.contentHash);
    expect(snapshot).toEqual(before);
    const { exportedAtUtc: _, ...content } = before;
    expect(await tenant.otherInstance().export()).toMatchObject(content);
  });

  it('clears leases, those of the tenant and those that a snapshot was supplied with', async () => {
    const tenant = new TenantClient(store());
    const { leased } = await fill(tenant);
    const snapshot = await tenant.export();
    const held = { leaseOwner: 'somebody', leaseExpiresAtUtc: '2099-01-01T00:00:00.000Z' };
    const outbox = snapshot.outbox.map((event) => (event.id === 'leased' ? { ...event, ...held } : event));
    await tenant.restore({ ...snapshot, outbox }, snapshot.contentHash);
    expect(await hashOf(tenant)).toBe(snapshot.contentHash);
    await refused('lease_stale', tenant.ack('leased', leased));
    await refused('lease_stale', tenant.renew('leased', { leaseToken: leased }));
    expect(await stateOf(tenant, 'leased')).toEqual([]);
    expect(await stateOf(tenant, 'ready')).toEqual(['leased', 'waiting']);
    const again = await tenant.lease({ maxItems: 9 });
    expect(again.map(({ event }) => `${event.id} ${event.deliveryCount}`).sort()).toEqual([
      'leased 2',
      'waiting 1',
    ]);
  });

  it('twice equals once, and events delivered in between can be delivered again', async () => {
    const tenant = new TenantClient(store());
    await fill(tenant);
    const snapshot = await tenant.export();
    await tenant.restore(snapshot);
    for (const { event, leaseToken } of await tenant.lease({ maxItems: 9 })) {
      await tenant.ack(event.id, leaseToken);
    }
    expect(await stateOf(tenant, 'delivered')).toEqual(['delivered', 'leased', 'waiting']);
    await tenant.restore(snapshot);
    expect(await hashOf(tenant)).toBe(snapshot.contentHash);
    expect(await stateOf(tenant, 'delivered')).toEqual(['delivered']);
    expect(await tenant.lease({ maxItems: 9 })).toHaveLength(2);
  });

  it('to empty leaves nothing: every name can be used again', async () => {
    const tenant = new TenantClient(store());
    const empty = await tenant.export();
    await fill(tenant);
    const full = await tenant.export();
    await tenant.restore(empty, empty.contentHash);
    expect(await hashOf(tenant)).toBe(empty.contentHash);
    await refused('not_found', tenant.read('claim', 'a', true));
    expect((await tenant.query({ includeDeleted: true })).items).toEqual([]);
    expect((await tenant.queryOutbox()).items).toEqual([]);
    await fill(tenant);
    // The same calls at the same times are the same tenant.
    expect(await hashOf(tenant)).toBe(full.contentHash);
  });

  it('releases fences claimed since the export, and keeps those claimed before', async () => {
    const tenant = new TenantClient(store());
    await fill(tenant);
    const snapshot = await tenant.export();
    const later = {
      idempotencyKey: 'later',
      mutations: [tenant.upsert('a', { n: 3 }), tenant.upsert('later')],
      fences: [fence('claim', 'F-2', 'later'), fence('release', 'F-1', 'a')],
      outbox: [{ id: 'later', topic: 't', key: 'k' }],
    };
    await tenant.commit(later);
    await tenant.restore(snapshot);
    await refused('not_found', tenant.read('claim', 'later'));
    await refused('not_found', tenant.ack('later', 'token'));
    await refused('fence_conflict', tenant.commit({ fences: [fence('claim', 'F-1', 'later')] }));
    for (const operation of ['claim', 'release'] as const) {
      await tenant.commit({ fences: [fence(operation, 'F-2', 'a')] });
    }
    const again = await tenant.commit({ ...later, mutations: [tenant.upsert('a', { other: true })] });
    expect(again.replayed).toBe(false);
    expect(again.documents[0]?.revision).toBe(3);
    expect((await tenant.revisions('claim', 'a')).map(({ revision }) => revision)).toEqual([3, 2, 1]);
    await refused('idempotency_conflict', tenant.commit({ idempotencyKey: 'first', outbox: later.outbox }));
  });

  it('beside commits and other restores leaves a tenant that is whole', async () => {
    const tenant = new TenantClient(store());
    const empty = await tenant.export();
    await fill(tenant);
    const full = await tenant.export();
    const count = Math.min(rivals, 12);
    const commits = Array.from({ length: count }, (_, n) =>
      tenant.otherInstance().commit({
        mutations: [
          tenant.upsert(`pair ${n}`, { n }),
          tenant.upsert(`pair ${n}`, { n }, { documentType: 'b' }),
        ],
        outbox: [{ topic: `${n}`, key: 'k' }],
      }),
    );
    const restores = [full, empty, full].map((snapshot) => tenant.otherInstance().restore(snapshot));
    await Promise.all([...restores, ...commits]);
    const snapshot = await tenant.export();
    const [left, right] = ['claim', 'b'].map((type) =>
      snapshot.documents.flatMap(({ documentType, id }) =>
        documentType === type && id.startsWith('pair') ? [id] : [],
      ),
    );
    expect(left).toEqual(right);
    const fromFull = snapshot.documents.some(({ id }) => id === 'a');
    expect(snapshot.fences).toHaveLength(fromFull ? 1 : 0);
    expect(snapshot.transactions).toHaveLength((left?.length ?? 0) + (fromFull ? 2 : 0));
    // A restore finds every contradiction between its lists.
    await tenant.restore(snapshot);
    expect(await hashOf(tenant)).toBe(snapshot.contentHash);
  });
}

function describeOthers({ store }: Conformance): void {
  it('a restore of one tenant leaves tenants with similar names unchanged', async () => {
    const name = `tenant-${randomUUID()}`;
    const tenant = new TenantClient(store(), name);
    const empty = await tenant.export();
    const others = [`${name}-2`, name.slice(0, -1), name.toUpperCase(), `${name} 2`, `t-${name}`].map(
      (tenantId) => new TenantClient(store(), tenantId),
    );
    await Promise.all([tenant, ...others].map((each) => fill(each)));
    const before = await Promise.all(others.map(hashOf));
    const full = await tenant.export();
    await tenant.restore(empty);
    await tenant.restore(full);
    expect(await Promise.all(others.map(hashOf))).toEqual(before);
    for (const other of others) expect(await stateOf(other, 'leased')).toEqual(['leased']);
    expect(await stateOf(tenant, 'leased')).toEqual([]);
  });
}
