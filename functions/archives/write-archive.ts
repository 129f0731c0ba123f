import { CHUNK_BYTES_DEFAULT, CHUNK_BYTES_MAX, MANIFEST_NAME } from './chunk-list.ts';
import type { ChunkSink } from './chunk-objects.ts';
import { type ArchiveLine, ChunkWriter } from './chunk-writer.ts';
import type { LineTally } from './line-tally.ts';
import { manifestBytes, sealed } from './manifest.ts';

/**
 * Writes lines as an archive. The manifest comes last, so that an archive cut short has none. Memory holds two chunks: one is
 * filled while another core compresses the one before it.
 *
 * A chunk has at most `chunkBytes` of lines, and a longer line has a chunk of its own. `own` holds the members of the manifest that
 * name its profile and the tenant or space of its data.
 */
export async function writeArchive<Own extends object, Entry, Name extends string>(
  own: Own,
  lines: AsyncIterable<ArchiveLine<Entry>>,
  sink: ChunkSink,
  tally: LineTally<Entry, Name>,
  chunkBytes = CHUNK_BYTES_DEFAULT,
) {
  if (!Number.isInteger(chunkBytes) || chunkBytes < 1 || chunkBytes > CHUNK_BYTES_MAX)
    throw new RangeError(`a chunk has 1 to ${CHUNK_BYTES_MAX} bytes before compression`);
  const writer = new ChunkWriter(sink, chunkBytes, tally);
  await writer.fill(lines);
  const manifest = sealed({
    ...own,
    counts: tally.counts,
    chunks: writer.chunks,
    snapshotContentHash: tally.contentHash(),
  });
  await sink.write(MANIFEST_NAME, manifestBytes(manifest));
  return manifest;
}
