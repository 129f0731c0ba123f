import { type OwnedCollection, SPACE_DATA } from '../store/ownership.ts';
import type { RecordKey, Scope } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';
import type { Incarnation } from './rules/incarnation.ts';
import type { PartitionedKey } from './rules/record-key.ts';

/** The store collections of a space. A copy of a space carries only the first two. */
export const POLICIES: OwnedCollection = { name: 'policies', pairedIndexes: false, ...SPACE_DATA };
export const RECORDS: OwnedCollection = {
  name: 'records',
  pairedIndexes: false,
  listedByGroup: true,
  searched: true,
  ...SPACE_DATA,
};

/** The progress of the space's jobs; changed in the transactions of their writes. */
export const IMPORT_PROGRESS: OwnedCollection = {
  name: 'import-progress',
  pairedIndexes: false,
  owner: 'space',
  copies: 'none',
};

/**
 * The objects of the space: heads, with the bytes of small ones. Copies of a space do not carry them yet, so a space with objects
 * can be neither copied nor restored.
 */
export const OBJECTS: OwnedCollection = {
  name: 'objects',
  pairedIndexes: false,
  owner: 'space',
  copies: 'none',
};

/** Bytes of objects that no head names: they are being written, or await their removal. */
export const OBJECT_LEFTOVERS: OwnedCollection = {
  name: 'object-leftovers',
  pairedIndexes: false,
  owner: 'space',
  copies: 'none',
};

/** Everything that lies in the scope of a space. */
export const spaceCollections: readonly OwnedCollection[] = [
  POLICIES,
  RECORDS,
  IMPORT_PROGRESS,
  OBJECTS,
  OBJECT_LEFTOVERS,
];

/** The group in which a space lists its collections, by name. */
export const COLLECTION_GROUP = 'collection';

export function spaceScope(space: string): Scope {
  return { kind: 'spaces', name: space };
}

export function policyKey(name: string): RecordKey {
  return { collection: POLICIES.name, id: recordId('policy', name) };
}

export function recordKey(incarnation: Incarnation, { partitionKey, id }: PartitionedKey): RecordKey {
  return { collection: RECORDS.name, id: recordId(incarnation, partitionKey, id) };
}
