import { type OwnedCollection, SERVICE_DATA } from '../store/ownership.ts';
import type { Listing, RecordKey, Scope } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';

/** All intents of later removals are in one scope, so that upkeep finds them without knowing the spaces. */
export const UPKEEP_SCOPE: Scope = { kind: 'system', name: 'record-maintenance' };

/** Incarnations without a name, until their records are removed. */
export const RETIRED_COLLECTIONS: OwnedCollection = {
  name: 'retired-collections',
  pairedIndexes: false,
  ...SERVICE_DATA,
};

/** Collections whose records need new search entries, until all have them; and the marks of `entryMarksKey`. */
export const REINDEXED_COLLECTIONS: OwnedCollection = {
  name: 'reindexed-collections',
  pairedIndexes: false,
  ...SERVICE_DATA,
};

/** Data that a job leaves beside its run: a staged payload and the ledger of an import. */
export const JOB_LEFTOVERS: OwnedCollection = {
  name: 'job-leftovers',
  pairedIndexes: false,
  ...SERVICE_DATA,
};

/** Bytes that the jobs of each space have staged. */
const STAGED_BYTES: OwnedCollection = { name: 'staged-bytes', pairedIndexes: false, ...SERVICE_DATA };

/** Staged payloads of a deployment without a blob store, in pieces. */
export const STAGED_PIECES: OwnedCollection = {
  name: 'staged-pieces',
  pairedIndexes: false,
  ...SERVICE_DATA,
};

/** The spaces in which leftovers of objects await their removal. */
export const OBJECT_SPACES: OwnedCollection = {
  name: 'object-spaces',
  pairedIndexes: false,
  ...SERVICE_DATA,
};

export const upkeepCollections: readonly OwnedCollection[] = [
  RETIRED_COLLECTIONS,
  REINDEXED_COLLECTIONS,
  JOB_LEFTOVERS,
  STAGED_BYTES,
  STAGED_PIECES,
  OBJECT_SPACES,
];

export function retiredKey(space: string, incarnation: string): RecordKey {
  return { collection: RETIRED_COLLECTIONS.name, id: recordId('retired', space, incarnation) };
}

export function reindexKey(space: string, incarnation: string): RecordKey {
  return { collection: REINDEXED_COLLECTIONS.name, id: recordId('reindexed', space, incarnation) };
}

/** The last marks of servers, by the newest version of search entries that they know. */
export function entryMarksKey(): RecordKey {
  return { collection: REINDEXED_COLLECTIONS.name, id: recordId('entry-marks') };
}

export function leftoverKey(kind: 'payload' | 'ledger', reference: string): RecordKey {
  return { collection: JOB_LEFTOVERS.name, id: recordId('leftover', kind, reference) };
}

export function stagedBytesKey(space: string): RecordKey {
  return { collection: STAGED_BYTES.name, id: recordId('staged-bytes', space) };
}

export function pieceKey(reference: string, index: number): RecordKey {
  return { collection: STAGED_PIECES.name, id: recordId('piece', reference, String(index)) };
}

export function objectSpaceKey(space: string): RecordKey {
  return { collection: OBJECT_SPACES.name, id: recordId('object-space', space) };
}

/** Claims offer records of the same time in the order of their listing ids. */
export function upkeepListing({ id }: RecordKey): Listing {
  return { group: 'upkeep', id, hidden: false, indexes: {} };
}
