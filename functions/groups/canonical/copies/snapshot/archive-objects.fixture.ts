import { chunkName, MANIFEST_NAME } from '../../../../archives/chunk-list.ts';
import { sealed } from '../../../../archives/manifest.ts';
import { canonicalJson, sha256 } from '../../../../kernel/canonical-json.ts';
import { writeTenantArchive } from './archive.ts';
import type { SnapshotLine } from './lines.ts';
import { type ArchiveManifest } from './manifest.ts';
import { eachOf, linesIn, sampleTenant, TENANT } from './tenants.fixture.ts';

/** An archive in memory, as writing left it and as a test changes it. */
export class Objects extends Map<string, Uint8Array> {
  async write(name: string, content: Uint8Array): Promise<void> {
    this.set(name, content);
  }

  names(): Promise<readonly string[]> {
    return Promise.resolve([...this.keys()]);
  }

  async read(name: string): Promise<Uint8Array | null> {
    return this.get(name) ?? null;
  }

  get manifest(): ArchiveManifest {
    return JSON.parse(Buffer.from(this.get(MANIFEST_NAME) ?? []).toString()) as ArchiveManifest;
  }

  /** Puts a manifest in its place that says `changes` and names itself rightly. */
  reseal(changes: object): void {
    const { contentHash: _, ...content } = this.manifest;
    this.set(MANIFEST_NAME, Buffer.from(canonicalJson(sealed({ ...content, ...changes }))));
  }

  /** Replaces the content of a chunk, and its bytes, hash and number of records in the manifest. */
  replace(index: number, content: Uint8Array, records?: number): void {
    this.set(chunkName(index), content);
    const { chunks } = this.manifest;
    const chunk = chunks[index];
    if (chunk === undefined) throw new Error('no such chunk');
    const known = {
      ...chunk,
      bytes: content.byteLength,
      hash: sha256(content),
      records: records ?? chunk.records,
    };
    this.reseal({ chunks: chunks.with(index, known) });
  }
}

export async function archived(lines: readonly SnapshotLine[], chunkBytes?: number, tenantId = TENANT) {
  const objects = new Objects();
  await writeTenantArchive(tenantId, eachOf(lines), objects, chunkBytes);
  return objects;
}

export async function sample(chunkBytes = 2048): Promise<Objects> {
  return archived(await linesIn(await sampleTenant()), chunkBytes, 'tenant-a');
}
