import { canonicalValue, utf8Text } from '../../archives/canonical-value.ts';
import {
  count,
  hashText,
  name as identifierName,
  members,
  nullOr,
  same,
  text,
} from '../../archives/checks.ts';
import {
  type ArchiveChunk,
  checkedChunks,
  MANIFEST_BYTES_MAX,
  MANIFEST_NAME,
} from '../../archives/chunk-list.ts';
import { placed, SnapshotError } from '../../archives/snapshot-error.ts';
import { canonicalJson, type Json, sha256 } from '../../kernel/canonical-json.ts';
import { COUNTED, type RunCounts, type RunsOf } from './archive-lines.ts';

export const RUNS_PROFILE = 'svc.runs.archive.v1';

export interface RunsManifest extends RunsOf {
  readonly profile: typeof RUNS_PROFILE;
  readonly counts: RunCounts;
  readonly chunks: readonly ArchiveChunk[];
  /** SHA-256 of the lines of all chunks. */
  readonly snapshotContentHash: string;
  /** SHA-256 of the canonical manifest without this member. */
  readonly contentHash: string;
}

export function sealed(manifest: Omit<RunsManifest, 'contentHash'>): RunsManifest {
  return { ...manifest, contentHash: sha256(textOf(manifest)) };
}

export function manifestBytes(manifest: RunsManifest): Uint8Array {
  return Buffer.from(textOf(manifest));
}

function textOf(manifest: Omit<RunsManifest, 'contentHash'>): string {
  return canonicalJson(manifest);
}

/** Reads the manifest of an archive of runs. Throws a `SnapshotError`. */
export function readManifest(bytes: Uint8Array): RunsManifest {
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

function checkedManifest(value: Json): RunsManifest {
  checkProfile(value);
  const names = [
    'profile',
    'tenantId',
    'productId',
    'counts',
    'chunks',
    'snapshotContentHash',
    'contentHash',
  ];
  const given = members(value, names, '');
  const counts = members(given.counts, COUNTED, '/counts');
  for (const name of COUNTED) count(counts[name], 0, Number.MAX_SAFE_INTEGER, `/counts/${name}`);
  return {
    profile: RUNS_PROFILE,
    tenantId: nullOr(identifierName, given.tenantId, '/tenantId'),
    productId: nullOr(identifierName, given.productId, '/productId'),
    counts: counts as RunCounts,
    chunks: checkedChunks(given.chunks, '/chunks'),
    snapshotContentHash: hashText(given.snapshotContentHash, '/snapshotContentHash'),
    contentHash: hashText(given.contentHash, '/contentHash'),
  };
}

/** Before all else: of a newer profile nothing else is known. */
function checkProfile(value: Json): void {
  const given = typeof value === 'object' && value !== null && 'profile' in value ? value.profile : undefined;
  const profile = text(given, '/profile');
  const number = /^svc\.runs\.archive\.v([1-9][0-9]{0,8})$/.exec(profile)?.[1];
  if (number !== undefined && Number(number) > 1) {
    const place = { object: MANIFEST_NAME, pointer: '/profile' };
    throw new SnapshotError('newer_version', `is newer than ${RUNS_PROFILE}`, place);
  }
  same(
    profile,
    RUNS_PROFILE,
    `${RUNS_PROFILE}: the archive of another kind has commands of its own`,
    '/profile',
  );
}
