import { promisify } from 'node:util';
import { gunzip as gunzipCallback } from 'node:zlib';
import { sha256 } from '../kernel/canonical-json.ts';
import {
  type ArchiveChunk,
  CHUNK_BYTES_MAX,
  chunkName,
  MANIFEST_NAME,
  STORED_CHUNK_BYTES_MAX,
} from './chunk-list.ts';
import type { ChunkSource } from './chunk-objects.ts';
import { SnapshotError } from './snapshot-error.ts';

const gunzip = promisify(gunzipCallback);

/** As in `chunk-writer.ts`: JSON is mostly a fifth of its size when it is compressed. */
const UNPACKED_TIMES = 8;
const PIECE_BYTES_MIN = 16 * 1024;
const LINE_FEED = 0x0a;

/** Throws unless the archive has exactly the objects that its manifest names. */
export function checkNames(chunks: readonly ArchiveChunk[], names: readonly string[]): void {
  const left = new Set(names);
  if (left.size !== names.length)
    throw new SnapshotError('duplicate', 'an object of the archive is listed twice');
  for (const object of [MANIFEST_NAME, ...chunks.map(({ index }) => chunkName(index))]) {
    if (!left.delete(object)) throw new SnapshotError('incomplete', 'is missing', { object });
  }
  if (left.size > 0)
    throw new SnapshotError('invalid', 'the archive holds an object that its manifest does not name');
}

/** Yields each chunk with its lines. It fetches and unpacks the next chunk while the caller reads the lines of this one. */
export async function* readChunks(
  chunks: readonly ArchiveChunk[],
  source: ChunkSource,
): AsyncGenerator<{ chunk: ArchiveChunk; content: Buffer }, void, undefined> {
  const ahead = (index: number) => {
    const chunk = chunks[index];
    if (chunk === undefined) return undefined;
    const content = readChunk(chunk, source);
    // Prevents an unhandled rejection; the loop throws the error when it reaches this chunk.
    content.catch(() => undefined);
    return { chunk, content };
  };
  let next = ahead(0);
  try {
    for (let index = 1; next !== undefined; index += 1) {
      const { chunk, content: reading } = next;
      const content = await reading;
      next = ahead(index);
      yield { chunk, content };
    }
  } finally {
    // A caller that stops early may close the source, so wait until the last read from it has ended.
    await next?.content.catch(() => undefined);
  }
}

/** Returns the lines of a chunk. Unpacks only a chunk with the right hash, and at most the size of the largest chunk. */
async function readChunk(chunk: ArchiveChunk, source: ChunkSource): Promise<Buffer> {
  const object = chunkName(chunk.index);
  const content = await source.read(object, STORED_CHUNK_BYTES_MAX);
  if (content === null) throw new SnapshotError('incomplete', 'is missing', { object });
  if (content.byteLength !== chunk.bytes || sha256(content) !== chunk.hash) {
    throw new SnapshotError('hash_mismatch', 'is not the chunk that the manifest names', { object });
  }
  try {
    const likely = Math.min(content.byteLength * UNPACKED_TIMES, CHUNK_BYTES_MAX);
    const chunkSize = Math.max(PIECE_BYTES_MIN, likely);
    return await gunzip(content, { maxOutputLength: CHUNK_BYTES_MAX, chunkSize });
  } catch (error) {
    if (error instanceof RangeError) {
      throw new SnapshotError('over_limit', `unpacks to more than ${CHUNK_BYTES_MAX} bytes`, { object });
    }
    throw new SnapshotError('malformed', 'is not gzip', { object });
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function* linesOf(content: Buffer, object: string): Generator<string, void, undefined> {
  if (content.at(-1) !== LINE_FEED)
    throw new SnapshotError('malformed', 'does not hold whole lines', { object });
  for (let start = 0; start < content.byteLength; ) {
    const end = content.indexOf(LINE_FEED, start);
    const bytes = content.subarray(start, end);
    start = end + 1;
    let line: string;
    try {
      line = utf8.decode(bytes);
    } catch {
      throw new SnapshotError('malformed', 'is not UTF-8', { object });
    }
    yield line;
  }
}
