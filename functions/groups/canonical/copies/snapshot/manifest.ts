import { limits } from '../../../../../contracts/generated/limits.ts';
import { parseStrictJsonText } from '../../../../http/strict-json.ts';
import { canonicalJson, sha256 } from '../../../../kernel/canonical-json.ts';
import { invalidMember } from '../../../../kernel/errors.ts';
import { tenantCollections } from '../../records.ts';
import { count, hashText, list, members, pathName, same, text } from './checks.ts';
import type { Counts } from './lines.ts';
import { placed, SnapshotError } from './snapshot-error.ts';
import { sameTenant } from './values.ts';

export const ARCHIVE_PROFILE = 'svc.canonical.archive.v1';
export const MANIFEST_NAME = 'manifest.json';

/** The largest chunk before compression. */
export const CHUNK_BYTES_MAX: number = limits.archiveChunkBytesMax;
export const CHUNK_BYTES_DEFAULT: number = limits.archiveChunkBytesDefault;

/** What gzip adds to content that it cannot compress stays far below this. */
export const STORED_CHUNK_BYTES_MAX = CHUNK_BYTES_MAX + 64 * 1024;

/** A manifest is held whole, so it is bounded too: 100,000 chunks of 8 MiB are 780 GiB. */
export const CHUNKS_MAX: number = limits.archiveChunksMax;
export const MANIFEST_BYTES_MAX = 16 * 1024 * 1024;

export interface ArchiveChunk {
  readonly index: number;
  /** Of the chunk as it is stored, compressed. */
  readonly bytes: number;
  /** Lines that hold a record: the head line of the first chunk is not counted. */
  readonly records: number;
  /** SHA-256 of the chunk as it is stored. */
  readonly hash: string;
}

export interface ArchiveManifest {
  readonly profile: typeof ARCHIVE_PROFILE;
  readonly tenantId: string;
  readonly counts: Counts;
  readonly chunks: readonly ArchiveChunk[];
  /** SHA-256 of the lines of all chunks. */
  readonly snapshotContentHash: string;
  /** SHA-256 of the canonical manifest without this member. */
  readonly contentHash: string;
}

export function chunkName(index: number): string {
  return `chunk-${String(index).padStart(6, '0')}.bin`;
}

/** The manifest with the hash that names it, and through it the whole archive. */
export function sealed(manifest: Omit<ArchiveManifest, 'contentHash'>): ArchiveManifest {
  return { ...manifest, contentHash: sha256(canonicalJson(manifest)) };
}

export function manifestBytes(manifest: ArchiveManifest): Uint8Array {
  return Buffer.from(canonicalJson(manifest));
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const COLLECTIONS = tenantCollections.map(({ name }) => name);
// Four members a chunk, and a few more.
const jsonLimits = { depthMax: 4, membersMax: CHUNKS_MAX * 4 + 100, containersMax: CHUNKS_MAX + 100 };

/** Reads the manifest of an archive of this tenant. Throws a `SnapshotError`. */
export function readManifest(tenantId: string, bytes: Uint8Array): ArchiveManifest {
  const place = { object: MANIFEST_NAME };
  if (bytes.byteLength > MANIFEST_BYTES_MAX) {
    throw new SnapshotError('over_limit', `must be at most ${MANIFEST_BYTES_MAX} bytes`, place);
  }
  let json: string;
  try {
    json = utf8.decode(bytes);
  } catch {
    throw new SnapshotError('malformed', 'is not UTF-8', place);
  }
  const value = placed(place, () => parseStrictJsonText(json, jsonLimits));
  if (canonicalJson(value) !== json) throw new SnapshotError('malformed', 'is not canonical JSON', place);
  const manifest = placed(place, () => checkedManifest(tenantId, value));
  const { contentHash, ...content } = manifest;
  if (sealed(content).contentHash !== contentHash) {
    const pointer = '/contentHash';
    throw new SnapshotError('hash_mismatch', 'is not the hash of this manifest', { ...place, pointer });
  }
  return manifest;
}

function checkedManifest(tenantId: string, value: unknown): ArchiveManifest {
  checkProfile(value);
  const names = ['profile', 'tenantId', 'counts', 'chunks', 'snapshotContentHash', 'contentHash'];
  const given = members(value, names, '');
  pathName(given.tenantId, '/tenantId');
  sameTenant(given.tenantId, tenantId, '/tenantId');
  const counts = members(given.counts, COLLECTIONS, '/counts');
  for (const name of COLLECTIONS) count(counts[name], 0, Number.MAX_SAFE_INTEGER, `/counts/${name}`);
  const chunks = list(given.chunks, CHUNKS_MAX, '/chunks').map(checkedChunk);
  if (chunks.length === 0) throw invalidMember('/chunks', 'must hold the head line at least');
  return {
    profile: ARCHIVE_PROFILE,
    tenantId,
    counts: counts as Counts,
    chunks,
    snapshotContentHash: hashText(given.snapshotContentHash, '/snapshotContentHash'),
    contentHash: hashText(given.contentHash, '/contentHash'),
  };
}

/** Before all else: of a newer profile nothing else is known. */
function checkProfile(value: unknown): void {
  const given = typeof value === 'object' && value !== null && 'profile' in value ? value.profile : undefined;
  const profile = text(given, '/profile');
  const number = /^svc\.canonical\.archive\.v([1-9][0-9]{0,8})$/.exec(profile)?.[1];
  if (number !== undefined && Number(number) > 1) {
    const place = { object: MANIFEST_NAME, pointer: '/profile' };
    throw new SnapshotError('newer_version', `is newer than ${ARCHIVE_PROFILE}`, place);
  }
  same(profile, ARCHIVE_PROFILE, ARCHIVE_PROFILE, '/profile');
}

function checkedChunk(value: unknown, position: number): ArchiveChunk {
  const pointer = `/chunks/${position}`;
  const given = members(value, ['index', 'bytes', 'records', 'hash'], pointer);
  same(given.index, position, 'its position in the list', `${pointer}/index`);
  return {
    index: position,
    bytes: count(given.bytes, 1, STORED_CHUNK_BYTES_MAX, `${pointer}/bytes`),
    records: count(given.records, 0, Number.MAX_SAFE_INTEGER, `${pointer}/records`),
    hash: hashText(given.hash, `${pointer}/hash`),
  };
}
