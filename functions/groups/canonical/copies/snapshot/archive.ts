import {
  CHUNK_BYTES_DEFAULT,
  CHUNK_BYTES_MAX,
  chunkName,
  MANIFEST_BYTES_MAX,
  MANIFEST_NAME,
} from '../../../../archives/chunk-list.ts';
import type { ChunkSink, ChunkSource } from '../../../../archives/chunk-objects.ts';
import { checkNames, linesOf, readChunks } from '../../../../archives/chunk-reader.ts';
import { ChunkWriter } from '../../../../archives/chunk-writer.ts';
import { SnapshotError } from '../../../../archives/snapshot-error.ts';
import { canonicalJson } from '../../../../kernel/canonical-json.ts';
import type { RecordData } from '../../../../store/port.ts';
import { LineReader, LineTally, type SnapshotLine } from './lines.ts';
import { ARCHIVE_PROFILE, type ArchiveManifest, manifestBytes, readManifest, sealed } from './manifest.ts';
import { recordOf, type SnapshotValue } from './record-values.ts';

export type { ChunkSink, ChunkSource };

/**
 * Writes lines as an archive, the manifest last: an archive that was cut short has none. Holds two chunks at a time: one is
 * filled while the one before it is compressed, on another core, and written.
 *
 * A chunk has at most `chunkBytes` of lines, and a longer line has a chunk of its own.
 */
export async function writeArchive(
  tenantId: string,
  lines: AsyncIterable<SnapshotLine>,
  sink: ChunkSink,
  chunkBytes = CHUNK_BYTES_DEFAULT,
): Promise<ArchiveManifest> {
  if (!Number.isInteger(chunkBytes) || chunkBytes < 1 || chunkBytes > CHUNK_BYTES_MAX) {
    throw new RangeError(`a chunk has 1 to ${CHUNK_BYTES_MAX} bytes before compression`);
  }
  const writer = new ChunkWriter(sink, chunkBytes, new LineTally());
  await writer.fill(lines);
  const manifest = sealed({
    profile: ARCHIVE_PROFILE,
    tenantId,
    counts: writer.tally.counts,
    chunks: writer.chunks,
    snapshotContentHash: writer.tally.contentHash(),
  });
  await sink.write(MANIFEST_NAME, manifestBytes(manifest));
  return manifest;
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
  const bytes = await source.read(MANIFEST_NAME, MANIFEST_BYTES_MAX);
  if (bytes === null) throw new SnapshotError('incomplete', 'is missing', { object: MANIFEST_NAME });
  const manifest = readManifest(tenantId, bytes);
  if (expectedContentHash !== undefined && expectedContentHash !== manifest.contentHash) {
    throw new SnapshotError('hash_mismatch', 'is not the archive that was expected', {
      object: MANIFEST_NAME,
      pointer: '/contentHash',
    });
  }
  checkNames(manifest.chunks, await source.names());
  const reading = { begun: false, checked: false, verified: false };
  return {
    manifest,
    async check(each = () => undefined) {
      for await (const _ of readEntries(manifest, source, false)) each();
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
  for await (const entry of readEntries(manifest, source, reading.checked)) yield recordOf(entry);
  reading.verified = true;
}

/** `known`: whether the lines were read before, in chunks of the hashes that the manifest names. */
async function* readEntries(
  manifest: ArchiveManifest,
  source: ChunkSource,
  known: boolean,
): AsyncGenerator<SnapshotValue, void, undefined> {
  const reader = new LineReader(manifest.tenantId, known);
  const tally = new LineTally();
  for await (const { chunk, content } of readChunks(manifest.chunks, source)) {
    const object = chunkName(chunk.index);
    let records = 0;
    for (const line of linesOf(content, object)) {
      const entry = reader.read(line);
      if (entry === null) continue;
      tally.addEntry(entry);
      records += 1;
      yield entry;
    }
    tally.addText(content);
    if (records !== chunk.records) {
      throw new SnapshotError('invalid', 'holds another number of records than the manifest says', {
        object,
      });
    }
  }
  reader.end();
  if (tally.contentHash() !== manifest.snapshotContentHash) {
    const place = { object: MANIFEST_NAME, pointer: '/snapshotContentHash' };
    throw new SnapshotError('hash_mismatch', 'is not the hash of the lines', place);
  }
  if (canonicalJson(tally.counts) !== canonicalJson(manifest.counts)) {
    const place = { object: MANIFEST_NAME, pointer: '/counts' };
    throw new SnapshotError('invalid', 'does not count the lines', place);
  }
}
