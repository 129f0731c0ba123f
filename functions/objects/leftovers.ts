import { OBJECT_LEFTOVERS } from '../collections/store-collections.ts';
import type { World } from '../kernel/world.ts';
import type { BytesOutside, RecordData, RecordKey, Write } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';
import type { LostBytes } from './stored-object.ts';

/** No call or admission lasts so long: bytes that no object names by then stay unused. */
export const UNFINISHED_REST_MS = 3_600_000;
/** A reader that saw the replaced object finishes reading its bytes within this time. */
const REPLACED_REST_MS = 600_000;
const TICKET_BYTES = 16;

/**
 * The reason why no object names the bytes:
 * - `upload`: a write stores them, and will name them.
 * - `artifact`: a run will name them. They stay while the run is active.
 * - `replaced`: an object named them before.
 * - `done`: no bytes are left. The run has written its object, and must not do so again.
 */
type LeftoverKind = 'upload' | 'artifact' | 'replaced' | 'done';

/** Names the leftover of one write. Random, so no two writes share one. */
export type Ticket = string;

export interface Leftover {
  readonly ticket: Ticket;
  readonly kind: LeftoverKind;
  /** The reference of the bytes; `''` if there are none. */
  readonly reference: string;
  /** Upkeep will remove the bytes: no object may name them. */
  readonly isDoomed: boolean;
}

/** `outside`: the size of the bytes under the reference, which counts until upkeep has removed them; `null` if there are none. */
export interface NewLeftover extends Omit<Leftover, 'isDoomed'> {
  readonly outside: BytesOutside | null;
}

export function newTicket({ random }: Pick<World, 'random'>): Ticket {
  return Buffer.from(random.bytes(TICKET_BYTES)).toString('hex');
}

export function leftoverKey(ticket: Ticket): RecordKey {
  return { collection: OBJECT_LEFTOVERS.name, id: recordId('object-leftover', ticket) };
}

/** The record that makes upkeep remove the bytes after `due`, in milliseconds since 1970. Written before the bytes. */
export function leftoverRecord(
  { ticket, kind, reference, outside }: NewLeftover,
  due: number,
  body: string | null = null,
): RecordData {
  const key = leftoverKey(ticket);
  const listing = { group: 'leftover', id: key.id, hidden: false, indexes: {} };
  const record = { key, head: { ticket, kind, reference }, body, listing, due };
  return outside === null ? record : { ...record, keptOutside: outside };
}

export function leftoverIn({ head }: Pick<RecordData, 'head'>): Leftover {
  const { ticket, kind, reference, doomed: isDoomed } = head;
  return {
    ticket: String(ticket),
    kind: String(kind) as LeftoverKind,
    reference: String(reference),
    isDoomed: isDoomed === true,
  };
}

/** The leftover record, marked so that upkeep removes its bytes at `due`. */
export function doomed({ key, head }: Pick<RecordData, 'key' | 'head'>, due: number): RecordData {
  return { key, head: { ...head, doomed: true }, due };
}

/**
 * Settles the ticket of a write in the transaction that writes the object: the ticket then names the replaced bytes (`null`:
 * none), or is removed.
 */
export function settleTicket(
  ticket: Ticket,
  {
    isThere,
    lost,
    now,
  }: { readonly isThere: boolean; readonly lost: LostBytes | null; readonly now: number },
): Write[] {
  if (lost !== null) {
    const { reference, bytes } = lost;
    const leftover = { ticket, kind: 'replaced', reference, outside: { bytes, isNew: false } } as const;
    return [{ put: leftoverRecord(leftover, now + REPLACED_REST_MS) }];
  }
  return isThere ? [{ remove: leftoverKey(ticket) }] : [];
}
