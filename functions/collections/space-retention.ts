import type { Clock } from '../kernel/world.ts';
import type { OwnedCollection } from '../store/ownership.ts';
import type { RecordKey, RecordStore } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';
import { UPKEEP_SCOPE, upkeepListing } from './upkeep-collections.ts';

/** The time between two visits of a space: data is kept at most this much longer than its retention. */
const INTERVAL_MS = 3_600_000;
/** Time to sweep a part of a space before another process may take it. */
const CLAIM_MS = 120_000;
const CLAIMED_MAX = 100;
/** How long a process trusts its announcement of a space. */
const TRUSTED_MS = 3_600_000;
/** Upkeep forgets an empty space this long after its last announcement: clocks differ, and writes take time. */
const FORGOTTEN_AFTER_MS = 2 * TRUSTED_MS;
/** The most spaces that a process remembers. */
const REMEMBERED_MAX = 10_000;

/** A kind of data of spaces that upkeep removes when it is old. */
export interface SpaceRetention {
  readonly store: () => Promise<RecordStore>;
  readonly clock: Clock;
  /** `null`: upkeep removes nothing because of its age. */
  readonly retentionMs: number | null;
  /** The spaces that have such data. Two kinds of data never share a collection. */
  readonly spaces: OwnedCollection;
  readonly announced: AnnouncedSpaces;
}

/** The announcements of a process for one kind of data: until when each is trusted, the oldest first. */
export type AnnouncedSpaces = Map<string, number>;

/** The result of one step in a space. */
export interface RetentionStep {
  readonly removed: number;
  /** `old`: more is to be removed; `young`: nothing now; `none`: the space has no such data. */
  readonly left: 'old' | 'young' | 'none';
}

/** Makes upkeep visit the space. A process writes at most once an hour for each space. */
export async function announceSpace(
  { store, clock, retentionMs, spaces, announced }: SpaceRetention,
  space: string,
): Promise<void> {
  if (retentionMs === null) return;
  const opened = await store();
  const key = intentKey(spaces, space);
  const now = clock.now();
  if (now < (announced.get(key.id) ?? 0)) return;
  await opened.transact(UPKEEP_SCOPE, { gate: key, keys: [{ key }] }, (found) => {
    const due = Math.min(found.get(key)?.due ?? Infinity, now + INTERVAL_MS);
    const head = { space, announcedAt: now };
    return { writes: [{ put: { key, head, body: null, listing: upkeepListing(key), due } }], result: null };
  });
  announced.delete(key.id);
  announced.set(key.id, now + TRUSTED_MS);
  if (announced.size > REMEMBERED_MAX) announced.delete(announced.keys().next().value ?? '');
}

/**
 * Calls `step` for the due spaces, which take turns, and returns how many records were removed. When its time is over, the next call
 * continues. A space without data is forgotten until it is announced again. A space that fails does not stop the others; the first
 * failure is thrown at the end.
 */
export async function sweepSpaces(
  { store, clock, retentionMs, spaces }: SpaceRetention,
  isOver: () => boolean,
  step: (space: string, now: number, retentionMs: number) => Promise<RetentionStep>,
): Promise<number> {
  if (retentionMs === null) return 0;
  const opened = await store();
  const now = clock.now();
  const claimed = { now, limit: CLAIMED_MAX };
  const queue = await opened.claim<string>(UPKEEP_SCOPE, spaces, claimed, ({ key, head }) => ({
    put: { key, head, due: now + CLAIM_MS },
    result: String(head['space']),
  }));
  const failures: unknown[] = [];
  let removed = 0;
  for (let space = queue.shift(); space !== undefined && !isOver(); space = queue.shift()) {
    try {
      const done = await step(space, now, retentionMs);
      removed += done.removed;
      if (done.left === 'old') queue.push(space);
      else await lookAgain(opened, intentKey(spaces, space), now, done.left === 'none');
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return removed;
}

async function lookAgain(store: RecordStore, key: RecordKey, now: number, isEmpty: boolean): Promise<void> {
  await store.transact(UPKEEP_SCOPE, { gate: key, keys: [{ key }], frees: true }, (found) => {
    const intent = found.get(key);
    if (intent === undefined) return { writes: [], result: null };
    // A process that still trusts its announcement may be about to write.
    const isForgotten = isEmpty && Number(intent.head['announcedAt'] ?? 0) + FORGOTTEN_AFTER_MS <= now;
    const put = { key, head: intent.head, due: now + INTERVAL_MS };
    return { writes: [isForgotten ? { remove: key } : { put }], result: null };
  });
}

/**
 * The record by which upkeep knows the space.
 * @testonly
 */
export function intentKey({ name }: OwnedCollection, space: string): RecordKey {
  return { collection: name, id: recordId(name, space) };
}
