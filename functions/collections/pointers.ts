import { invalidMember, ServiceError } from '../kernel/errors.ts';
import { formatUtc } from '../kernel/timestamp.ts';
import type { KeyRequest, LoadedRecords, Write } from '../store/port.ts';
import { type EntryRange, onlyVersion } from './entry-range.ts';
import type { RecordParts } from './parts.ts';
import { readCollection } from './read-policy.ts';
import { announceRetired } from './retire.ts';
import { withCreation } from './rules/creation.ts';
import { type Incarnation, incarnationOf } from './rules/incarnation.ts';
import { type CollectionPolicy, samePolicy } from './rules/policy.ts';
import { policyKey, spaceScope } from './store-collections.ts';
import { collectionOf, incarnationIn, policyRecord, type StoredCollection } from './stored-collection.ts';

const INCARNATION_BYTES = 16;

/** Tries of one change: other calls may change the name between its read and its write. */
const TRIES_MAX = 8;

export function newIncarnation({ world }: RecordParts): Incarnation {
  return incarnationOf(world.random.bytes(INCARNATION_BYTES));
}

/** A further part of the transaction that changes a name, such as the ledger of an import. */
export interface Together {
  readonly keys: readonly KeyRequest[];
  /** Whether an earlier try has already made the change; then nothing is written. */
  readonly isDone: (found: LoadedRecords) => boolean;
  /** The versions of the search entries of a replacement; if absent, the one that this process writes. */
  readonly entries?: (found: LoadedRecords) => EntryRange;
  /** Throws to refuse the change. */
  readonly writes: (found: LoadedRecords, collection: StoredCollection, isNew: boolean) => readonly Write[];
}

const ALONE: Together = { keys: [], isDone: () => false, writes: () => [] };

/**
 * Creates the collection. One that exists with an equivalent policy stays as it is; throws `validation_failed` for another
 * policy.
 */
export async function createCollection(
  parts: RecordParts,
  space: string,
  policy: CollectionPolicy,
  { keys, isDone, writes }: Together = ALONE,
): Promise<StoredCollection> {
  const { name } = policy;
  const key = policyKey(name);
  const store = await parts.store();
  const createdAt = formatUtc(parts.world.clock.now());
  const { version } = await parts.entries.written();
  const created: StoredCollection = { name, incarnation: newIncarnation(parts), policy, createdAt };
  const request = { gate: key, keys: [{ key, view: 'body' as const }, ...keys] };
  const collection = await store.transact(spaceScope(space), request, (found) => {
    const record = found.get(key);
    const existing = record === undefined ? null : collectionOf(record);
    if (isDone(found)) return { writes: [], result: existing };
    if (existing === null) {
      const all = [{ put: policyRecord(created, onlyVersion(version)) }, ...writes(found, created, true)];
      return { writes: all, result: created, grows: 'request' };
    }
    if (!samePolicy(existing.policy, policy)) throw otherPolicy(name);
    return { writes: writes(found, existing, false), result: existing };
  });
  parts.incarnations.set(space, name, collection);
  return collection ?? created;
}

function otherPolicy(name: string): ServiceError {
  return invalidMember('/policy', `must be equivalent to the policy of the collection '${name}'`);
}

/**
 * Removes the name, so that no reader sees its records any more; the sweeper removes them from the store later. With `only`, a name
 * that points to another incarnation stays.
 */
export async function removeCollection(
  parts: RecordParts,
  space: string,
  name: string,
  only?: Incarnation,
): Promise<void> {
  const key = policyKey(name);
  const store = await parts.store();
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const current = await readCollection(parts, space, name);
    if (current === null) return;
    const { incarnation } = current;
    if (only !== undefined && incarnation !== only) return;
    const announced = await announceRetired(parts, { space, name, incarnation, runId: null });
    const request = { gate: key, keys: [{ key }], frees: true };
    const removed = await store.transact(spaceScope(space), request, (found) => {
      const record = found.get(key);
      if (record === undefined) return { writes: [], result: true };
      if (incarnationIn(record.head) !== incarnation || !announced()) return { writes: [], result: false };
      return { writes: [{ remove: key }], result: true };
    });
    parts.incarnations.set(space, name, null);
    if (removed) return;
  }
  throw contended(name);
}

/**
 * Points the name of the collection at its incarnation, and retires the previous one. A reader sees all records of the one or all
 * records of the other.
 */
export async function replaceCollection(
  parts: RecordParts,
  space: string,
  collection: StoredCollection,
  { keys, isDone, entries, writes }: Together = ALONE,
): Promise<void> {
  const { name, incarnation } = collection;
  const key = policyKey(name);
  const store = await parts.store();
  const { version } = await parts.entries.written();
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const current = await readCollection(parts, space, name);
    const old = current?.incarnation ?? null;
    const announced =
      old === null || old === incarnation
        ? () => true
        : await announceRetired(parts, { space, name, incarnation: old, runId: null });
    const request = { gate: key, keys: [{ key }, ...keys] };
    const outcome = await store.transact(spaceScope(space), request, (found) => {
      if (isDone(found)) return { writes: [], result: 'done' };
      const record = found.get(key);
      const seen = record === undefined ? null : incarnationIn(record.head);
      if (seen !== old || !announced()) return { writes: [], result: 'again' };
      const range = entries?.(found) ?? onlyVersion(version);
      const pointer = withCreation(policyRecord(collection, range), record);
      const all = [{ put: pointer }, ...writes(found, collection, old === null)];
      return { writes: all, result: 'flipped' };
    });
    parts.incarnations.set(space, name, outcome === 'flipped' ? collection : null);
    if (outcome !== 'again') return;
  }
  throw contended(name);
}

function contended(name: string): ServiceError {
  return new ServiceError('store_contention', `Other calls keep changing the collection '${name}'`);
}
