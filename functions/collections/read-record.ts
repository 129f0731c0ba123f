import { callOn, movedFrom } from './collection-call.ts';
import type { RecordParts } from './parts.ts';
import type { PartitionedKey } from './rules/record-key.ts';
import { etagOf } from './rules/record-stamp.ts';
import { recordJson } from './rules/stored-text.ts';
import { recordKey, spaceScope } from './store-collections.ts';
import { storedText } from './stored-content.ts';
import { policyRequest } from './write-beside.ts';

export interface ReadRecord {
  /** The JSON text of the answer. */
  readonly json: string;
  readonly etag: string;
}

/** The record; `null` where the collection has none of that key. Throws the refusal of an absent collection. */
export async function getRecord(
  parts: RecordParts,
  space: string,
  name: string,
  key: PartitionedKey,
): Promise<ReadRecord | null> {
  const store = await parts.store();
  return callOn(parts, space, name, async (collection) => {
    const place = recordKey(collection.incarnation, key);
    const keys = [policyRequest(name), { key: place, view: 'body' } as const];
    const { records } = await store.query(spaceScope(space), { by: 'keys', keys });
    const found = new Map(records.map((record) => [record.key.id, record]));
    const moved = movedFrom(collection, { get: ({ id }) => found.get(id) });
    if (moved !== null) return moved;
    const record = found.get(place.id);
    if (record === undefined) return null;
    const stored = storedText(record);
    return { json: recordJson(stored), etag: etagOf(stored.revision) };
  });
}
