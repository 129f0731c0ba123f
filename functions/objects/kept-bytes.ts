import { spaceScope } from '../collections/store-collections.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { LoadedRecords } from '../store/port.ts';
import { leftoverIn, leftoverKey, leftoverRecord, type Ticket, UNFINISHED_REST_MS } from './leftovers.ts';
import type { ObjectParts } from './parts.ts';

/** Stores bytes under the ticket. The intent to remove them comes first. */
export async function keepBytes(
  parts: ObjectParts,
  space: string,
  {
    ticket,
    kind,
    bytes,
  }: { readonly ticket: Ticket; readonly kind: 'upload' | 'artifact'; readonly bytes: Uint8Array },
): Promise<void> {
  const { store, world } = parts.records;
  await parts.marks.ensure(space);
  const keys = [{ key: leftoverKey(ticket), expectAbsent: true }];
  const due = world.clock.now() + UNFINISHED_REST_MS;
  const outside = { bytes: bytes.length, isNew: true };
  const put = leftoverRecord({ ticket, kind, reference: ticket, outside }, due);
  await (await store()).transact(spaceScope(space), { keys }, () => {
    if (!parts.marks.isFresh(space))
      throw new ServiceError('unavailable', 'The store answered too late. Nothing was written. Try again.');
    // Refuse before the bytes are written: they would stay on the disk until upkeep removes them.
    return { writes: [{ put }], result: null, grows: 'request' };
  });
  await parts.place.put(ticket, bytes);
}

/** Removes bytes that are no part of an object, then the intent. */
export async function dropBytes(parts: ObjectParts, space: string, ticket: Ticket): Promise<void> {
  const key = leftoverKey(ticket);
  await parts.place.remove(ticket);
  await (await parts.records.store()).transact(
    spaceScope(space),
    { keys: [{ key }], frees: true },
    (found) => ({
      writes: found.get(key) === undefined ? [] : [{ remove: key }],
      result: null,
    }),
  );
}

/** Throws if upkeep has removed the bytes because the write took too long. */
export function takeTicket(found: LoadedRecords, ticket: Ticket): void {
  const record = found.get(leftoverKey(ticket));
  if (record !== undefined && !leftoverIn(record).isDoomed) return;
  throw new ServiceError('unavailable', 'The write took too long. Nothing was written. Try again.', {
    retryAfterSeconds: 1,
  });
}
