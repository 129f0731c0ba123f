import type { Turns } from '../../../kernel/turns.ts';
import type { RecordData, RecordStore } from '../../../store/port.ts';
import type { EventState } from '../outbox/outbox-event.ts';
import { tenantCollections, tenantScope } from '../records.ts';
import {
  type ChunkSink,
  type ChunkSource,
  type OpenArchive,
  openArchive,
  writeArchive,
} from './snapshot/archive.ts';
import { type RecordPages, type SnapshotLine, snapshotLines } from './snapshot/lines.ts';
import type { ArchiveManifest } from './snapshot/manifest.ts';
import { makeSnapshot, readSnapshot, readSnapshotInTurns, type TenantSnapshot } from './snapshot/snapshot.ts';

/**
 * Copies of a whole tenant and their restore, on every provider alike (specification, store contract: `ExportTenantAsync`,
 * `RestoreTenantAsync`, `ExportTenantArchiveAsync`, `RestoreTenantArchiveAsync`).
 *
 * An export is the tenant as of one moment, even under concurrent writes. A restore replaces everything that the tenant has
 * at one moment: a commit is before it and replaced, or after it and kept. A restore that is refused or whose process dies
 * leaves the tenant unchanged.
 */

/** Records a page at the most; a provider ends a page early when its bodies are large. */
const PAGE_RECORDS = 300;

export interface TenantExportOptions {
  /** The moment of the export, in milliseconds since 1970: leases end and events are gone as of it. */
  readonly now: number;
  /** Whether a delivered event is past its retention; without it none is. */
  readonly isGone?: (event: EventState, now: number) => boolean;
  /** Ends the copy between two records, with its reason. */
  readonly signal?: AbortSignal;
  /** Lets other calls work meanwhile; without it the copy takes each turn for as long as a page of records needs. */
  readonly turns?: Turns;
}

/** How far a copy has come. */
export interface CopyProgress {
  readonly step: 'exporting' | 'verifying' | 'restoring';
  /** Records so far, of `recordsTotal` where that is known. */
  readonly records: number;
  readonly recordsTotal: number | null;
}

export interface ArchiveOptions {
  /** Called after every record. */
  readonly onProgress?: (progress: CopyProgress) => void;
  /** Ends the copy between two records, with its reason. */
  readonly signal?: AbortSignal;
}

export interface ArchiveExportOptions extends TenantExportOptions, ArchiveOptions {
  /** Lines a chunk before compression, in bytes: 1 to 16 MiB, 8 MiB unless given. */
  readonly chunkBytes?: number;
}

export interface ArchiveRestoreOptions extends ArchiveOptions {
  /** The archive's `contentHash`; without it the one in the manifest is believed. */
  readonly expectedContentHash?: string;
}

/** The tenant as one JSON value. Throws a `SnapshotError` `too_large` beyond 64 MiB of lines. */
export async function exportTenant(
  store: RecordStore,
  tenantId: string,
  options: TenantExportOptions,
): Promise<TenantSnapshot> {
  const pages = until(options.signal, scanTenant(store, tenantId));
  return makeSnapshot(tenantId, pages, momentOf(options));
}

export interface TenantRestoreOptions {
  /** The hash that the content must have, beside the one that the snapshot names. */
  readonly expectedContentHash?: string | null | undefined;
  /** Lets other calls work while the snapshot is checked; without it the check is made in one go. */
  readonly turns?: Turns;
  /** Ends the restore between two records, with its reason. */
  readonly signal?: AbortSignal;
}

/**
 * Replaces the tenant by `snapshot`, which stays as it is; the leases in it are cleared. Throws a `SnapshotError`, with
 * nothing replaced, where it is not the snapshot of this tenant or not the content that its hash, and
 * `expectedContentHash`, name.
 */
