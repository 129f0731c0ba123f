import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ArchiveManifest } from '../../functions/groups/canonical/copies/snapshot/manifest.ts';
import {
  exportTenantArchive,
  restoreTenantArchive,
} from '../../functions/groups/canonical/copies/tenant-archives.ts';
import { exportTenant, restoreTenant } from '../../functions/groups/canonical/copies/tenant-copies.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { START, TenantClient } from '../support/canonical.ts';
import { expectBehaviour } from './behaviour.ts';
import { leftOut, type Provider, providers, type TestDatabase } from './databases.ts';
import { Objects } from './objects.ts';
import { allEvents, type Likeness, portraitOf } from './portrait.ts';
import { EVENTS, makeRichTenant, type RichTenant } from './rich-tenant.ts';

const TENANT = 'portable-ü';
const NEIGHBOUR = 'neighbour';
/** Several chunks, with lines both shorter and longer than one. */
const CHUNK_BYTES = 64 * 1024;

interface Source {
  readonly tenant: RichTenant;
  readonly likeness: Likeness;
  readonly objects: Objects;
  readonly manifest: ArchiveManifest;
  readonly exportedAt: number;
}

const opened: { readonly store: RecordStore; readonly database: TestDatabase }[] = [];

async function openDatabase(provider: Provider): Promise<RecordStore> {
  const database = await provider.create();
  const store = await database.open();
  opened.push({ store, database });
  return store;
}

async function makeSource(provider: Provider): Promise<Source> {
  const store = await openDatabase(provider);
  const client = new TenantClient(store, TENANT);
  const tenant = await makeRichTenant(client);
  const exportedAt = client.clock.now;
  const objects = new Objects();
  const manifest = await exportTenantArchive(store, TENANT, objects, {
    now: exportedAt,
    chunkBytes: CHUNK_BYTES,
  });
  return { tenant, likeness: await portraitOf(client), objects, manifest, exportedAt };
}

const sources = new Map<string, Source>();
const targets = new Map<string, RecordStore>();
const present = providers.filter(({ missing }) => missing === undefined);

beforeAll(async () => {
  // Run one provider after the other: each test below compares them, and parallel work would slow some.
  for (const provider of present) {
    sources.set(provider.name, await makeSource(provider));
    targets.set(provider.name, await openDatabase(provider));
  }
});
afterAll(async () => {
  for (const { store, database } of opened) {
    await store.close();
    await database.drop();
  }
});

function sourceOf(name: string): Source {
  const source = sources.get(name);
  if (source === undefined) throw new Error(`there is no source ${name}`);
  return source;
}

/** The expected state after a restore: the same, without the leases of events. */
function withoutLeases({ events }: Likeness) {
  return events.map((event) => ({ ...event, leaseOwner: null, leaseExpiresAtUtc: null }));
}

describe('the same operations at the same time, on any provider,', () => {
  for (const provider of providers.slice(1)) {
    test.skipIf(provider.missing !== undefined)(
      `give the same archive, byte for byte: sqlite and ${provider.name}${leftOut(provider)}`,
      () => {
        const [left, right] = [sourceOf('sqlite'), sourceOf(provider.name)];
        expect(right.manifest).toEqual(left.manifest);
        expect(right.objects.digests).toEqual(left.objects.digests);
        expect(right.tenant.sent).toEqual(left.tenant.sent);
        expect(right.likeness.portrait['all documents']).toBe(left.likeness.portrait['all documents']);
      },
    );
  }

  test('fill an archive that has all there is to have', () => {
    const { manifest, objects, likeness } = sourceOf('sqlite');
    expect(manifest.chunks.length).toBeGreaterThan(10);
    expect(manifest.counts.commits).toBe(sourceOf('sqlite').tenant.sent.length);
    expect(Math.min(...Object.values(manifest.counts))).toBeGreaterThan(10);
    expect(Object.keys(objects.digests)).toHaveLength(manifest.chunks.length + 1);
    const leased = likeness.events.filter(({ leaseOwner }) => leaseOwner !== null).map(({ id }) => id);
    expect(leased.sort()).toEqual([...EVENTS.leased, 'expired'].sort());
  });
});

