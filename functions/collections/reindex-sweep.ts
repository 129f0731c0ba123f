import type { RecordStore } from '../store/port.ts';
import {
  isOfNewerRelease,
  isOnly,
  mayHaveOtherWriters,
  onlyVersion,
  rangeIn,
  sweepIn,
  withRange,
  withSweep,
} from './entry-range.ts';
import type { RecordParts } from './parts.ts';
import type { StaleCollection } from './reindex.ts';
import { type NamedSweep, reindexPage } from './reindex-page.ts';
import { RETIRED_REST_MS } from './retire.ts';
import type { EntryFormat } from './search/formats.ts';
import { policyKey, spaceScope } from './store-collections.ts';
import { collectionOf, incarnationIn, type StoredCollection } from './stored-collection.ts';
import { sweepInTurns } from './sweep-turns.ts';
import { REINDEXED_COLLECTIONS, reindexKey, UPKEEP_SCOPE } from './upkeep-collections.ts';

/** Time to prepare a part of a collection before another sweeper may take it. */
const CLAIM_MS = 120_000;
const CLAIMED_MAX = 200;
/** Pages of one collection before the next space has its turn. */
const SLICE_PAGES = 5;
const RUN_BYTES = 16;

export interface ReindexedCounts {
  /** The number of collections whose records are all prepared. */
  readonly collections: number;
  readonly records: number;
}

/** The progress of the sweep in a collection. */
interface Progress {
  /** The sweep that the policy record names; `null` before the first. */
  readonly run: string | null;
  /** The order key of the last prepared record. */
  readonly after: string | null;
}

/** An intent as this sweep claimed it; `due` changes with each claim. */
interface Claimed extends StaleCollection, Progress {
  readonly due: number;
}

/**
 * Writes search entries of this process's version for the records of announced collections, in pages. After the end of its time, or
 * a crash, the next call continues after the last page.
 */
export async function sweepStale(parts: RecordParts, isOver: () => boolean): Promise<ReindexedCounts> {
  const counts = { collections: 0, records: 0 };
  const sweeper = await sweeperOf(parts);
  const claimed = await claimStale(parts);
  const left = new Map(claimed.map((each) => [each, each as Progress]));
  await sweepInTurns(claimed, isOver, async (stale) => {
    const known = left.get(stale) ?? stale;
    // A failed one stays claimed: another sweep takes it later.
    left.delete(stale);
    const begun = await begin(parts, sweeper, { ...stale, ...known });
    if (begun === null) return true;
    const { run, format } = begun;
    let { after } = begun;
    for (let pages = 0; pages < SLICE_PAGES && !isOver(); pages += 1) {
      const page = await reindexPage(parts, stale.space, begun, after);
      counts.records += page.records;
      if (page.last === null) {
        counts.collections += (await finish(parts, stale, { run, version: format.version })) ? 1 : 0;
        return true;
      }
      after = page.last;
      // The page is already written: after a crash before this line it is written once more.
      await settle(parts, stale, { progress: { run, after }, due: stale.due });
    }
    left.set(stale, { run, after });
    return false;
  });
  // The time is over: make these due now, so that the next sweep continues with them.
  const due = parts.world.clock.now();
  for (const [stale, progress] of left) await settle(parts, stale, { progress, due });
  return counts;
}

async function claimStale({ store, world }: RecordParts): Promise<Claimed[]> {
  const now = world.clock.now();
  const due = now + CLAIM_MS;
  return (await store()).claim<Claimed>(
    UPKEEP_SCOPE,
    REINDEXED_COLLECTIONS,
    { now, limit: CLAIMED_MAX },
    ({ key, head }) => ({ put: { key, head, due }, result: { ...(head as unknown as Claimed), due } }),
  );
}

interface Sweeper {
  readonly format: EntryFormat;
  /** The newest version that this release knows; `null` to leave newer versions to their release. */
  readonly newest: number | null;
}

async function sweeperOf({ entries }: RecordParts): Promise<Sweeper> {
  await entries.mark();
  const newest = (await entries.isNewerRunning()) ? entries.newest : null;
  return { format: await entries.written(), newest };
}

