import { describeFailure } from '../../kernel/log.ts';
import { settledEach } from '../../kernel/settled-each.ts';
import { listPages, walkPages } from '../../store/pages.ts';
import type {
  Collection,
  Head,
  KeyRequest,
  LoadedRecords,
  RecordData,
  RecordKey,
  RecordPage,
  Write,
} from '../../store/port.ts';
import { artifactPrefix } from '../artifact.ts';
import {
  admissionOfRun,
  quietKey,
  REMAINS,
  readRun,
  remainsKey,
  runKey,
  slotKey,
  startSlotOf,
} from '../records.ts';
import { withoutRun } from '../rules/start-key.ts';
import { isTerminal, type Run } from '../run.ts';
import type { Runtime } from '../runtime.ts';
import { readSlot, slotWrite } from '../start-slot.ts';
import { mayOwn, OWNED, sameState } from './belongings.ts';

/** Counts of removed runs and of the records that belonged to them. */
export interface PruneCounts {
  readonly runs: number;
  readonly events: number;
  readonly artifacts: number;
  readonly checkpoints: number;
  readonly timers: number;
  readonly externalEvents: number;
  readonly leases: number;
  readonly artifactDirectories: number;
}

/** Records of one page: artifacts and checkpoints are read with their bodies. */
const PAGE = 50;

/** Records that are removed in the transaction of their run. Further ones are removed afterwards. */
const TOGETHER_MAX = 100;

/** Time to clear the remains of a removed run before another prune continues. */
const REMAINS_MS = 60_000;

/**
 * A worker writes the bytes of a large artifact before the transaction that refuses it. No call takes longer than this, so
 * afterwards no bytes are added under the run's prefix.
 */
export const LATE_BYTES_MS = 3_600_000;

const RESUMED_WIDTH = 8;

export const REMAINS_GROUP = 'remains';

/** A run that changed between reading and removing is read again. The last try removes it anyway and leaves remains. */
const TRIES_MAX = 3;

interface Belongings {
  readonly keys: readonly RecordKey[];
  /** Whether the run has no further records. */
  readonly complete: boolean;
}

/** The records that belong to a run, if they fit its transaction. */
async function belongingsOf(runtime: Runtime, run: Run): Promise<Belongings> {
  const pages = await Promise.all(mayOwn(run).map((collection) => ownedPage(runtime, run.id, collection)));
  const keys = pages.flatMap(({ records }) => records.map(({ key }) => key));
  return { keys, complete: keys.length <= TOGETHER_MAX && pages.every(({ next }) => next === null) };
}

async function ownedPage(runtime: Runtime, runId: string, collection: Collection): Promise<RecordPage> {
  const store = await runtime.store();
  return store.query(runtime.scope, { by: 'list', collection, group: runId, limit: PAGE });
}

/** Counts the records that a removal of the run would remove. */
export async function countRun(runtime: Runtime, run: Run): Promise<PruneCounts> {
  const found: string[] = [];
  const store = await runtime.store();
  for (const collection of mayOwn(run)) {
    const owned = { collection, group: run.id, limit: PAGE };
    for await (const { records } of listPages(store, runtime.scope, owned))
      found.push(...records.map(({ key }) => key.collection));
  }
  return countsOf(run, found, await hasBytes(runtime, run));
}

function countsOf(run: Run, collections: readonly string[], bytes: boolean): PruneCounts {
  const countOf = (name: string) => collections.filter((each) => each === name).length;
  return {
    runs: 1,
    events: run.traced - run.traceDropped,
    artifacts: run.artifacts,
    checkpoints: countOf('checkpoints'),
    timers: countOf('timers'),
    externalEvents: run.inbox.length,
    leases: countOf('leases'),
    artifactDirectories: bytes ? 1 : 0,
  };
}

async function hasBytes({ blobs: open }: Runtime, { id, attempt }: Run): Promise<boolean> {
  // Only a lease holder writes bytes for a run.
  if (open === null || attempt === 0) return false;
  const blobs = await open();
  const pages = walkPages((after) => blobs.list(artifactPrefix(id), { limit: 1, ...after }));
  for await (const { keys } of pages) if (keys.length > 0) return true;
  return false;
}

/**
 * Removes a terminal run with all its records; `null` if it is already removed. A `remains` record names the records
 * that do not fit into the transaction of the run, so that a later prune can finish an interrupted call.
 */
