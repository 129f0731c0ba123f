import { expect } from 'vitest';
import type { ChunkSource } from '../../functions/groups/canonical/copies/snapshot/archive.ts';
import { restoreTenantArchive } from '../../functions/groups/canonical/copies/tenant-archives.ts';
import { exportTenant } from '../../functions/groups/canonical/copies/tenant-copies.ts';
import { canonicalJson, sha256 } from '../../functions/kernel/canonical-json.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { START, TenantClient } from '../support/canonical.ts';
import { type Era, ITEM, makeEra } from './eras.ts';

/** Two archives of one tenant that replace each other, and the checks that show which of them a database holds. */
export class Stage {
  readonly tenantId: string;
  readonly eras: readonly [Era, Era];
  readonly #glances: ReadonlyMap<number, string>;

  private constructor(tenantId: string, eras: readonly [Era, Era], glances: ReadonlyMap<number, string>) {
    this.tenantId = tenantId;
    this.eras = eras;
    this.#glances = glances;
  }

  static async prepare(tenantId: string, ballast?: number): Promise<Stage> {
    const eras = [await makeEra(tenantId, 1, ballast), await makeEra(tenantId, 2, ballast)] as const;
    const glances = new Map<number, string>();
    for (const era of eras) {
      const store = new MemoryStore(new MemoryDatabase());
      await restoreTenantArchive(store, tenantId, era.objects);
      glances.set(era.number, await glanceAt(store, tenantId));
    }
    return new Stage(tenantId, eras, glances);
  }

  async restore(store: RecordStore, era: Era, source: ChunkSource = era.objects): Promise<void> {
    await restoreTenantArchive(store, this.tenantId, source);
  }

  /** The number of the era by the content of the tenant. Fails where it is of none, or where lists show another. */
  async eraIn(store: RecordStore): Promise<number> {
    const { contentHash } = await exportTenant(store, this.tenantId, { now: START });
    const era = this.eras.find(({ manifest }) => manifest.snapshotContentHash === contentHash);
    if (era === undefined) throw new Error('the content is that of no era');
    expect(await glanceAt(store, this.tenantId), 'the lists are of the same era').toBe(
      this.#glances.get(era.number),
    );
    return era.number;
  }

  /** The number of the era, read from one of its documents. */
  async markerIn(store: RecordStore): Promise<unknown> {
    const { data } = await new TenantClient(store, this.tenantId).read(ITEM, 'marker-00');
    return data?.['era'];
  }
}

/** The answers of lists, revisions and the outbox, each of which a provider stores in its own way. */
async function glanceAt(store: RecordStore, tenantId: string): Promise<string> {
  const client = new TenantClient(store, tenantId, { now: START });
  const answers = [
    await client.query({ orderByIndex: 'place', limit: 1_000 }),
    await client.query({ documentType: ITEM, limit: 1_000 }),
    await client.revisions(ITEM, 'marker-00', 1_000),
    await client.queryOutbox({ limit: 1_000 }),
  ];
  return sha256(canonicalJson(answers));
}
