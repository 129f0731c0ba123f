import { spaceScope } from '../collections/store-collections.ts';
import { upkeepListing } from '../collections/upkeep-collections.ts';
import { type RecordData, type RecordKey, type RecordStore, StoreError } from '../store/port.ts';
import { removalTime, type VectorRetention } from './retention.ts';
import { vectorOfText, vectorText } from './rules/vector-bytes.ts';

/** Vectors of one read or commit: some have 3,072 numbers. */
const CHUNK = 50;

/** A vector with the key under which it is kept. */
export interface PaidVector {
  readonly key: RecordKey;
  readonly vector: Float32Array;
}

/** The vectors that are kept under some of these keys, by the ids of the keys. */
export async function readPaid(
  store: RecordStore,
  space: string,
  keys: readonly RecordKey[],
): Promise<ReadonlyMap<string, Float32Array>> {
  const found = new Map<string, Float32Array>();
  for (let at = 0; at < keys.length; at += CHUNK) {
    const wanted = keys.slice(at, at + CHUNK).map((key) => ({ key, view: 'body' as const }));
    const { records } = await store.query(spaceScope(space), { by: 'keys', keys: wanted });
    for (const { key, body } of records) found.set(key.id, vectorIn(body));
  }
  return found;
}

export interface PaidPlace {
  readonly store: RecordStore;
  readonly space: string;
  readonly retention?: VectorRetention | undefined;
}

export async function keepPaid(
  { store, space, retention }: PaidPlace,
  vectors: readonly PaidVector[],
): Promise<void> {
  const due = await removalTime(retention, space);
  for (let at = 0; at < vectors.length; at += CHUNK) {
    const chunk = vectors.slice(at, at + CHUNK);
    const keys = chunk.map(({ key }) => ({ key, expectAbsent: true }));
    await store.transact(spaceScope(space), { keys }, (found) => ({
      writes: chunk
        .filter(({ key }) => found.get(key) === undefined)
        .map(({ key, vector }) => ({ put: recordOf(key, vector, due) })),
      result: null,
    }));
  }
}

/** A record with a due time has a listing, as upkeep reads such records in the order of their listing ids. */
function recordOf(key: RecordKey, vector: Float32Array, due: number | null): RecordData {
  const record = { key, head: {}, body: JSON.stringify(vectorText(vector)) };
  return due === null ? record : { ...record, due, listing: upkeepListing(key) };
}

function vectorIn(body: string | null | undefined): Float32Array {
  if (typeof body !== 'string') throw new StoreError('corrupt', 'a kept vector has no numbers');
  return vectorOfText(String(JSON.parse(body)));
}