export async function removeRun(runtime: Runtime, seen: Run, now: number): Promise<PruneCounts | null> {
  let run = seen;
  for (let tries = 1; ; tries += 1) {
    const owned = await belongingsOf(runtime, run);
    const lateUntil = lateUntilOf(runtime, run, now);
    const bytes = await hasBytes(runtime, run);
    const alone = owned.complete && !bytes && lateUntil === null;
    const found = await takeRun(runtime, run, alone ? owned.keys : null, {
      now,
      lateUntil,
      sure: tries >= TRIES_MAX,
    });
    if (found === 'gone') return null;
    if (found === 'removed') {
      const collections = owned.keys.map(({ collection }) => collection);
      return countsOf(run, collections, false);
    }
    if (found === 'remains') {
      const removed = await clearedOrLeft(runtime, { runId: run.id, lateUntil }, now);
      return countsOf(run, removed.collections, bytes || removed.bytes);
    }
    run = found;
  }
}

/** Until when a late writer may still add bytes; `null` if that time is over or there is no blob store. */
function lateUntilOf({ blobs }: Runtime, run: Run, now: number): number | null {
  if (blobs === null || run.attempt === 0) return null;
  const until = (run.completedAt ?? run.updatedAt) + LATE_BYTES_MS;
  return until > now ? until : null;
}

interface Taking {
  readonly now: number;
  readonly lateUntil: number | null;
  /** Removes the run even if it has changed since it was read; its records become remains. */
  readonly sure: boolean;
}

/** Removes the run with the records in `keys`, or leaves remains if `keys` is `null`. Returns the run if it has changed. */
async function takeRun(
  runtime: Runtime,
  run: Run,
  keys: readonly RecordKey[] | null,
  { now, lateUntil, sure }: Taking,
): Promise<'removed' | 'remains' | 'gone' | Run> {
  const key = runKey(run.id);
  const admission = admissionOfRun(run);
  const slot = run.concurrencyKey === null ? null : slotKey(run.concurrencyKey);
  const quiet = run.quietBy === undefined ? null : quietKey(run);
  // The slot of a start key has places of several runs, so it is requested with its body.
  const shared = run.startKey === undefined ? null : slotKey(startSlotOf(run));
  const other = slot?.id === shared?.id ? null : slot;
  const named = [admission, other, quiet].filter((each) => each !== null);
  const requests: KeyRequest[] = [
    { key, view: 'body' },
    ...[...named, ...(keys ?? [])].map((each) => ({ key: each })),
    ...(shared === null ? [] : [{ key: shared, view: 'body' as const }]),
  ];
  if (keys === null || sure) requests.push({ key: remainsKey(run.id), expectAbsent: true });
  const store = await runtime.store();
  return store.transact<'removed' | 'remains' | 'gone' | Run>(
    runtime.scope,
    { gate: key, keys: requests, frees: true },
    (found) => {
      const record = found.get(key);
      const before = record === undefined ? undefined : readRun(record, run.id);
      if (before === undefined || !isTerminal(before.status)) return { writes: [], result: 'gone' };
      const same = sameState(before, run);
      if (!same && !sure && keys !== null) return { writes: [], result: before };
      const mine = named.filter((each) => isOwned(found, each, run.id));
      const writes: Write[] = [key, ...mine].map((each) => ({ remove: each }));
      if (shared !== null) writes.push(...withoutPlace(found, shared, run, now));
      if (keys !== null && same) {
        const there = keys.filter((each) => isOwned(found, each, run.id));
        return { writes: [...writes, ...there.map((each) => ({ remove: each }))], result: 'removed' };
      }
      writes.push({ put: remainsRecord(run.id, lateUntil, now) });
      return { writes, result: 'remains' };
    },
  );
}

function withoutPlace(found: LoadedRecords, key: RecordKey, run: Run, now: number): Write[] {
  const record = found.get(key);
  if (record === undefined) return [];
  const before = readSlot(record);
  const slot = withoutRun(before, run.id);
  if (slot === null) return [{ remove: key }];
  if (slot.places.length === before.places.length) return [];
  return [slotWrite({ name: startSlotOf(run), handlerId: run.handlerId }, slot, now)];
}

