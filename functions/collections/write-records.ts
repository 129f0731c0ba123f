import { ServiceError } from '../kernel/errors.ts';
import { inTurns } from '../kernel/turns.ts';
import { decisionTime } from '../kernel/world.ts';
import { callOn, type Moved, movedFrom } from './collection-call.ts';
import type { RecordParts } from './parts.ts';
import type { PartitionedKey } from './rules/record-key.ts';
import { type RecordStamp } from './rules/record-stamp.ts';
import { type RecordInput } from './rules/record-text.ts';
import { checkPrecondition, decideUpsert, type WritePrecondition } from './rules/record-write.ts';
import { recordJson } from './rules/stored-text.ts';
import { recordKey, spaceScope } from './store-collections.ts';
import { stampIn } from './stored-content.ts';
import { findableText, recordData } from './stored-record.ts';
import { policyRequest, writeBeside } from './write-beside.ts';

export interface WrittenRecord {
  readonly key: PartitionedKey;
  readonly stamp: RecordStamp;
  /** The JSON text of the answer. */
  readonly json: string;
}

/** Writes a record, given as its JSON text. Throws the refusal of the text, of the precondition or of an absent collection. */
export function upsertRecord(
  parts: RecordParts,
  space: string,
  name: string,
  text: string,
  precondition: WritePrecondition | null,
): Promise<WrittenRecord> {
  const arrivedAt = parts.world.clock.now();
  return callOn(parts, space, name, async (collection) => {
    const format = await parts.entries.written();
    const input = await inTurns(findableText(collection, text, format), parts.world.turns.of(space));
    const key = recordKey(collection.incarnation, input.key);
    const store = await parts.store();
    const request = { gate: key, keys: [{ key }] };
    const into = { name, version: format.version };
    return writeBeside<WrittenRecord | Moved>(store, space, into, request, (found) => {
      const moved = movedFrom(collection, found);
      if (moved !== null) return { writes: [], result: moved };
      const stored = found.get(key);
      const now = decisionTime(parts.world.clock, arrivedAt);
      const before = stored === undefined ? null : stampIn(stored.head);
      const stamp = decideUpsert(before, precondition, input.createdAt, now);
      return {
        writes: [{ put: recordData(collection, input, stamp) }],
        result: { key: input.key, stamp, json: recordJson(storedAs(input, stamp)) },
        grows: 'request',
      };
    });
  });
}

function storedAs({ text, vectors }: RecordInput, stamp: RecordStamp) {
  return { ...stamp, text, hasVectors: vectors.size > 0 };
}

/**
 * Removes a record. If the record or its collection does not exist, it has no effect, or throws `precondition_failed` if the
 * precondition requires a record.
 */
export async function deleteRecord(
  parts: RecordParts,
  space: string,
  name: string,
  { partitionKey, id }: PartitionedKey,
  precondition: WritePrecondition = {},
): Promise<void> {
  const store = await parts.store();
  const removal = callOn(parts, space, name, (collection) => {
    const key = recordKey(collection.incarnation, { partitionKey, id });
    const request = { gate: key, keys: [policyRequest(name), { key }], frees: true };
    return store.transact<Moved | null>(spaceScope(space), request, (found) => {
      const moved = movedFrom(collection, found);
      if (moved !== null) return { writes: [], result: moved };
      const stored = found.get(key);
      checkPrecondition(stored === undefined ? null : stampIn(stored.head).revision, precondition);
      return { writes: stored === undefined ? [] : [{ remove: key }], result: null };
    });
  });
  await removal.catch((error: unknown) => {
    if (!(error instanceof ServiceError && error.code === 'collection_not_found')) throw error;
    checkPrecondition(null, precondition);
  });
}
