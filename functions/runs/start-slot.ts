import { parseJson } from '../kernel/json-text.ts';
import type { KeyRequest, LoadedRecords, RecordData, Write } from '../store/port.ts';
import { runKey, slotKey } from './records.ts';
import {
  EMPTY_SLOT,
  type KeyPlace,
  type KeySlot,
  type KeyView,
  type PlaceHolder,
} from './rules/start-key.ts';
import type { Runtime } from './runtime.ts';

/** The record of a start key's slot. Unlike the slot of a handler's key it has places, and may have waiting runs. */

/** Lists all slots of start keys. */
const SLOT_GROUP = 'start-keys';

/** After this time reconcile looks whether a place was left free, as after a crash. */
const OFFER_AGAIN_MS = 60_000;

/** The slot's name, and the handler of its runs. */
export interface StartSlot {
  readonly name: string;
  readonly handlerId: string;
}

export function readSlot(record: RecordData | undefined): KeySlot {
  if (typeof record?.body !== 'string') return EMPTY_SLOT;
  const { waits } = record.head;
  return { places: parseJson(record.body) as KeyPlace[], waits: typeof waits === 'number' ? waits : 0 };
}

/** The slot as it is now, without a guard. */
export async function findSlot({ store: open, scope }: Runtime, name: string): Promise<KeySlot> {
  const store = await open();
  const { records } = await store.query(scope, { by: 'keys', keys: [slotRequest(name)] });
  return readSlot(records[0]);
}

/** The keys of a transaction that decides about the slot. The heads of its runs say which places are taken. */
export function slotRequests(name: string, { places }: KeySlot, ownId: string): KeyRequest[] {
  const ids = new Set(places.map(({ runId }) => runId));
  ids.delete(ownId);
  return [slotRequest(name), ...[...ids].map((id) => ({ key: runKey(id) }))];
}

function slotRequest(name: string): KeyRequest {
  return { key: slotKey(name), view: 'body' };
}

/** The slot within a transaction; `null` if another one than was seen, whose runs were not read. */
export function slotIn(
  found: LoadedRecords,
  name: string,
  seen: KeySlot,
  { limit, now }: Pick<KeyView, 'limit' | 'now'>,
): KeyView | null {
  const slot = readSlot(found.get(slotKey(name)));
  if (JSON.stringify(slot.places) !== JSON.stringify(seen.places)) return null;
  return { slot, limit, now, holderOf: (runId) => holderIn(found, runId) };
}

function holderIn(found: LoadedRecords, runId: string): PlaceHolder | undefined {
  const head = found.get(runKey(runId))?.head;
  if (head === undefined) return undefined;
  const { status, attempt, leaseExpiresAt } = head;
  const expiresAt = typeof leaseExpiresAt === 'number' ? leaseExpiresAt : null;
  return { status: String(status), attempt: Number(attempt), leaseExpiresAt: expiresAt };
}

/** Only a slot with waiting runs is looked after. */
export function slotWrite({ name, handlerId }: StartSlot, slot: KeySlot, now: number): Write {
  const { places, waits } = slot;
  return {
    put: {
      key: slotKey(name),
      head: { name, handlerId, waits },
      body: JSON.stringify(places),
      listing: { group: SLOT_GROUP, id: name, hidden: false, indexes: {} },
      due: waits === 0 ? null : now + OFFER_AGAIN_MS,
    },
  };
}

/** Postponed by the look itself. */
export function slotLooked({ key, head }: RecordData, now: number) {
  const slot = { name: String(head.name), handlerId: String(head.handlerId) };
  return { put: { key, head, due: now + OFFER_AGAIN_MS }, result: slot };
}
