import { canonicalJson, type Json, sha256 } from '../kernel/canonical-json.ts';
import { canonicalValue, utf8Text } from './canonical-value.ts';
import { count, hashText, type Members, members, same, text } from './checks.ts';
import { type ArchiveChunk, checkedChunks, MANIFEST_BYTES_MAX, MANIFEST_NAME } from './chunk-list.ts';
import type { ChunkSource } from './chunk-objects.ts';
import { checkNames } from './chunk-reader.ts';
import { placed, SnapshotError } from './snapshot-error.ts';

/** The members that all manifests share. */
interface Totals<Counts> {
  readonly counts: Counts;
  readonly chunks: readonly ArchiveChunk[];
  /** SHA-256 of the lines of all chunks. */
  readonly snapshotContentHash: string;
}

/** The manifest of an archive. `Own` holds the members that name the tenant or space of the data. */
export type ArchiveManifestOf<Profile extends string, Own extends object, Counts> = Totals<Counts> &
  Own & {
    readonly profile: Profile;
    /** SHA-256 of the canonical manifest without this member. It names the manifest, and through it the whole archive. */
    readonly contentHash: string;
  };

/** Names, checks and parser for the manifest of one kind of archive. */
export interface ManifestKind<Profile extends string, Own extends object, Counts> {
  /** For example `svc.runs.archive.v1`. */
  readonly profile: Profile;
  /** Description of the expected profile, for the message that refuses another one. */
  readonly required: string;
  readonly ownNames: readonly string[];
  readonly readOwn: (given: Members) => Own;
  readonly counted: readonly (keyof Counts & string)[];
  /** Parses the manifest. Default: the text must be canonical JSON. */
  readonly parse?: (json: string, place: { readonly object: string }) => Json;
}

const place = { object: MANIFEST_NAME };

/** Adds `contentHash` to the manifest. */
export function sealed<Content extends object>(content: Content): Content & { readonly contentHash: string } {
  return { ...content, contentHash: sha256(canonicalJson(content)) };
}

export function manifestBytes(manifest: object): Uint8Array {
  return Buffer.from(canonicalJson(manifest));
}

/**
 * Reads the manifest and checks that the archive has exactly the objects that it names. If `expectedContentHash` is given, the
 * manifest must have this hash. Throws a `SnapshotError`.
 */
export async function openManifest<Profile extends string, Own extends object, Counts>(
  kind: ManifestKind<Profile, Own, Counts>,
  source: ChunkSource,
  expectedContentHash?: string,
): Promise<ArchiveManifestOf<Profile, Own, Counts>> {
  const bytes = await source.read(MANIFEST_NAME, MANIFEST_BYTES_MAX);
  if (bytes === null) throw new SnapshotError('incomplete', 'is missing', place);
  const manifest = readManifest(kind, bytes);
  if (expectedContentHash !== undefined && expectedContentHash !== manifest.contentHash)
    throw new SnapshotError('hash_mismatch', 'is not the archive that was expected', {
      ...place,
      pointer: '/contentHash',
    });
  checkNames(manifest.chunks, await source.names());
  return manifest;
}

function readManifest<Profile extends string, Own extends object, Counts>(
  kind: ManifestKind<Profile, Own, Counts>,
  bytes: Uint8Array,
): ArchiveManifestOf<Profile, Own, Counts> {
  if (bytes.byteLength > MANIFEST_BYTES_MAX)
    throw new SnapshotError('over_limit', `must be at most ${MANIFEST_BYTES_MAX} bytes`, place);
  const value = (kind.parse ?? canonicalValue)(utf8Text(bytes, place), place);
  const { content, contentHash } = placed(place, () => checkedManifest(kind, value));
  const manifest = sealed(content);
  if (manifest.contentHash === contentHash) return manifest;
  throw new SnapshotError('hash_mismatch', 'is not the hash of this manifest', {
    ...place,
    pointer: '/contentHash',
  });
}

function checkedManifest<Profile extends string, Own extends object, Counts>(
  { profile, required, ownNames, readOwn, counted }: ManifestKind<Profile, Own, Counts>,
  value: Json,
) {
  checkProfile(value, profile, required);
  const given = members(
    value,
    ['profile', ...ownNames, 'counts', 'chunks', 'snapshotContentHash', 'contentHash'],
    '',
  );
  const own = readOwn(given);
  const counts = members(given.counts, counted, '/counts');
  for (const name of counted) count(counts[name], 0, Number.MAX_SAFE_INTEGER, `/counts/${name}`);
  const content = {
    profile,
    ...own,
    counts: counts as Counts,
    chunks: checkedChunks(given.chunks, '/chunks'),
    snapshotContentHash: hashText(given.snapshotContentHash, '/snapshotContentHash'),
  };
  return { content, contentHash: hashText(given.contentHash, '/contentHash') };
}

/** Runs first, because the manifest of a newer profile may have other members. */
function checkProfile(value: Json, expected: string, required: string): void {
  const given = typeof value === 'object' && value !== null && 'profile' in value ? value.profile : undefined;
  const profile = text(given, '/profile');
  const family = expected.slice(0, expected.lastIndexOf('.v') + 2);
  const version = profile.startsWith(family) ? profile.slice(family.length) : '';
  if (/^[1-9][0-9]{0,8}$/.test(version) && Number(version) > 1)
    throw new SnapshotError('newer_version', `is newer than ${expected}`, { ...place, pointer: '/profile' });
  same(profile, expected, required, '/profile');
}
