import { spaceScope } from '../collections/store-collections.ts';
import type { Conditions } from '../kernel/conditions.ts';
import { ServiceError } from '../kernel/errors.ts';
import { formatUtc, laterUtc } from '../kernel/timestamp.ts';
import { decisionTime } from '../kernel/world.ts';
import type { Decision, LoadedRecords } from '../store/port.ts';
import { dropBytes, keepBytes, takeTicket } from './kept-bytes.ts';
import { leftoverKey, newTicket, settleTicket } from './leftovers.ts';
import type { ObjectParts } from './parts.ts';
import { type ReceivedBytes, receiveBytes } from './receive-bytes.ts';
import { checkCondition } from './rules/condition.ts';
import type { ObjectMetadata } from './rules/metadata.ts';
import type { ObjectInfo } from './rules/object-info.ts';
import type { ObjectPlace } from './rules/object-name.ts';
import {
  infoIn,
  type LostBytes,
  lostWith,
  OBJECT_INLINE_BYTES_MAX,
  objectKey,
  objectRecord,
} from './stored-object.ts';

/** An object as its caller sends it; names, type and metadata have passed their rules. */
export interface ObjectWrite {
  readonly place: ObjectPlace;
  readonly contentType: string | null;
  readonly metadata: ObjectMetadata;
  readonly condition: Conditions;
  readonly body: AsyncIterable<Uint8Array>;
  /** The `Content-Length` of the request, where it has one. */
  readonly declaredBytes?: number | null;
}

/**
 * Writes an object. Throws `precondition_failed`, `payload_too_large`, and `unavailable` where too many bytes are under way.
 * When this resolves, the object survives a crash. After any other error the object may exist.
 */
export async function putObject(parts: ObjectParts, space: string, write: ObjectWrite): Promise<ObjectInfo> {
  const lease = parts.bytes.lease(space);
  try {
    // Check the conditions first, so that the body of a refused write is neither read nor stored.
    await checkNow(parts, space, write);
    const { body, declaredBytes } = write;
    const bytesMax = parts.limits.objectBytesMax;
    const received = await receiveBytes({ body, declaredBytes, bytesMax, lease });
    const isSmall = received.bytes.byteLength <= OBJECT_INLINE_BYTES_MAX;
    return await (isSmall
      ? putSmall(parts, space, write, received)
      : putLarge(parts, space, write, received));
  } finally {
    lease.release();
  }
}

async function checkNow(
  { records }: ObjectParts,
  space: string,
  { place, condition }: ObjectWrite,
): Promise<void> {
  if ((condition.ifMatch ?? condition.ifNoneMatch ?? null) === null) return;
  const keys = [{ key: objectKey(place) }];
  const { records: found } = await (await records.store()).query(spaceScope(space), { by: 'keys', keys });
  checkCondition(found[0] === undefined ? null : infoIn(found[0].head).etag, condition);
}

/** Writes in one transaction. If the replaced bytes lie outside the record, the space is marked first. */
async function putSmall(
  parts: ObjectParts,
  space: string,
  write: ObjectWrite,
  received: ReceivedBytes,
): Promise<ObjectInfo> {
  const { store, world } = parts.records;
  const ticket = newTicket(world);
  const key = objectKey(write.place);
  const keys = [{ key }, { key: leftoverKey(ticket), expectAbsent: true }];
  const arrivedAt = world.clock.now();
  for (;;) {
    const request = { gate: key, keys };
    const written = await (await store()).transact(spaceScope(space), request, (found) => {
      const now = decisionTime(world.clock, arrivedAt);
      const { lost, updatedAt } = beforeOf(found, write);
      if (lost !== null && !parts.marks.isFresh(space)) return { writes: [], result: null };
      const info = infoOf(write, received, laterUtc(updatedAt, formatUtc(now)));
      const put = objectRecord(info, { inline: received.bytes });
      return {
        writes: [{ put }, ...settleTicket(ticket, { isThere: false, lost, now })],
        result: info,
        grows: 'request',
      };
    });
    if (written !== null) return written;
    await parts.marks.ensure(space);
  }
}

/** The intent to remove the bytes, the bytes, and one transaction that makes them an object and settles the intent. */
async function putLarge(
  parts: ObjectParts,
  space: string,
  write: ObjectWrite,
  received: ReceivedBytes,
): Promise<ObjectInfo> {
  const { store, world } = parts.records;
  const ticket = newTicket(world);
  await keepBytes(parts, space, { ticket, kind: 'upload', bytes: received.bytes });
  const key = objectKey(write.place);
  const keys = [{ key }, { key: leftoverKey(ticket) }];
  const arrivedAt = world.clock.now();
  const decide = (found: LoadedRecords): Decision<ObjectInfo> => {
    const now = decisionTime(world.clock, arrivedAt);
    const { lost, updatedAt } = beforeOf(found, write);
    takeTicket(found, ticket);
    const info = infoOf(write, received, laterUtc(updatedAt, formatUtc(now)));
    const put = objectRecord(info, { reference: ticket });
    return {
      writes: [{ put }, ...settleTicket(ticket, { isThere: true, lost, now })],
      result: info,
      grows: 'request',
    };
  };
  try {
    return await (await store()).transact(spaceScope(space), { gate: key, keys }, decide);
  } catch (error) {
    // After another failure the object may exist and name the bytes: upkeep decides about them.
    if (error instanceof ServiceError) await dropBytes(parts, space, ticket).catch(() => undefined);
    throw error;
  }
}

interface Before {
  /** The bytes outside the record that the write replaces. */
  readonly lost: LostBytes | null;
  readonly updatedAt: string | null;
}

/** The object that the write replaces. Throws `precondition_failed`. */
function beforeOf(found: LoadedRecords, { place, condition }: ObjectWrite): Before {
  const before = found.get(objectKey(place));
  const info = before === undefined ? null : infoIn(before.head);
  checkCondition(info?.etag ?? null, condition);
  return {
    lost: before === undefined ? null : lostWith(before.head),
    updatedAt: info?.updatedAt ?? null,
  };
}

function infoOf(
  { place, contentType, metadata }: ObjectWrite,
  { bytes, contentHash }: ReceivedBytes,
  updatedAt: string,
): ObjectInfo {
  const contentLength = bytes.byteLength;
  return { ...place, contentType, contentLength, etag: contentHash, contentHash, metadata, updatedAt };
}
