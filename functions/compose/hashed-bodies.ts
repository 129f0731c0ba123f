import { objectBytesMax } from '../blobs/rules.ts';
import { verifyPiece } from '../collections/payload-pieces.ts';
import { STAGED_PREFIX } from '../collections/staged-payloads.ts';
import { OBJECTS, spaceScope } from '../collections/store-collections.ts';
import { STAGED_PIECES, UPKEEP_SCOPE } from '../collections/upkeep-collections.ts';
import { verifyObject } from '../objects/verify-object.ts';
import { ownersPage } from '../quotas/usage-store.ts';
import { asStoreError } from '../runs/artifact.ts';
import { readCheckpointRecord } from '../runs/checkpoint.ts';
import { ARTIFACTS, CHECKPOINTS, EXECUTION_SCOPE } from '../runs/records.ts';
import { verifyArtifact } from '../runs/verify-artifact.ts';
import { type HashedBodies, recordBodies, type ScopesPage, verified } from '../store/hashed-bodies.ts';
import type { Scope } from '../store/port.ts';
import { processBlobsOf } from './blobs.ts';
import type { LayerParts } from './layer.ts';
import { objectPartsOf } from './object-parts.ts';

const BLOBS_A_PAGE = 100;
const FROM_BACKUP = 'Restore it from a backup';

/** The catalogue of the stored bodies that have a hash: each kind has its verifier, for `svc doctor --deep` and for upkeep. */
export function hashedBodies(parts: LayerParts): readonly HashedBodies[] {
  const store = parts.store.get;
  const blobs = processBlobsOf(parts);
  const objects = objectPartsOf(parts);
  const spaces: ScopesPage = async (after) => {
    const { names, next } = await ownersPage(await store(), 'spaces', after);
    return { scopes: names.map(spaceScope), next };
  };
  const of = { store };
  const runs = { ...of, scopes: only(EXECUTION_SCOPE) };
  const again = `${FROM_BACKUP}, or start its run again.`;
  return [
    recordBodies({
      ...of,
      kind: 'object',
      remedy: `${FROM_BACKUP}, or put the object again.`,
      collection: OBJECTS,
      scopes: spaces,
      nameOf: ({ head }, { name }) =>
        `${String(head['container'])}/${String(head['key'])} of the space ${name}`,
      verify: (record, { name }) => verifyObject(objects, name, record),
    }),
    recordBodies({
      ...runs,
      kind: 'artifact',
      remedy: again,
      collection: ARTIFACTS,
      nameOf: ({ head }) =>
        `${String(head['name'])} (${String(head['id'])}) of the run ${String(head['runId'])}`,
      verify: (record) => asStore(() => verifyArtifact({ store, scope: EXECUTION_SCOPE, blobs }, record)),
    }),
    recordBodies({
      ...runs,
      kind: 'checkpoint',
      remedy: again,
      collection: CHECKPOINTS,
      nameOf: ({ head }) => `${String(head['key'])} of the run ${String(head['runId'])}`,
      verify(record) {
        readCheckpointRecord(record);
        return Buffer.byteLength(record.body ?? '');
      },
    }),
    recordBodies({
      ...of,
      kind: 'staged piece',
      remedy: `${FROM_BACKUP}, or start the job again that it belongs to.`,
      collection: STAGED_PIECES,
      scopes: only(UPKEEP_SCOPE),
      nameOf: ({ key }) => key.id,
      verify: verifyPiece,
    }),
    stagedFiles(blobs),
  ];
}

/**
 * Staged payloads in the blob store. Objects and artifacts are verified with the records that name their bytes.
 * @testonly
 */
export function stagedFiles(blobs: ReturnType<typeof processBlobsOf>): HashedBodies {
  return {
    kind: 'staged payload',
    remedy: `${FROM_BACKUP}, or start the job again that it belongs to.`,
    async page(after) {
      if (blobs === null) return { bodies: [], next: null };
      const request = { limit: BLOBS_A_PAGE, ...(after === null ? {} : { after }) };
      const opened = await asStore(blobs);
      const { keys, next } = await asStore(() => opened.list(STAGED_PREFIX, request));
      const bodies = keys.map((key) => ({
        place: key,
        name: key,
        verify: () =>
          verified(async () => {
            const found = await asStore(() => opened.get(key, objectBytesMax));
            return found?.bytes.byteLength ?? 0;
          }),
      }));
      return { bodies, next };
    },
  };
}

/** An unreachable blob store counts as unavailable: it is no damage, and the round repeats its place later. */
async function asStore<R>(work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    throw asStoreError(error);
  }
}

function only(scope: Scope): ScopesPage {
  return () => Promise.resolve({ scopes: [scope], next: null });
}
