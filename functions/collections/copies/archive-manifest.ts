import { canonicalValue, utf8Text } from '../../archives/canonical-value.ts';
import { count, hashText, members, name, same, text } from '../../archives/checks.ts';
import {
  type ArchiveChunk,
  checkedChunks,
  MANIFEST_BYTES_MAX,
  MANIFEST_NAME,
} from '../../archives/chunk-list.ts';
import { placed, SnapshotError } from '../../archives/snapshot-error.ts';
import { canonicalJson, type Json, sha256 } from '../../kernel/canonical-json.ts';
import { carriedSpaceCollections, type SpaceCounts } from './archive-lines.ts';

export const SPACE_PROFILE = 'svc.records.archive.v1';

export interface SpaceManifest {
  readonly profile: typeof SPACE_PROFILE;
  readonly space: string;
  readonly counts: SpaceCounts;
  readonly chunks: readonly ArchiveChunk[];
  /** SHA-256 of the lines of all chunks. */
  readonly snapshotContentHash: string;
  /** SHA-256 of the canonical manifest without this member. */
  readonly contentHash: string;
}

export function sealed(manifest: Omit<SpaceManifest, 'contentHash'>): SpaceManifest {
  return { ...manifest, contentHash: sha256(textOf(manifest)) };
}

export function manifestBytes(manifest: SpaceManifest): Uint8Array {
  return Buffer.from(textOf(manifest));
}

function textOf(manifest: Omit<SpaceManifest, 'contentHash'>): string {
  return canonicalJson(manifest);
}

/** Reads the manifest of an archive of a space. Throws a `SnapshotError`. */
export function readManifest(bytes: Uint8Array): SpaceManifest {
  const place = { object: MANIFEST_NAME };
  if (bytes.byteLength > MANIFEST_BYTES_MAX)
    throw new SnapshotError('over_limit', `must be at most ${MANIFEST_BYTES_MAX} bytes`, place);
  const value = canonicalValue(utf8Text(bytes, place), place);
  const manifest = placed(place, () => checkedManifest(value));
  const { contentHash, ...content } = manifest;
  if (sealed(content).contentHash !== contentHash) {
    const pointer = '/contentHash';
    throw new SnapshotError('hash_mismatch', 'is not the hash of this manifest', { ...place, pointer });
  }
  return manifest;
}

function checkedManifest(value: Json): SpaceManifest {
  checkProfile(value);
  const names = ['profile', 'space', 'counts', 'chunks', 'snapshotContentHash', 'contentHash'];
  const given = members(value, names, '');
  const counts = members(given.counts, carriedSpaceCollections, '/counts');
  for (const each of carriedSpaceCollections)
    count(counts[each], 0, Number.MAX_SAFE_INTEGER, `/counts/${each}`);
  return {
    profile: SPACE_PROFILE,
    space: name(given.space, '/space'),
    counts: counts as SpaceCounts,
    chunks: checkedChunks(given.chunks, '/chunks'),
    snapshotContentHash: hashText(given.snapshotContentHash, '/snapshotContentHash'),
    contentHash: hashText(given.contentHash, '/contentHash'),
  };
}

/** Before all else: of a newer profile nothing else is known. */
function checkProfile(value: Json): void {
  const given = typeof value === 'object' && value !== null && 'profile' in value ? value.profile : undefined;
  const profile = text(given, '/profile');
  const number = /^svc\.records\.archive\.v([1-9][0-9]{0,8})$/.exec(profile)?.[1];
  if (number !== undefined && Number(number) > 1) {
    const place = { object: MANIFEST_NAME, pointer: '/profile' };
    throw new SnapshotError('newer_version', `is newer than ${SPACE_PROFILE}`, place);
  }
  const what = `${SPACE_PROFILE}: the archive of another kind has commands of its own`;
  same(profile, SPACE_PROFILE, what, '/profile');
}
