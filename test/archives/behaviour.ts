import { expect } from 'vitest';
import type { CanonicalTransactionRequest } from '../../contracts/generated/models.ts';
import { refused, type TenantClient } from '../support/canonical.ts';
import { allEvents } from './portrait.ts';
import { EVENTS, LATER, MANY_REVISIONS, type RichTenant } from './rich-tenant.ts';

/** Whether a restored tenant behaves as the archived one would have. The check changes the tenant. */
export async function expectBehaviour(client: TenantClient, tenant: RichTenant): Promise<void> {
  await expectReplays(client, tenant);
  await expectDocumentsToGoOn(client);
  await expectFences(client);
  await expectOutbox(client, tenant);
}

/** The tenant knows the key of every commit: a repeated commit gets the first answer, another one under the key is refused. */
async function expectReplays(client: TenantClient, { sent }: RichTenant): Promise<void> {
  for (const { request, result } of sent) {
    expect(await client.commit(request)).toEqual({ ...result, replayed: true });
    const other: CanonicalTransactionRequest = {
      ...request,
      mutations: [...(request.mutations ?? []).slice(1), client.upsert('another', { another: true })],
    };
    await refused('idempotency_conflict', client.commit(other));
  }
}

async function expectDocumentsToGoOn(client: TenantClient): Promise<void> {
  const precondition = { expectedRevision: MANY_REVISIONS };
  const upsert = client.upsert('many', { next: 1 }, { indexes: { n: '0000' }, precondition });
  const { documents } = await client.commit({ mutations: [upsert] });
  expect(documents[0]?.revision).toBe(MANY_REVISIONS + 1);
  await refused('precondition_failed', client.commit({ mutations: [upsert] }));
  const revisions = await client.revisions('claim', 'many', 1_000);
  expect(revisions.map(({ revision }) => revision)).toEqual(
    Array.from({ length: MANY_REVISIONS + 1 }, (_, n) => MANY_REVISIONS + 1 - n),
  );
  const [first] = (await client.query({ orderByIndex: 'n', documentType: 'claim', limit: 1 })).items;
  expect(first).toMatchObject({ id: 'many', data: { next: 1 } });
  // A tombstone keeps the line of revisions.
  await refused('not_found', client.read('claim', 'gone'));
  const anew = client.upsert('gone', {}, { precondition: { mustNotExist: true } });
  await refused('precondition_failed', client.commit({ mutations: [anew] }));
  const again = client.upsert('gone', {}, { precondition: { expectedRevision: 2 } });
  expect((await client.commit({ mutations: [again] })).documents[0]?.revision).toBe(3);
}

async function expectFences(client: TenantClient): Promise<void> {
  const change = (operation: 'claim' | 'release', value: string, ownerDocumentId: string) =>
    client.commit({
      fences: [{ operation, name: 'nummer ä', value, ownerDocumentType: 'claim', ownerDocumentId }],
    });
  await refused('fence_conflict', change('claim', 'ä', 'back'));
  await refused('fence_not_owned', change('release', 'ä', 'back'));
  await refused('fence_conflict', change('claim', 'A', 'many'));
  // A released fence is free, and so is one that its owner releases now.
  await change('claim', 'a', 'back');
  await change('release', 'ä', 'many');
  await change('claim', 'ä', 'back');
  await refused('fence_conflict', change('claim', 'ä', 'many'));
}

async function expectOutbox(client: TenantClient, { tokens }: RichTenant): Promise<void> {
  const { leased, delivered, deadLetter, scheduled, ready } = EVENTS;
  const idsIn = async (state?: Parameters<typeof allEvents>[1]) =>
    (await allEvents(client, state)).map(({ id }) => id).sort();
  expect(await idsIn('ready')).toEqual([...ready, ...leased].sort());
  expect(await idsIn('leased')).toEqual([]);
  expect(await idsIn('scheduled')).toEqual([...scheduled].sort());
  expect(await idsIn('delivered')).toEqual([...delivered]);
  expect(await idsIn('dead-letter')).toEqual([...deadLetter].sort());
  // A lease token from before the restore is refused.
  for (const [id, leaseToken] of tokens) {
    await refused('lease_stale', client.ack(id, leaseToken));
    await refused('lease_stale', client.renew(id, { leaseToken }));
    await refused('lease_stale', client.release(id, { leaseToken }));
  }
  const before = new Map((await allEvents(client)).map((event) => [event.id, event.deliveryCount]));
  const leases = await client.lease({ maxItems: 50, leaseSeconds: 600 });
  expect(leases.map(({ event }) => event.id).sort()).toEqual([...ready, ...leased].sort());
  for (const { event, leaseToken } of leases) {
    expect(event.deliveryCount).toBe((before.get(event.id) ?? 0) + 1);
    expect(leaseToken).not.toBe(tokens.get(event.id));
    await client.renew(event.id, { leaseToken });
    await client.ack(event.id, leaseToken);
  }
  expect(await idsIn('delivered')).toEqual([...ready, ...leased, ...delivered].sort());
  await expectDeadLetters(client);
}

async function expectDeadLetters(client: TenantClient): Promise<void> {
  await refused('outbox_event_not_dead_lettered', client.replay('delivered'));
  for (const id of EVENTS.deadLetter) await client.replay(id, true);
  const again = await client.lease({ maxItems: 50, leaseSeconds: 30 });
  expect(again.map(({ event }) => event.id).sort()).toEqual([...EVENTS.deadLetter].sort());
  // The event had one delivery only, so the end of the lease dead-letters it.
  client.advance(31_000);
  expect((await allEvents(client, 'dead-letter')).map(({ id }) => id).sort()).toEqual(
    [...EVENTS.deadLetter].sort(),
  );
  client.clock.now = Date.parse(LATER);
  const late = await client.lease({ maxItems: 50 });
  expect(late.map(({ event }) => event.id).sort()).toEqual([...EVENTS.scheduled].sort());
}
