import type { RecordData, RecordStore } from '../../../store/port.ts';
import { tenantScope } from '../records.ts';
import {
  type ChunkSink,
  type ChunkSource,
  type OpenArchive,
  openArchive,
  writeTenantArchive,
} from './snapshot/archive.ts';
import { type SnapshotLine, snapshotLines } from './snapshot/lines.ts';
import type { ArchiveManifest } from './snapshot/manifest.ts';
import { momentOf, scanTenant, type TenantExportOptions } from './tenant-copies.ts';

/** Copies of a tenant of any size, as archives. `tenant-copies.ts` has the snapshots that fit into a request. */

/** The progress of a copy. */
interface CopyProgress {
  readonly step: 'exporting' | 'verifying' | 'restoring';
  /** Records so far. `recordsTotal` is their final number, if it is known. */
  readonly records: number;
  readonly recordsTotal: number | null;
}

interface ArchiveOptions {
  /** Called after every record. */
  readonly onProgress?: (progress: CopyProgress) => void;
  /** Ends the copy between two records, with its reason. */
  readonly signal?: AbortSignal;
}

export interface ArchiveExportOptions extends TenantExportOptions, ArchiveOptions {
  /** Size of a chunk before compression, in bytes: 1 to 16 MiB. Default: 8 MiB. */
  readonly chunkBytes?: number;
}

export interface ArchiveRestoreOptions extends ArchiveOptions {
  /** The expected `contentHash` of the archive. Default: the hash in the manifest. */
  readonly expectedContentHash?: string;
}

/** Writes the tenant as an archive. Memory holds two chunks. */
export async function exportTenantArchive(
  store: RecordStore,
  tenantId: string,
  sink: ChunkSink,
  options: ArchiveExportOptions,
): Promise<ArchiveManifest> {
  const lines = snapshotLines(tenantId, scanTenant(store, tenantId), momentOf(options));
  return writeTenantArchive(tenantId, reported(lines, 'exporting', null, options), sink, options.chunkBytes);
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
 * Replaces the tenant by an archive of any size. Memory holds two chunks, and about 60 bytes for each document and 35 for each commit.
 * The archive is read twice: once to verify it before any write, and once to load the records, which are verified again before they
 * replace those of the tenant.
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
