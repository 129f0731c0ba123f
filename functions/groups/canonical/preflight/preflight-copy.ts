import { canonicalJson, type Json, sha256 } from '../../../kernel/canonical-json.ts';
import { parseJson } from '../../../kernel/json-text.ts';
import type { RecordData, RecordStore } from '../../../store/port.ts';
import type { ArchiveManifest } from '../copies/snapshot/manifest.ts';
import { MemoryArchive } from '../copies/snapshot/memory-archive.ts';
import { exportTenantArchive, restoreTenantArchive, verifyTenantArchive } from '../copies/tenant-archives.ts';
import { tenantCollections, tenantScope } from '../records.ts';

const PAGE_RECORDS = 100;

/** Small, so that the archive of a few records has many chunks. */
const CHUNK_BYTES = 128;

/** A tenant as an archive, and all its stored records. */
export interface TenantCopy {
  readonly tenantId: string;
  readonly records: readonly RecordData[];
  /** Hash of all bytes of the records, also of parts that no archive contains. */
  readonly hash: string;
  readonly manifest: ArchiveManifest;
  readonly archive: MemoryArchive;
}

/** Writes the archive and reads it back. Throws if it cannot be read. */
export async function copyTenant(store: RecordStore, tenantId: string, now: number): Promise<TenantCopy> {
  const records = await recordsOf(store, tenantId);
  const archive = new MemoryArchive();
  const manifest = await exportTenantArchive(store, tenantId, archive, { now, chunkBytes: CHUNK_BYTES });
  await verifyTenantArchive(tenantId, archive, { expectedContentHash: manifest.contentHash });
  return { tenantId, records, hash: sha256(canonicalJson(records.map(inFull))), manifest, archive };
}

export async function bringBack(store: RecordStore, copy: TenantCopy): Promise<void> {
  const { tenantId, archive, manifest } = copy;
  await restoreTenantArchive(store, tenantId, archive, { expectedContentHash: manifest.contentHash });
}

/** Removes all records of the tenant. Returns whether the tenant is empty then. */
export async function emptyTenant(store: RecordStore, tenantId: string): Promise<boolean> {
  await store.swap(tenantScope(tenantId), none(), () => undefined);
  return (await recordsOf(store, tenantId)).length === 0;
}

async function recordsOf(store: RecordStore, tenantId: string): Promise<readonly RecordData[]> {
  const collections = tenantCollections.map(({ name }) => name);
  const records: RecordData[] = [];
  for await (const page of store.scan(tenantScope(tenantId), { collections, pageSize: PAGE_RECORDS })) {
    records.push(...page.records);
  }
  return records;
}

/** Whether every tenant id in every record is that of this tenant, and at least one record has one. */
export function namesItsTenant({ tenantId, records }: TenantCopy): boolean {
  const named = records.flatMap(({ body, parts }) =>
    [body ?? null, ...(parts ?? []).map((part) => part.body)].flatMap((text) =>
      text === null ? [] : tenantsNamedIn(parseJson(text) as Json),
    ),
  );
  return named.length > 0 && named.every((name) => name === tenantId);
}

function tenantsNamedIn(value: Json): Json[] {
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, member]: [string, Json]) =>
    name === 'tenantId' ? [member] : tenantsNamedIn(member),
  );
}

/** The record with all members in one form, so that an absent member equals a stored null. */
function inFull({ key, head, body, listing, due, parts }: RecordData) {
  const filed = (parts ?? []).map((part) => canonicalJson(part)).sort();
  return { key, head, body: body ?? null, listing: listing ?? null, due: due ?? null, parts: filed };
}

async function* none(): AsyncGenerator<RecordData, void, undefined> {}