/** Registers the remains of a removed run, so that a later prune clears them. */
export function remainsRecord(runId: string, lateUntil: number | null, now: number) {
  return {
    key: remainsKey(runId),
    head: { runId, lateUntil },
    body: null,
    listing: { group: REMAINS_GROUP, id: runId, hidden: false, indexes: {} },
    due: now + REMAINS_MS,
  };
}

interface Cleared {
  /** The collection of each removed record. */
  readonly collections: readonly string[];
  readonly bytes: boolean;
}

interface Remains {
  readonly runId: string;
  readonly lateUntil: number | null;
}

/** Remains that cannot be cleared now are due again soon, so a failure is logged and not thrown. */
async function clearedOrLeft(runtime: Runtime, remains: Remains, now: number): Promise<Cleared> {
  try {
    return await clearRemains(runtime, remains, now);
  } catch (error) {
    const message = 'The remains of a removed run could not be cleared yet';
    runtime.log({ severity: 'WARNING', message, failure: describeFailure(error) });
    return { collections: [], bytes: false };
  }
}

/** Removes the records and bytes of a removed run in bounded steps, and then its `remains` record. */
async function clearRemains(runtime: Runtime, { runId, lateUntil }: Remains, now: number): Promise<Cleared> {
  const collections: string[] = [];
  for (const collection of OWNED) {
    let more = true;
    while (more) {
      // Always the first page: the records of the previous one are removed.
      const page = await ownedPage(runtime, runId, collection);
      const removed = await removeOwned(
        runtime,
        runId,
        page.records.map(({ key }) => key),
      );
      collections.push(...removed.map((key) => key.collection));
      more = page.next !== null;
    }
  }
  const blobs = await runtime.blobs?.();
  const bytes = blobs === undefined ? 0 : await blobs.removeAll(artifactPrefix(runId));
  const key = remainsKey(runId);
  const store = await runtime.store();
  await store.transact(runtime.scope, { gate: key, keys: [{ key }], frees: true }, (found) => {
    const record = found.get(key);
    if (record === undefined) return { writes: [], result: null };
    const late = lateUntil !== null && lateUntil > now;
    const write: Write = late ? { put: { key, head: record.head, due: lateUntil } } : { remove: key };
    return { writes: [write], result: null };
  });
  return { collections, bytes: bytes > 0 };
}

/** A run-owned lease or a slot may belong to another run by now, so the record's run id decides. */
function isOwned(found: LoadedRecords, key: RecordKey, runId: string): boolean {
  return found.get(key)?.head.runId === runId;
}

/** Returns the keys of the records that existed. */
async function removeOwned(
  runtime: Runtime,
  runId: string,
  keys: readonly RecordKey[],
): Promise<readonly RecordKey[]> {
  const [gate] = keys;
  if (gate === undefined) return [];
  const store = await runtime.store();
  return store.transact(runtime.scope, { gate, keys: keys.map((key) => ({ key })), frees: true }, (found) => {
    const there = keys.filter((key) => isOwned(found, key, runId));
    return { writes: there.map((key) => ({ remove: key })), result: there };
  });
}

/** Clears all remains of these heads, also those that a later prune would clear. Throws if it cannot. */
export async function clearAllRemains(
  runtime: Runtime,
  now: number,
  isMine: (head: Head) => boolean,
): Promise<void> {
  const store = await runtime.store();
  const pages = listPages(store, runtime.scope, { collection: REMAINS, group: REMAINS_GROUP, limit: PAGE });
  for await (const { records } of pages)
    for (const record of records)
      if (isMine(record.head)) await clearRemains(runtime, remainsOf(record), now);
}

function remainsOf({ head }: RecordData): Remains {
  const lateUntil = typeof head.lateUntil === 'number' ? head.lateUntil : null;
  return { runId: String(head.runId), lateUntil };
}

/** Clears the remains of at most `limit` removed runs. Returns how many it found. */
export async function resumeRemains(runtime: Runtime, now: number, limit: number): Promise<number> {
  const store = await runtime.store();
  const found = await store.claim<Remains>(runtime.scope, REMAINS, { now, limit }, (record) => {
    const { key, head } = record;
    return { put: { key, head, due: now + REMAINS_MS }, result: remainsOf(record) };
  });
  await settledEach(found, RESUMED_WIDTH, (remains) => clearedOrLeft(runtime, remains, now));
  return found.length;
}
