import type { CanonicalMutation } from '../../contracts/generated/models.ts';
import type { ArchiveManifest } from '../../functions/groups/canonical/copies/snapshot/manifest.ts';
import { exportTenantArchive } from '../../functions/groups/canonical/copies/tenant-archives.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { TenantClient } from '../support/canonical.ts';
import { Objects } from './objects.ts';

/** An archive whose every part names its era, so that every reader of the tenant knows which archive was restored last. */
export interface Era {
  readonly number: number;
  readonly objects: Objects;
  readonly manifest: ArchiveManifest;
}

/** Documents of this type are read together: the markers, and what writers add to them. */
export const ITEM = 'item';
export const MARKERS = 24;
export const SLOT = 'slot';
export const SLOTS = 3;
/** The owner of the one slot that is taken already in each era. */
export const ARCHIVED_OWNER = 'marker-00';
/** About the number of records of an era, without its ballast. */
const MUTATIONS_MAX = 100;

/** Enough ballast that each provider loads it in several batches. */
export async function makeEra(tenantId: string, number: number, ballast = 560): Promise<Era> {
  const store = new MemoryStore(new MemoryDatabase());
  const client = new TenantClient(store, tenantId);
  const markers = Array.from({ length: MARKERS }, (_, n) => markerOf(client, number, n));
  const slot = number % SLOTS;
  await client.commit({
    idempotencyKey: `era ${number}`,
    mutations: [
      ...markers,
      client.upsert(`${slot}`, { by: 'archive', action: 'claim' }, { documentType: SLOT }),
    ],
    fences: [
      {
        operation: 'claim',
        name: SLOT,
        value: `${slot}`,
        ownerDocumentType: ITEM,
        ownerDocumentId: ARCHIVED_OWNER,
      },
    ],
    outbox: Array.from({ length: 6 }, (_, n) => ({
      id: n % 2 === 0 ? `event-${n}` : `event-${n}-of-${number}`,
      topic: 'era',
      key: 'k',
      payload: { era: number },
    })),
  });
  // Documents of one name have other numbers of revisions in the era before and the one after.
  for (let n = 0; n < number % 3; n++) await client.commit({ mutations: markers.slice(0, 4) });
  for (let n = 0; n < ballast; n += MUTATIONS_MAX) {
    const count = Math.min(MUTATIONS_MAX, ballast - n);
    await client.commit({
      mutations: Array.from({ length: count }, (_, m) =>
        client.upsert(`${n + m}`, { era: number, filler: 'ü'.repeat(9) }, { documentType: 'ballast' }),
      ),
    });
  }
  const objects = new Objects();
  const manifest = await exportTenantArchive(store, tenantId, objects, {
    now: client.clock.now,
    chunkBytes: 32 * 1024,
  });
  return { number, objects, manifest };
}

/** Every other one has a name that no other era knows. */
function markerOf(client: TenantClient, era: number, n: number): CanonicalMutation {
  const name = `marker-${String(n).padStart(2, '0')}`;
  const id = n % 2 === 0 ? name : `${name}-of-${era}`;
  return client.upsert(id, { era }, { documentType: ITEM, indexes: { place: id, era: `${era}` } });
}
