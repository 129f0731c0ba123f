import { count, hashText, members, pathName, same, text } from '../../../../archives/checks.ts';
import {
  type ArchiveChunk,
  checkedChunks,
  MANIFEST_BYTES_MAX,
  MANIFEST_NAME,
  manifestLimits,
} from '../../../../archives/chunk-list.ts';
import { placed, SnapshotError } from '../../../../archives/snapshot-error.ts';
import { canonicalJson, sha256 } from '../../../../kernel/canonical-json.ts';
import { parseStrictJsonText } from '../../../../kernel/strict-json.ts';
import { tenantCollections } from '../../records.ts';
import type { SnapshotCounts } from './lines.ts';
import { sameTenant } from './values.ts';

export {
  CHUNK_BYTES_DEFAULT,
  CHUNK_BYTES_MAX,
  CHUNKS_MAX,
  chunkName,
  MANIFEST_BYTES_MAX,
  MANIFEST_NAME,
  STORED_CHUNK_BYTES_MAX,
} from '../../../../archives/chunk-list.ts';

export const ARCHIVE_PROFILE = 'svc.canonical.archive.v1';

export interface ArchiveManifest {
  readonly profile: typeof ARCHIVE_PROFILE;
  readonly tenantId: string;
  readonly counts: SnapshotCounts;
  readonly chunks: readonly ArchiveChunk[];
  /** SHA-256 of the lines of all chunks. */
  readonly snapshotContentHash: string;
  /** SHA-256 of the canonical manifest without this member. */
  readonly contentHash: string;
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
  const value = placed(place, () => parseStrictJsonText(json, manifestLimits));
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
  return {
    profile: ARCHIVE_PROFILE,
    tenantId,
    counts: counts as SnapshotCounts,
    chunks: checkedChunks(given.chunks, '/chunks'),
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