/** Fills the tenant beforehand: in part under the names that the archive has, which a merge would leave in place. */
async function makeOther(store: RecordStore): Promise<void> {
  for (const tenantId of [TENANT, NEIGHBOUR]) {
    const client = new TenantClient(store, tenantId, { now: START });
    await client.commit({
      mutations: [
        client.upsert('stray', {}, { indexes: { title: 'stray', parity: 'even', n: '0003' } }),
        client.upsert('many', { other: true }, { indexes: { n: '9999' } }),
        client.upsert('a', {}, { documentType: 'stray', indexes: { title: 'a' } }),
      ],
      outbox: [
        { topic: 'stray', key: 'k' },
        { topic: 'stray', key: 'leased' },
      ],
    });
    await client.lease({ maxItems: 1, leaseSeconds: 80_000 });
  }
}

async function archiveOf(store: RecordStore, now: number): Promise<Objects> {
  const objects = new Objects();
  await exportTenantArchive(store, TENANT, objects, { now, chunkBytes: CHUNK_BYTES });
  return objects;
}

async function hashOf(store: RecordStore, tenantId: string): Promise<string> {
  return (await exportTenant(store, tenantId, { now: START })).contentHash;
}

describe.each(providers.map((provider) => ({ provider, name: provider.name })))(
  'an archive restored on $name',
  ({ provider: target }) => {
    for (const from of providers) {
      const missing = target.missing !== undefined || from.missing !== undefined;
      test.skipIf(missing)(`is the tenant of ${from.name}${leftOut(from)}${leftOut(target)}`, async () => {
        const store = targets.get(target.name) as RecordStore;
        const source = sourceOf(from.name);
        await makeOther(store);
        const neighbour = await hashOf(store, NEIGHBOUR);
        const { contentHash } = source.manifest;
        const restored = await restoreTenantArchive(store, TENANT, source.objects, {
          expectedContentHash: contentHash,
        });
        expect(restored).toEqual(source.manifest);
        const client = new TenantClient(store, TENANT, { now: source.exportedAt });
        const { events, portrait, documents } = await portraitOf(client);
        const { 'all events': _, ...asked } = source.likeness.portrait;
        expect(portrait).toMatchObject(asked);
        expect(documents).toEqual(source.likeness.documents);
        expect(events).toEqual(withoutLeases(source.likeness));
        expect((await archiveOf(store, source.exportedAt)).digests).toEqual(source.objects.digests);
        await expectBehaviour(client, source.tenant);
        expect(await hashOf(store, NEIGHBOUR)).toBe(neighbour);
      });
    }

    test.skipIf(target.missing !== undefined)(
      `is also what a snapshot of it is${leftOut(target)}`,
      async () => {
        const store = targets.get(target.name) as RecordStore;
        const source = sourceOf(target.name);
        const snapshot = await restoredSnapshot(store, source);
        await makeOther(store);
        expect(await restoreTenant(store, TENANT, snapshot)).toEqual({ contentHash: snapshot.contentHash });
        expect((await archiveOf(store, source.exportedAt)).digests).toEqual(source.objects.digests);
        expect(
          await allEvents(new TenantClient(store, TENANT, { now: source.exportedAt }), 'leased'),
        ).toEqual([]);
      },
    );
  },
);

/** The archive's content by way of the other form, through JSON text as it would travel. */
async function restoredSnapshot(store: RecordStore, { objects, manifest, exportedAt }: Source) {
  await restoreTenantArchive(store, TENANT, objects);
  const snapshot = await exportTenant(store, TENANT, { now: exportedAt });
  expect(snapshot.contentHash).toBe(manifest.snapshotContentHash);
  return JSON.parse(JSON.stringify(snapshot)) as typeof snapshot;
}
