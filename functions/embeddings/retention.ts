import {
  announceSpace,
  type RetentionStep,
  type SpaceRetention,
  sweepSpaces,
} from '../collections/space-retention.ts';
import { spaceScope } from '../collections/store-collections.ts';
import type { RecordStore } from '../store/port.ts';
import { EMBEDDING_SPACES, EMBEDDINGS } from './store-collections.ts';

/** Vectors that are removed in one step: those of some models have 3,072 numbers. */
const SLICE = 100;

/** How long vectors that were paid for are kept. */
export type VectorRetention = Omit<SpaceRetention, 'spaces'>;

/** The time at which vectors that are stored now are removed; `null`: never. Registers the space for upkeep. */
export async function removalTime(
  retention: VectorRetention | undefined,
  space: string,
): Promise<number | null> {
  if (retention === undefined || retention.retentionMs === null) return null;
  await announceSpace({ ...retention, spaces: EMBEDDING_SPACES }, space);
  return retention.clock.now() + retention.retentionMs;
}

/** Removes the due vectors of the due spaces. Returns the number of removed vectors. */
export async function removeOldVectors(retention: VectorRetention, isOver: () => boolean): Promise<number> {
  const store = await retention.store();
  return sweepSpaces({ ...retention, spaces: EMBEDDING_SPACES }, isOver, (space, now) =>
    removeDue(store, space, now),
  );
}

async function removeDue(store: RecordStore, space: string, now: number): Promise<RetentionStep> {
  const scope = spaceScope(space);
  const { records } = await store.due(scope, EMBEDDINGS, { now, limit: SLICE });
  const keys = records.map(({ key }) => ({ key }));
  if (keys.length === 0) return { removed: 0, left: await leftIn(store, space) };
  const removed = await store.transact(scope, { keys, frees: true }, (found) => {
    const old = keys.flatMap(({ key }) => {
      const { due = null } = found.get(key) ?? {};
      return due !== null && due <= now ? [{ remove: key }] : [];
    });
    return { writes: old, result: old.length };
  });
  return { removed, left: records.length < SLICE ? await leftIn(store, space) : 'old' };
}

async function leftIn(store: RecordStore, space: string): Promise<'young' | 'none'> {
  const later = { now: Number.MAX_SAFE_INTEGER, limit: 1 };
  const { records } = await store.due(spaceScope(space), EMBEDDINGS, later);
  return records.length > 0 ? 'young' : 'none';
}
