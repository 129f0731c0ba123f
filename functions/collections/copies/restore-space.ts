import type { ChunkSource } from '../../archives/chunk-objects.ts';
import { CopyRefusal } from '../../archives/copy-refusal.ts';
import { openManifest } from '../../archives/manifest.ts';
import { SnapshotError } from '../../archives/snapshot-error.ts';
import type { RecordData, RecordStore } from '../../store/port.ts';
import { type EntryFormat, newestFormat } from '../search/formats.ts';
import { COLLECTION_GROUP, POLICIES, spaceScope } from '../store-collections.ts';
import { type SpaceManifest, spaceArchives } from './archive-manifest.ts';
import { type SpaceCopyOptions, stepper } from './copy-options.ts';
import { readRecords } from './read-archive.ts';
import { RestoredRecords } from './restored-records.ts';
import { hasObjects } from './space-objects.ts';

export interface VerifyOptions extends SpaceCopyOptions {
  /** The `contentHash` that the archive must have; if absent, that of the manifest is trusted. */
  readonly expectedContentHash?: string;
}

export interface SpaceRestoreOptions extends VerifyOptions {
  /** Replaces existing collections; if absent, a restore over them is refused. */
  readonly replace?: boolean;
  /** The format of the search entries; if absent, the newest of this release. */
  readonly format?: EntryFormat;
}

/**
 * Reads a whole archive. Throws a `SnapshotError` at its first flaw, or if it is not an archive of `space` (`null`: any space).
 * Needs no store.
 */
export async function verifySpace(
  source: ChunkSource,
  space: string | null,
  { expectedContentHash, ...options }: VerifyOptions = {},
): Promise<SpaceManifest> {
  const manifest = await openManifest(spaceArchives, source, expectedContentHash);
  if (space !== null && manifest.space !== space)
    throw new SnapshotError('other_space', 'is the archive of another space');
  for await (const _ of steps(manifest, source, 'verifying', options));
  return manifest;
}

/**
 * Replaces the content of the space by the archive, at one moment or not at all. The archive is read twice: nothing is written
 * before all of it was verified, and the loaded records are verified again before they become visible.
 */
export async function restoreSpace(
  store: RecordStore,
  source: ChunkSource,
  space: string,
  { replace = false, format = newestFormat(), ...options }: SpaceRestoreOptions = {},
): Promise<SpaceManifest> {
  await refuseOverObjects(store, space);
  if (!replace) await refuseOver(store, space);
  const manifest = await verifySpace(source, space, options);
  let isRead = false;
  async function* records(): AsyncGenerator<RecordData, void, undefined> {
    const restoring = new RestoredRecords(format);
    for await (const record of steps(manifest, source, 'restoring', options))
      yield restoring.restored(record);
    isRead = true;
  }
  await store.swap(spaceScope(space), records(), async () => {
    if (!isRead) throw new SnapshotError('incomplete', 'the archive was not read to its end');
    await refuseOverObjects(store, space);
    if (!replace) await refuseOver(store, space);
  });
  return manifest;
}

/** Archives of spaces hold no objects, so a restore would remove the heads of objects and leave their bytes. */
async function refuseOverObjects(store: RecordStore, space: string): Promise<void> {
  if (!(await hasObjects(store, space))) return;
  const message =
    'the space has objects, or had some of late, and its archives carry none: delete the objects, and restore after maintenance has removed their bytes';
  throw new CopyRefusal('not_empty', message);
}

async function refuseOver(store: RecordStore, space: string): Promise<void> {
  const selection = { by: 'list', collection: POLICIES, group: COLLECTION_GROUP, limit: 1 } as const;
  const { records } = await store.query(spaceScope(space), selection);
  if (records.length > 0)
    throw new CopyRefusal('not_empty', `the space has collections already; --replace replaces them`);
}

async function* steps(
  manifest: SpaceManifest,
  source: ChunkSource,
  name: string,
  options: SpaceCopyOptions,
): AsyncGenerator<RecordData, void, undefined> {
  const total = Object.values(manifest.counts).reduce((sum, count) => sum + count, 0);
  const step = stepper(name, total, options);
  for await (const record of readRecords(manifest, source)) {
    step();
    yield record;
  }
}
