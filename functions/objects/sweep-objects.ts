import { OBJECT_LEFTOVERS, spaceScope } from '../collections/store-collections.ts';
import { OBJECT_SPACES, objectSpaceKey, UPKEEP_SCOPE } from '../collections/upkeep-collections.ts';
import type { RecordData, RecordStore, Write } from '../store/port.ts';
import { doomed, type Leftover, leftoverIn, leftoverKey, UNFINISHED_REST_MS } from './leftovers.ts';
import type { ObjectParts } from './parts.ts';
import { MARK_MS } from './space-marks.ts';

/** Time to sweep a part of a space before another sweeper may take it. */
const CLAIM_MS = 120_000;
const SPACES_MAX = 200;
const LEFTOVERS_MAX = 50;

export interface ObjectSweep {
  /** Checked between two steps; the next sweep continues. */
  readonly isOver: () => boolean;
  /** Whether an active run has this ticket. */
  readonly isRunActive: (ticket: string) => Promise<boolean>;
}

/** A leftover as this sweep claimed it. */
interface Claimed extends Leftover {
  readonly due: number;
}

interface MarkedSpace {
  readonly space: string;
  readonly due: number;
}

/**
 * Removes due bytes that no object names, and returns how many leftovers it removed. The spaces take turns. A space that cannot be
 * swept does not stop the others; the first failure is thrown at the end.
 */
export async function sweepObjects(parts: ObjectParts, sweep: ObjectSweep): Promise<number> {
  let waiting = await claimSpaces(parts);
  let removed = 0;
  const failures: unknown[] = [];
  while (waiting.length > 0 && !sweep.isOver()) {
    const again: MarkedSpace[] = [];
    for (const marked of waiting) {
      if (sweep.isOver()) break;
      try {
        const swept = await sweepTurn(parts, marked.space, sweep);
        removed += swept.removed;
        if (swept.isDone) await settleMark(parts, marked);
        else again.push(marked);
      } catch (error) {
        failures.push(error);
      }
    }
    waiting = again;
  }
  if (failures.length > 0) throw failures[0];
  return removed;
}

async function claimSpaces({ records: { store, world } }: ObjectParts): Promise<MarkedSpace[]> {
  const now = world.clock.now();
  const due = now + CLAIM_MS;
  const request = { now, limit: SPACES_MAX };
  return (await store()).claim<MarkedSpace>(UPKEEP_SCOPE, OBJECT_SPACES, request, ({ key, head }) => ({
    put: { key, head, due },
    result: { space: String(head['space']), due },
  }));
}

async function sweepTurn(
  parts: ObjectParts,
  space: string,
  sweep: ObjectSweep,
): Promise<{ readonly removed: number; readonly isDone: boolean }> {
  const store = await parts.records.store();
  const claimed = await claimLeftovers(parts, store, space);
  let removed = 0;
  for (const leftover of claimed) {
    if (sweep.isOver()) return { removed, isDone: false };
    if (await removeLeftover(parts, store, space, { leftover, sweep })) removed += 1;
  }
  return { removed, isDone: claimed.length < LEFTOVERS_MAX };
}

/** The claim dooms bytes that no run can need, so that a late write does not name bytes that are being removed. */
async function claimLeftovers(
  { records: { world } }: ObjectParts,
  store: RecordStore,
  space: string,
): Promise<Claimed[]> {
  const now = world.clock.now();
  const due = now + CLAIM_MS;
  const request = { now, limit: LEFTOVERS_MAX };
  return store.claim<Claimed>(spaceScope(space), OBJECT_LEFTOVERS, request, (record) => {
    const leftover = leftoverIn(record);
    const { key, head } = record;
    const put = belongsToRun(leftover) ? { key, head, due } : doomed(record, due);
    return { put, result: { ...leftover, due } };
  });
}

function belongsToRun({ kind, isDoomed }: Leftover): boolean {
  return (kind === 'artifact' || kind === 'done') && !isDoomed;
}

/** Returns whether the leftover is gone. The bytes are removed first, so a crash leaves the intent. */
async function removeLeftover(
  parts: ObjectParts,
  store: RecordStore,
  space: string,
  { leftover, sweep }: { readonly leftover: Claimed; readonly sweep: ObjectSweep },
): Promise<boolean> {
  const { ticket, reference } = leftover;
  const { clock } = parts.records.world;
  if (belongsToRun(leftover)) {
    const isActive = await sweep.isRunActive(ticket);
    const isOurs = await settle(store, space, leftover, (record) => ({
      put: isActive ? { ...record, due: clock.now() + UNFINISHED_REST_MS } : doomed(record, leftover.due),
    }));
    if (isActive || !isOurs) return false;
  }
  if (reference !== '') await parts.place.remove(reference);
  return settle(store, space, leftover, ({ key }) => ({ remove: key }));
}

/** Changes the leftover if it still is as this sweep claimed it, and returns whether it was. The run may have settled it since. */
async function settle(
  store: RecordStore,
  space: string,
  { ticket, due }: Claimed,
  change: (record: Pick<RecordData, 'key' | 'head'>) => Write,
): Promise<boolean> {
  const key = leftoverKey(ticket);
  return store.transact(spaceScope(space), { keys: [{ key }], frees: true }, (found) => {
    const record = found.get(key);
    if (record === undefined || record.due !== due) return { writes: [], result: false };
    return { writes: [change({ key, head: record.head })], result: true };
  });
}

/**
 * Schedules the next visit of the space for its next leftover. Forgets a space without leftovers, unless its mark is recent: a
 * leftover may have been written since.
 */
async function settleMark(
  { records: { store, world } }: ObjectParts,
  { space, due }: MarkedSpace,
): Promise<void> {
  const opened = await store();
  const { records: left } = await opened.due(spaceScope(space), OBJECT_LEFTOVERS, { now: null, limit: 1 });
  const next = left[0]?.due ?? null;
  const key = objectSpaceKey(space);
  await opened.transact(UPKEEP_SCOPE, { gate: key, keys: [{ key }], frees: true }, (found) => {
    const mark = found.get(key);
    if (mark === undefined || mark.due !== due) return { writes: [], result: null };
    const now = world.clock.now();
    const freshUntil = Number(mark.head['markedAt']) + MARK_MS;
    if (next === null && freshUntil <= now) return { writes: [{ remove: key }], result: null };
    const again = Math.max(next ?? freshUntil, now + 1);
    return { writes: [{ put: { key, head: mark.head, due: again } }], result: null };
  });
}
