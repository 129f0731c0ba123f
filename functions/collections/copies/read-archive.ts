import type { ChunkSource } from '../../archives/chunk-objects.ts';
import { checkTotals, readEntries } from '../../archives/entry-reader.ts';
import { LineReader } from '../../archives/line-reader.ts';
import type { RecordData } from '../../store/port.ts';
import { recordOfEntry, SpaceTally } from './archive-lines.ts';
import type { SpaceManifest } from './archive-manifest.ts';
import { entryShapes } from './entry-checks.ts';
import { spaceFormat } from './line-reader.ts';

/** The records of the archive in their order, each checked. Throws a `SnapshotError` at the first flaw, at the latest at the end. */
export async function* readRecords(
  manifest: SpaceManifest,
  source: ChunkSource,
): AsyncGenerator<RecordData, void, undefined> {
  const tally = new SpaceTally();
  const reader = new LineReader(spaceFormat(manifest.space, await entryShapes()));
  for await (const entry of readEntries(manifest, source, reader, tally)) yield recordOfEntry(entry);
  checkTotals(manifest, tally);
}
