import type { CanonicalTenantSnapshot } from '../../contracts/generated/models.ts';
import { sha256 } from '../../functions/kernel/canonical-json.ts';
import { ArchiveObjects, type ArchiveRestore } from './archives.ts';
import { Client } from './clients.ts';
import type { Copy } from './copy-oracle.ts';

/** Keeps copies of its tenant in both forms, and brings one of them back now and then, rightly or not. */
export class Keeper extends Client {
  readonly #kept: Copy[] = [];

  async run(turns: number, others: readonly string[]): Promise<void> {
    const { random } = this.work;
    for (let turn = 0; turn < turns; turn++) {
      await this.pause(50);
      await this.#keep();
      await this.pause(30);
      if (random.chance(0.6)) await this.#bringBack(others);
    }
  }

  async #keep(): Promise<void> {
    const archived = this.work.random.chance(0.5);
    const outcome = archived
      ? await this.persist('exportTenantArchive', this.params(), null)
      : await this.persist('exportCanonicalTenant', this.params(), null);
    if (outcome.kind === 'answer') this.#kept.push(outcome.body);
  }

  async #bringBack(others: readonly string[]): Promise<void> {
    const { random } = this.work;
    if (this.#kept.length === 0) return;
    const copy = random.pick(this.#kept);
    const expected = random.below(4);
    const params = random.chance(0.1) ? { tenantId: random.pick(others) } : this.params();
    const expectedContentHash = expected === 0 ? sha256('another') : expected === 1 ? copyHash(copy) : null;
    if (copy instanceof ArchiveObjects) {
      const spoiledFrom = random.chance(0.3) ? random.pick([1, 2] as const) : 0;
      const more = expectedContentHash === null ? {} : { expectedContentHash };
      const body: ArchiveRestore = { archive: copy, spoiledFrom, ...more };
      await this.persist('restoreTenantArchive', params, body);
    } else {
      await this.persist('restoreCanonicalTenant', params, { snapshot: copy, expectedContentHash });
    }
  }
}

/** The hash that a restore of this copy may ask for. */
function copyHash(copy: CanonicalTenantSnapshot | ArchiveObjects): string {
  return copy instanceof ArchiveObjects ? copy.manifest.contentHash : copy.contentHash;
}
