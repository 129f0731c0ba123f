import { callOn, Moved, movedFrom } from '../collections/collection-call.ts';
import type { PartitionedKey } from '../collections/rules/record-key.ts';
import { decideUpsert } from '../collections/rules/record-write.ts';
import { recordKey } from '../collections/store-collections.ts';
import type { StoredCollection } from '../collections/stored-collection.ts';
import { stampIn } from '../collections/stored-content.ts';
import { type FindableRecord, findableText, recordData } from '../collections/stored-record.ts';
import { writeBeside } from '../collections/write-beside.ts';
import { ServiceError } from '../kernel/errors.ts';
import { formatUtc } from '../kernel/timestamp.ts';
import { inTurns } from '../kernel/turns.ts';
import { decisionTime } from '../kernel/world.ts';
import { type Decision, type LoadedRecords, StoreError } from '../store/port.ts';
import { takeTicket } from './kept-bytes.ts';
import { leftoverIn, leftoverKey, leftoverRecord, type Ticket, UNFINISHED_REST_MS } from './leftovers.ts';
import type { ObjectParts } from './parts.ts';
import type { ObjectMetadata } from './rules/metadata.ts';
import type { ObjectInfo } from './rules/object-info.ts';
import type { ObjectPlace } from './rules/object-name.ts';
import { infoIn, objectKey, objectRecord, type StoredContent } from './stored-object.ts';

/** After this number of tries without a fresh mark the process is too slow to write in the space. */
const TRIES_MAX = 8;

/** An artifact with the record that belongs to it. Names, type and metadata have passed their rules. */
export interface ArtifactCommit {
  /** The ticket of the run. It names the staged bytes, and the writes of an earlier execution. */
  readonly ticket: Ticket;
  readonly collection: string;
  /** The record as its JSON text. */
  readonly recordText: string;
  readonly place: ObjectPlace;
  readonly contentType: string | null;
  readonly metadata: ObjectMetadata;
  readonly contentHash: string;
  readonly contentLength: number;
  /** Bytes that are small enough for the record of the object; `null` where they were staged. */
  readonly inline: Uint8Array | null;
}

export interface CommittedArtifact {
  readonly key: PartitionedKey;
  readonly artifact: ObjectInfo;
  readonly receivedAt: string;
}

/**
 * Writes the object and its record in one transaction. An existing object with the same bytes stays as it is. A later execution of
 * the run writes nothing and answers the same. Throws `precondition_failed` for an object with other bytes, the refusals of the
 * record, and `unavailable` if upkeep has removed the staged bytes.
 */
export function commitArtifact(
  parts: ObjectParts,
  space: string,
  commit: ArtifactCommit,
): Promise<CommittedArtifact> {
  return callOn(parts.records, space, commit.collection, async (collection) => {
    const format = await parts.records.entries.written();
    const turns = parts.records.world.turns.of(space);
    const input = await inTurns(findableText(collection, commit.recordText, format), turns);
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const written = await commitOnce(parts, space, { commit, collection, input, version: format.version });
      if (written !== null) return written;
      await parts.marks.ensure(space);
    }
    throw new StoreError('contention', 'the space of an artifact cannot be marked in time');
  });
}

interface Attempt {
  readonly commit: ArtifactCommit;
  readonly collection: StoredCollection;
  readonly input: FindableRecord;
  /** The version of the search entry. */
  readonly version: number;
}

/** `null` if the space must be marked first, because the transaction writes a leftover record. */
async function commitOnce(
  parts: ObjectParts,
  space: string,
  attempt: Attempt,
): Promise<CommittedArtifact | Moved | null> {
  const { store, world } = parts.records;
  const { commit, collection, input, version } = attempt;
  const key = objectKey(commit.place);
  const keys = [
    { key },
    { key: recordKey(collection.incarnation, input.key) },
    { key: leftoverKey(commit.ticket), view: 'body' } as const,
  ];
  const arrivedAt = world.clock.now();
  return writeBeside<CommittedArtifact | Moved | null>(
    await store(),
    space,
    { name: commit.collection, version },
    { gate: key, keys },
    (found) => {
      const earlier = writtenBefore(found, commit.ticket);
      if (earlier !== null) return { writes: [], result: earlier };
      const moved = movedFrom(collection, found);
      if (moved !== null) return { writes: [], result: moved };
      if (commit.inline === null) takeTicket(found, commit.ticket);
      if (!parts.marks.isFresh(space)) return { writes: [], result: null };
      return decideBoth(found, attempt, decisionTime(world.clock, arrivedAt));
    },
  );
}

function writtenBefore(found: LoadedRecords, ticket: Ticket): CommittedArtifact | null {
  const record = found.get(leftoverKey(ticket));
  if (record === undefined || leftoverIn(record).kind !== 'done') return null;
  if (typeof record.body !== 'string') throw new StoreError('corrupt', 'an artifact has no receipt');
  // The stored receipt has the members that `decideBoth` wrote.
  return JSON.parse(record.body) as CommittedArtifact;
}

function decideBoth(
  found: LoadedRecords,
  { commit, collection, input }: Attempt,
  now: number,
): Decision<CommittedArtifact> {
  const existing = existingIn(found, commit);
  const artifact = existing ?? infoOf(commit, now);
  const content: StoredContent =
    commit.inline === null ? { reference: commit.ticket } : { inline: commit.inline };
  const before = found.get(recordKey(collection.incarnation, input.key));
  const stamp = decideUpsert(before === undefined ? null : stampIn(before.head), null, input.createdAt, now);
  const result = { key: input.key, artifact, receivedAt: formatUtc(now) };
  const isUnused = existing !== null && commit.inline === null;
  const done = {
    ticket: commit.ticket,
    kind: 'done',
    reference: isUnused ? commit.ticket : '',
    outside: isUnused ? { bytes: commit.contentLength, isNew: false } : null,
  } as const;
  return {
    writes: [
      ...(existing === null ? [{ put: objectRecord(artifact, content) }] : []),
      { put: recordData(collection, input, stamp) },
      { put: leftoverRecord(done, now + UNFINISHED_REST_MS, JSON.stringify(result)) },
    ],
    result,
    grows: 'request',
  };
}

/** The existing object with the same bytes; `null` if there is none. */
function existingIn(found: LoadedRecords, { place, contentHash }: ArtifactCommit): ObjectInfo | null {
  const record = found.get(objectKey(place));
  if (record === undefined) return null;
  const info = infoIn(record.head);
  if (info.contentHash === contentHash) return info;
  throw new ServiceError(
    'precondition_failed',
    'The write precondition failed: the object exists with other bytes.',
  );
}

function infoOf(
  { place, contentType, metadata, contentHash, contentLength }: ArtifactCommit,
  now: number,
): ObjectInfo {
  return {
    ...place,
    contentType,
    contentLength,
    etag: contentHash,
    contentHash,
    metadata,
    updatedAt: formatUtc(now),
  };
}
