import { limits } from '../../contracts/generated/limits.ts';
import { invalidMember } from '../kernel/errors.ts';
import { count, hashText, list, members, same } from './checks.ts';

/** The objects of an archive: chunks of compressed lines, and a manifest that names each of them with its hash. */
export const MANIFEST_NAME = 'manifest.json';

/** The largest chunk before compression. */
export const CHUNK_BYTES_MAX: number = limits.archiveChunkBytesMax;
export const CHUNK_BYTES_DEFAULT: number = limits.archiveChunkBytesDefault;

/** Leaves room for content that gzip cannot compress: gzip adds far less than 64 KiB to it. */
export const STORED_CHUNK_BYTES_MAX = CHUNK_BYTES_MAX + 64 * 1024;

/** Bounds the manifest, which the reader holds in memory as a whole. 100,000 chunks of 8 MiB are 780 GiB. */
export const CHUNKS_MAX: number = limits.archiveChunksMax;
export const MANIFEST_BYTES_MAX = 16 * 1024 * 1024;

// Each chunk has four members, and the manifest has a few of its own.
export const manifestLimits = {
  depthMax: 4,
  membersMax: CHUNKS_MAX * 4 + 100,
  containersMax: CHUNKS_MAX + 100,
};

export interface ArchiveChunk {
  readonly index: number;
  /** Bytes of the stored, compressed chunk. */
  readonly bytes: number;
  /** Number of lines that hold a record. The head line of the first chunk holds none. */
  readonly records: number;
  /** SHA-256 of the stored, compressed chunk. */
  readonly hash: string;
}

export function chunkName(index: number): string {
  return `chunk-${String(index).padStart(6, '0')}.bin`;
}

/** The list of chunks as a manifest holds it. Throws a `ServiceError` that names the place. */
export function checkedChunks(value: unknown, pointer: string): readonly ArchiveChunk[] {
  const chunks = list(value, CHUNKS_MAX, pointer).map((each, position) =>
    checkedChunk(each, position, `${pointer}/${position}`),
  );
  if (chunks.length === 0) throw invalidMember(pointer, 'must hold the head line at least');
  return chunks;
}

function checkedChunk(value: unknown, position: number, pointer: string): ArchiveChunk {
  const given = members(value, ['index', 'bytes', 'records', 'hash'], pointer);
  same(given.index, position, 'its position in the list', `${pointer}/index`);
  return {
    index: position,
    bytes: count(given.bytes, 1, STORED_CHUNK_BYTES_MAX, `${pointer}/bytes`),
    records: count(given.records, 0, Number.MAX_SAFE_INTEGER, `${pointer}/records`),
    hash: hashText(given.hash, `${pointer}/hash`),
  };
}