/** The sweep that the policy record names, and whether it rests first. */
interface Named {
  readonly collection: StoredCollection;
  readonly run: string;
  readonly rests: boolean;
}

interface Begun extends NamedSweep {
  readonly after: string | null;
}

/**
 * Enters the sweep in the policy record; `null` if there is nothing to sweep now. A writer of another version removes the entry;
 * the next sweep then has another name and begins with the first record.
 */
async function begin(
  parts: RecordParts,
  { format, newest }: Sweeper,
  claimed: Claimed,
): Promise<Begun | null> {
  const { version } = format;
  const { space, name, incarnation } = claimed;
  const key = policyKey(name);
  const run = Buffer.from(parts.world.random.bytes(RUN_BYTES)).toString('hex');
  const request = { gate: key, keys: [{ key, view: 'body' as const }] };
  const store = await parts.store();
  const found = await store.transact<Named | 'over' | 'left'>(spaceScope(space), request, (seen) => {
    const policy = seen.get(key);
    if (policy === undefined || incarnationIn(policy.head) !== incarnation)
      return { writes: [], result: 'over' };
    const { head } = policy;
    if (isOnly(rangeIn(head), version)) return { writes: [], result: 'over' };
    if (newest !== null && isOfNewerRelease(head, newest)) return { writes: [], result: 'left' };
    const collection = collectionOf(policy);
    const known = sweepIn(head, version);
    const result = { collection, run: known ?? run, rests: mayHaveOtherWriters(head, version) };
    // The process that entered the sweep may have died before its intent recorded the rest period.
    if (known !== null) return { writes: [], result };
    return { writes: [{ put: { key, head: withSweep(head, version, run) } }], result };
  });
  if (found === 'over') {
    await settle(parts, claimed, null);
    return null;
  }
  if (found === 'left') {
    // Keep the progress for the release that continues the sweep.
    const due = parts.world.clock.now();
    await settle(parts, claimed, { progress: claimed, due });
    return null;
  }
  const { collection } = found;
  const begun = { collection, format, run: found.run };
  if (found.run === claimed.run) return { ...begun, after: claimed.after };
  const progress = { run: found.run, after: null };
  // A call of another release that read the policy earlier may still add a record.
  const due = found.rests ? parts.world.clock.now() + RETIRED_REST_MS : claimed.due;
  await settle(parts, claimed, { progress, due });
  return found.rests ? null : { ...begun, after: null };
}

/** Narrows the range of the collection to the version. Has no effect if the policy record does not name this sweep. */
async function finish(
  parts: RecordParts,
  claimed: Claimed,
  { run, version }: { readonly run: string; readonly version: number },
): Promise<boolean> {
  const { space, name, incarnation } = claimed;
  const key = policyKey(name);
  const request = { gate: key, keys: [{ key }] };
  const isDone = await (await parts.store()).transact(spaceScope(space), request, (found) => {
    const policy = found.get(key);
    const isOwn =
      policy !== undefined &&
      incarnationIn(policy.head) === incarnation &&
      sweepIn(policy.head, version) === run;
    const narrowed = isOwn ? [{ put: { key, head: withRange(policy.head, onlyVersion(version)) } }] : [];
    return { writes: narrowed, result: isOwn };
  });
  await settle(
    parts,
    claimed,
    isDone ? null : { progress: { run: null, after: null }, due: parts.world.clock.now() },
  );
  return isDone;
}

/** Stores the progress of the sweep; `null` removes the intent. Has no effect if another sweeper has claimed it. */
async function settle(
  parts: RecordParts,
  { space, incarnation, due: claimed }: Claimed,
  next: { readonly progress: Progress; readonly due: number } | null,
): Promise<void> {
  const key = reindexKey(space, incarnation);
  const store: RecordStore = await parts.store();
  await store.transact(UPKEEP_SCOPE, { gate: key, keys: [{ key }], frees: true }, (found) => {
    const intent = found.get(key);
    if (intent === undefined || intent.due !== claimed) return { writes: [], result: null };
    if (next === null) return { writes: [{ remove: key }], result: null };
    const { run, after } = next.progress;
    return { writes: [{ put: { key, head: { ...intent.head, run, after }, due: next.due } }], result: null };
  });
}