export async function restoreTenant(
  store: RecordStore,
  tenantId: string,
  snapshot: unknown,
  { expectedContentHash = null, turns, signal }: TenantRestoreOptions = {},
): Promise<{ readonly contentHash: string }> {
  const { records, contentHash } =
    turns === undefined
      ? readSnapshot(tenantId, snapshot, expectedContentHash)
      : await readSnapshotInTurns(tenantId, snapshot, expectedContentHash, turns);
  await store.swap(tenantScope(tenantId), until(signal, eachOf(records)), () => undefined);
  return { contentHash };
}

/** Writes the tenant as an archive, in memory for two chunks. */
export async function exportTenantArchive(
  store: RecordStore,
  tenantId: string,
  sink: ChunkSink,
  options: ArchiveExportOptions,
): Promise<ArchiveManifest> {
  const lines = snapshotLines(tenantId, scanTenant(store, tenantId), momentOf(options));
  return writeArchive(tenantId, reported(lines, 'exporting', null, options), sink, options.chunkBytes);
}

/** Reads an archive to its end and throws a `SnapshotError` at its first flaw. Needs no store. */
export async function verifyTenantArchive(
  tenantId: string,
  source: ChunkSource,
  options: ArchiveRestoreOptions = {},
): Promise<ArchiveManifest> {
  return (await checkedArchive(tenantId, source, options)).manifest;
}

async function checkedArchive(
  tenantId: string,
  source: ChunkSource,
  options: ArchiveRestoreOptions,
): Promise<OpenArchive> {
  const archive = await openArchive(tenantId, source, options.expectedContentHash);
  await archive.check(progressReporter('verifying', recordsOf(archive), options));
  return archive;
}

function recordsOf({ manifest }: OpenArchive): number {
  return Object.values(manifest.counts).reduce((sum, count) => sum + count, 0);
}

/**
 * Replaces the tenant by an archive of any size, in memory for two chunks and for the check that its records agree: about
 * 60 bytes a document and 35 a commit. The archive is read twice: nothing is written before the whole archive is verified,
 * and the loaded records are verified again before they replace the tenant's.
 */
export async function restoreTenantArchive(
  store: RecordStore,
  tenantId: string,
  source: ChunkSource,
  options: ArchiveRestoreOptions = {},
): Promise<ArchiveManifest> {
  const archive = await checkedArchive(tenantId, source, options);
  await store.swap(tenantScope(tenantId), reportedRecords(archive, 'restoring', options), archive.verify);
  return archive.manifest;
}

function scanTenant(store: RecordStore, tenantId: string): RecordPages {
  const collections = tenantCollections.map(({ name }) => name);
  return store.scan(tenantScope(tenantId), { collections, pageSize: PAGE_RECORDS });
}

function momentOf({ now, isGone, turns }: TenantExportOptions) {
  return {
    now,
    ...(isGone && { isGone: (event: EventState) => isGone(event, now) }),
    ...(turns && { turns }),
  };
}

async function* reported(
  lines: AsyncIterable<SnapshotLine>,
  step: CopyProgress['step'],
  recordsTotal: number | null,
  options: ArchiveOptions,
): AsyncGenerator<SnapshotLine, void, undefined> {
  const reportProgress = progressReporter(step, recordsTotal, options);
  for await (const line of lines) {
    if (line.entry !== null) reportProgress();
    yield line;
  }
}

async function* reportedRecords(
  archive: OpenArchive,
  step: CopyProgress['step'],
  options: ArchiveOptions,
): AsyncGenerator<RecordData, void, undefined> {
  const reportProgress = progressReporter(step, recordsOf(archive), options);
  for await (const record of archive.records) {
    reportProgress();
    yield record;
  }
}

function progressReporter(
  step: CopyProgress['step'],
  recordsTotal: number | null,
  { onProgress, signal }: ArchiveOptions,
) {
  let records = 0;
  return (): void => {
    signal?.throwIfAborted();
    records += 1;
    onProgress?.({ step, records, recordsTotal });
  };
}

async function* until<T>(
  signal: AbortSignal | undefined,
  items: AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  for await (const item of items) {
    signal?.throwIfAborted();
    yield item;
  }
}

async function* eachOf<T>(items: Iterable<T>): AsyncGenerator<T, void, undefined> {
  yield* items;
}
