import { MANIFEST_BYTES_MAX, MANIFEST_NAME } from '../../archives/chunk-list.ts';
import type { ChunkSource } from '../../archives/chunk-objects.ts';
import { checkNames } from '../../archives/chunk-reader.ts';
import { checkTotals, readEntries } from '../../archives/entry-reader.ts';
import { SnapshotError } from '../../archives/snapshot-error.ts';
import type { RecordData } from '../../store/port.ts';
import { recordOfEntry, SpaceTally } from './archive-lines.ts';
import { readManifest, type SpaceManifest } from './archive-manifest.ts';
import { entryShapes } from './entry-checks.ts';
import { LineReader } from './line-reader.ts';

/** Reads the manifest and checks that the archive has exactly its objects. Throws a `SnapshotError`. */
export async function openSpaceArchive(
  source: ChunkSource,
  expectedContentHash?: string,
): Promise<SpaceManifest> {
  const bytes = await source.read(MANIFEST_NAME, MANIFEST_BYTES_MAX);
  if (bytes === null) throw new SnapshotError('incomplete', 'is missing', { object: MANIFEST_NAME });
  const manifest = readManifest(bytes);
  if (expectedContentHash !== undefined && expectedContentHash !== manifest.contentHash) {
    const place = { object: MANIFEST_NAME, pointer: '/contentHash' };
    throw new SnapshotError('hash_mismatch', 'is not the archive that was expected', place);
  }
  checkNames(manifest.chunks, await source.names());
  return manifest;
}

/** The records of the archive in their order, each checked. Throws a `SnapshotError` at the first flaw, at the latest at the end. */
export async function* readRecords(
  manifest: SpaceManifest,
  source: ChunkSource,
): AsyncGenerator<RecordData, void, undefined> {
  const tally = new SpaceTally();
  const reader = new LineReader(manifest, await entryShapes());
  for await (const entry of readEntries(manifest, source, reader, tally)) yield recordOfEntry(entry);
  checkTotals(manifest, tally);
}
