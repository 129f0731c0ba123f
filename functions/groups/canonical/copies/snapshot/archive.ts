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

/** An archive whose manifest is valid. The content of its chunks is known only after all of them were read. */
export interface OpenArchive {
  readonly manifest: ArchiveManifest;
  /**
   * Reads it to its end and throws a `SnapshotError` at the first flaw; `each` is called with every record. The records may be
   * taken after that, and come faster: the lines of a chunk that has the same SHA-256 were found good.
   */
  readonly check: (each?: () => void) => Promise<void>;
  /** The records, to be taken once. Throws a `SnapshotError` at the first flaw, so that a swap is given up. */
  readonly records: AsyncIterable<RecordData>;
  /** Throws unless the records were read to their end and everything was as the manifest says: a swap asks it last. */
  readonly verify: () => void;
}

/**
 * Opens an archive of the tenant, the one whose manifest hash is `expectedContentHash` where that is given. Throws a
 * `SnapshotError` where manifest and objects are not those of a whole archive.
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

/** `known`: whether the lines were read before, in chunks of the hashes that the manifest names. */
function readingOf({ tenantId }: ArchiveManifest, known: boolean) {
  return { reader: new SnapshotLineReader(tenantId, known), tally: new SnapshotTally() };
}
