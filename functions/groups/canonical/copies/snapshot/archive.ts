import type { ChunkSink, ChunkSource } from '../../../../archives/chunk-objects.ts';
import { checkTotals, readEntries } from '../../../../archives/entry-reader.ts';
import { openManifest } from '../../../../archives/manifest.ts';
import { SnapshotError } from '../../../../archives/snapshot-error.ts';
import { writeArchive } from '../../../../archives/write-archive.ts';
import type { RecordData } from '../../../../store/port.ts';
import { type SnapshotLine, SnapshotLineReader, SnapshotTally } from './lines.ts';
import { ARCHIVE_PROFILE, type ArchiveManifest, tenantArchives } from './manifest.ts';
import { recordOf } from './record-values.ts';

export type { ChunkSink, ChunkSource };

/** Writes the lines of the tenant as an archive. */
export async function writeTenantArchive(
  tenantId: string,
  lines: AsyncIterable<SnapshotLine>,
  sink: ChunkSink,
  chunkBytes?: number,
): Promise<ArchiveManifest> {
  return writeArchive({ profile: ARCHIVE_PROFILE, tenantId }, lines, sink, new SnapshotTally(), chunkBytes);
}

/** An archive with a valid manifest. Its chunks are not checked until they are read. */
export interface OpenArchive {
  readonly manifest: ArchiveManifest;
  /**
   * Reads all chunks, calls `each` for every record, and throws a `SnapshotError` at the first flaw. A later read of `records` is
   * faster, because it checks only the hash of each chunk.
   */
  readonly check: (each?: () => void) => Promise<void>;
  /** The records, which can be read once. Throws a `SnapshotError` at the first flaw, which aborts a swap. */
  readonly records: AsyncIterable<RecordData>;
  /** Throws unless all records were read and agree with the manifest. A swap calls it last. */
  readonly verify: () => void;
}

/**
 * Opens an archive of the tenant. If `expectedContentHash` is given, the manifest must have this hash. Throws a `SnapshotError` if
 * the manifest is invalid or an object is missing.
 */
export async function openArchive(
  tenantId: string,
  source: ChunkSource,
  expectedContentHash?: string,
): Promise<OpenArchive> {
  const manifest = await openManifest(tenantArchives(tenantId), source, expectedContentHash);
  const reading = { begun: false, checked: false, verified: false };
  return {
    manifest,
    async check(each = () => undefined) {
      const { reader, tally } = readingOf(manifest, false);
      for await (const _ of readEntries(manifest, source, reader, tally)) each();
      checkTotals(manifest, tally);
      reading.checked = true;
    },
    records: { [Symbol.asyncIterator]: () => readRecords(manifest, source, reading) },
    verify: () => {
      if (!reading.verified) throw new SnapshotError('incomplete', 'the archive was not read to its end');
    },
  };
}

async function* readRecords(
  manifest: ArchiveManifest,
  source: ChunkSource,
  reading: { begun: boolean; checked: boolean; verified: boolean },
): AsyncGenerator<RecordData, void, undefined> {
  if (reading.begun) throw new Error('the records of an archive are read once');
  reading.begun = true;
  const { reader, tally } = readingOf(manifest, reading.checked);
  for await (const entry of readEntries(manifest, source, reader, tally)) yield recordOf(entry);
  checkTotals(manifest, tally);
  reading.verified = true;
}

/** `known`: the lines were checked before, in chunks with the same hashes. */
function readingOf({ tenantId }: ArchiveManifest, known: boolean) {
  return { reader: new SnapshotLineReader(tenantId, known), tally: new SnapshotTally() };
}
