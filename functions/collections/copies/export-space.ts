import { CHUNK_BYTES_DEFAULT, CHUNK_BYTES_MAX, MANIFEST_NAME } from '../../archives/chunk-list.ts';
import type { ChunkSink } from '../../archives/chunk-objects.ts';
import { type ArchiveLine, ChunkWriter } from '../../archives/chunk-writer.ts';
import type { RecordStore } from '../../store/port.ts';
import { POLICIES, RECORDS, spaceScope } from '../store-collections.ts';
import {
  carriedSpaceCollections,
  entryLine,
  headLine,
  type SpaceEntry,
  SpaceTally,
} from './archive-lines.ts';
import { manifestBytes, SPACE_PROFILE, type SpaceManifest, sealed } from './archive-manifest.ts';
import { type SpaceCopyOptions, stepper } from './copy-options.ts';

export interface SpaceExportOptions extends SpaceCopyOptions {
  /** Lines a chunk before compression, in bytes. */
  readonly chunkBytes?: number;
}

/** A store of which a copy only reads. */
export type ScannedStore = Pick<RecordStore, 'scan'>;

const PAGE = 200;

/** Writes the space as of one moment of the store, the manifest last: an archive that was cut short has none. */
export async function exportSpace(
  store: ScannedStore,
  space: string,
  sink: ChunkSink,
  { chunkBytes = CHUNK_BYTES_DEFAULT, ...options }: SpaceExportOptions = {},
): Promise<SpaceManifest> {
  if (!Number.isInteger(chunkBytes) || chunkBytes < 1 || chunkBytes > CHUNK_BYTES_MAX)
    throw new RangeError(`a chunk has 1 to ${CHUNK_BYTES_MAX} bytes before compression`);
  const writer = new ChunkWriter<SpaceEntry, SpaceTally>(sink, chunkBytes, new SpaceTally());
  await writer.fill(reported(spaceLines(store, space), 'exporting', options));
  const { counts } = writer.tally;
  const snapshotContentHash = writer.tally.contentHash();
  const manifest = sealed({
    profile: SPACE_PROFILE,
    space,
    counts,
    chunks: writer.chunks,
    snapshotContentHash,
  });
  await sink.write(MANIFEST_NAME, manifestBytes(manifest));
  return manifest;
}

/** Counts and hash of the space, as an export of this moment would have them. */
export async function tallySpace(
  store: ScannedStore,
  space: string,
  options: SpaceCopyOptions = {},
): Promise<SpaceTally> {
  const tally = new SpaceTally();
  for await (const { line, entry } of reported(spaceLines(store, space), 'counting records', options)) {
    tally.addText(Buffer.from(line));
    tally.addEntry(entry);
  }
  return tally;
}

/**
 * The scan meets all policies before the first record. Records of an incarnation to which no name points wait for their
 * sweep or for the end of an import: no reader sees them, so no copy has them.
 */
async function* spaceLines(
  store: ScannedStore,
  space: string,
): AsyncGenerator<ArchiveLine<SpaceEntry>, void, undefined> {
  yield { line: headLine(space), entry: null };
  const incarnations = new Set<unknown>();
  const pages = store.scan(spaceScope(space), { collections: carriedSpaceCollections, pageSize: PAGE });
  for await (const { records } of pages)
    for (const record of records) {
      if (record.key.collection === POLICIES.name) incarnations.add(record.head.incarnation);
      if (record.key.collection === RECORDS.name && !incarnations.has(record.listing?.group)) continue;
      yield entryLine(record);
    }
}

async function* reported(
  lines: AsyncIterable<ArchiveLine<SpaceEntry>>,
  name: string,
  options: SpaceCopyOptions,
): AsyncGenerator<ArchiveLine<SpaceEntry>, void, undefined> {
  const step = stepper(name, null, options);
  for await (const line of lines) {
    if (line.entry !== null) step();
    yield line;
  }
}
