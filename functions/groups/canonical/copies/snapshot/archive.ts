import { promisify } from 'node:util';
import { gunzip as gunzipCallback } from 'node:zlib';
import { canonicalJson, sha256 } from '../../../../kernel/canonical-json.ts';
import type { RecordData } from '../../../../store/port.ts';
import type { ChunkSink, ChunkSource } from './chunk-objects.ts';
import { ChunkWriter } from './chunk-writer.ts';
import { LineReader, LineTally, type SnapshotLine } from './lines.ts';
import {
  ARCHIVE_PROFILE,
  type ArchiveChunk,
  type ArchiveManifest,
  CHUNK_BYTES_DEFAULT,
  CHUNK_BYTES_MAX,
  chunkName,
  MANIFEST_BYTES_MAX,
  MANIFEST_NAME,
  manifestBytes,
  readManifest,
  STORED_CHUNK_BYTES_MAX,
  sealed,
} from './manifest.ts';
import { type RecordValue, recordOf } from './record-values.ts';
import { SnapshotError } from './snapshot-error.ts';

export type { ChunkSink, ChunkSource };

const gunzip = promisify(gunzipCallback);

/** As in `chunk-writer.ts`: JSON is mostly a fifth of its size when it is compressed. */
const UNPACKED_TIMES = 8;
const PIECE_BYTES_MIN = 16 * 1024;
const LINE_FEED = 0x0a;

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
  const writer = new ChunkWriter(sink, chunkBytes);
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
  checkNames(manifest, await source.names());
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

function checkNames({ chunks }: ArchiveManifest, names: readonly string[]): void {
  const left = new Set(names);
  if (left.size !== names.length)
    throw new SnapshotError('duplicate', 'an object of the archive stands twice');
  for (const object of [MANIFEST_NAME, ...chunks.map(({ index }) => chunkName(index))]) {
    if (!left.delete(object)) throw new SnapshotError('incomplete', 'is missing', { object });
  }
  if (left.size > 0) throw new SnapshotError('invalid', 'the archive holds an object that is not its own');
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
): AsyncGenerator<RecordValue, void, undefined> {
  const reader = new LineReader(manifest.tenantId, known);
  const tally = new LineTally();
  for await (const { chunk, content } of readChunks(manifest, source)) {
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

/** Each chunk with its lines, the next one fetched and unpacked while its caller goes through them. */
async function* readChunks(
  { chunks }: ArchiveManifest,
  source: ChunkSource,
): AsyncGenerator<{ chunk: ArchiveChunk; content: Buffer }, void, undefined> {
  const ahead = (index: number) => {
    const chunk = chunks[index];
    if (chunk === undefined) return undefined;
    const content = readChunk(chunk, source);
    // The reader of this chunk throws the failure.
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
    // The source is of no more use to a caller that ends here, so nothing may be reading from it.
    await next?.content.catch(() => undefined);
  }
}

/** The lines of a chunk, unpacked only after its hash was found right, and never beyond the largest chunk. */
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

function* linesOf(content: Buffer, object: string): Generator<string, void, undefined> {
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
