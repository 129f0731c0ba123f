import { spaceScope } from '../collections/store-collections.ts';
import { upkeepListing } from '../collections/upkeep-collections.ts';
import { unlessQuotaExceeded } from '../kernel/quota.ts';
import type { TurnRoom } from '../kernel/turn-room.ts';
import { type RecordData, type RecordKey, type RecordStore, StoreError } from '../store/port.ts';
import { removalTime, type VectorRetention } from './retention.ts';
import { vectorOfText, vectorText } from './rules/vector-bytes.ts';

/** The most vectors of one read or commit, and their most bytes. A store handles each read or commit in one turn. */
const CHUNK = 50;
const CHUNK_BYTES = 256 * 1024;

/** A vector with the key of its record. */
export interface PaidVector {
  readonly key: RecordKey;
  readonly vector: Float32Array;
}

export interface PaidPlace {
  readonly store: RecordStore;
  readonly space: string;
  readonly dimensions: number;
  readonly retention?: VectorRetention | undefined;
  readonly turns?: TurnRoom | undefined;
}

/** The stored vectors of these keys, by the ids of the keys. */
export async function readPaid(
  { store, space, dimensions, turns }: PaidPlace,
  keys: readonly RecordKey[],
): Promise<ReadonlyMap<string, Float32Array>> {
  const found = new Map<string, Float32Array>();
  for (const chunk of chunksOf(keys, dimensions)) {
    const wanted = chunk.map((key) => ({ key, view: 'body' as const }));
    const { records } = await store.query(spaceScope(space), { by: 'keys', keys: wanted });
    for (const { key, body } of records) {
      found.set(key.id, vectorIn(body));
      await turns?.pause(space);
    }
  }
  return found;
}

/** Stores nothing for a space whose quota is used up: its vectors are paid for again at the next request. */
export async function keepPaid(
  { store, space, dimensions, retention, turns }: PaidPlace,
  vectors: readonly PaidVector[],
): Promise<void> {
  const due = await removalTime(retention, space);
  for (const chunk of chunksOf(vectors, dimensions)) {
    const records: RecordData[] = [];
    for (const { key, vector } of chunk) {
      records.push(recordOf(key, vector, due));
      await turns?.pause(space);
    }
    const keys = chunk.map(({ key }) => ({ key, expectAbsent: true }));
    const written = store.transact(spaceScope(space), { keys }, (found) => ({
      writes: records.filter(({ key }) => found.get(key) === undefined).map((put) => ({ put })),
      result: null,
      grows: 'job',
    }));
    await written.catch(unlessQuotaExceeded);
  }
}

function* chunksOf<T>(all: readonly T[], dimensions: number): Generator<readonly T[]> {
  const bytes = dimensions * Float32Array.BYTES_PER_ELEMENT;
  const size = Math.max(1, Math.min(CHUNK, Math.floor(CHUNK_BYTES / bytes)));
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size);
}

/** A record with a due time has a listing, because upkeep reads such records in the order of their listing ids. */
function recordOf(key: RecordKey, vector: Float32Array, due: number | null): RecordData {
  const record = { key, head: {}, body: JSON.stringify(vectorText(vector)) };
  return due === null ? record : { ...record, due, listing: upkeepListing(key) };
}

function vectorIn(body: string | null | undefined): Float32Array {
  if (typeof body !== 'string') throw new StoreError('corrupt', 'a kept vector has no numbers');
  return vectorOfText(String(JSON.parse(body)));
}
