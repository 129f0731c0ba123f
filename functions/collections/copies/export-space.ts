import type { ChunkSink } from '../../archives/chunk-objects.ts';
import type { ArchiveLine } from '../../archives/chunk-writer.ts';
import { writeArchive } from '../../archives/write-archive.ts';
import type { RecordStore } from '../../store/port.ts';
import { POLICIES, RECORDS, spaceScope } from '../store-collections.ts';
import {
  carriedSpaceCollections,
  entryLine,
  type SpaceEntry,
  SpaceTally,
  spaceHeadLine,
} from './archive-lines.ts';
import { SPACE_PROFILE, type SpaceManifest } from './archive-manifest.ts';
import { type SpaceCopyOptions, stepper } from './copy-options.ts';

export interface SpaceExportOptions extends SpaceCopyOptions {
  /** Bytes of the lines of a chunk, before compression. */
  readonly chunkBytes?: number;
}

/** The part of a store that a copy reads. */
export type ScannedStore = Pick<RecordStore, 'scan'>;

const PAGE = 200;

/** Writes the space as of one moment of the store. The manifest comes last, so that an interrupted archive has none. */
export async function exportSpace(
  store: ScannedStore,
  space: string,
  sink: ChunkSink,
  { chunkBytes, ...options }: SpaceExportOptions = {},
): Promise<SpaceManifest> {
  const lines = reported(spaceLines(store, space), 'exporting', options);
  return writeArchive({ profile: SPACE_PROFILE, space }, lines, sink, new SpaceTally(), chunkBytes);
}

/** Counts and hash of the space, as an export of this moment would have them. */
export async function tallySpace(
  store: ScannedStore,
  space: string,
  options: SpaceCopyOptions = {},
): Promise<SpaceTally> {
  const tally = new SpaceTally();
  for await (const { line, entry } of reported(spaceLines(store, space), 'counting records', options)) {
    tally.add({ line, entry });
  }
  return tally;
}

/**
 * The scan finds all policies before the first record. Records of an incarnation without a name wait for the sweep or for the end
 * of an import: no reader sees them, so copies leave them out.
 */
async function* spaceLines(
  store: ScannedStore,
  space: string,
): AsyncGenerator<ArchiveLine<SpaceEntry>, void, undefined> {
  yield { line: spaceHeadLine(space), entry: null };
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
