import type { RecordStore } from '../store/port.ts';
import { StoreError } from '../store/port.ts';
import { ledgerIn, ledgerKey, movedLedger } from './load-ledger.ts';
import type { RecordParts } from './parts.ts';
import { RETIRED_REST_MS, type RetiredCollection } from './retire.ts';
import { policyKey, RECORDS, spaceScope } from './store-collections.ts';
import { incarnationIn } from './stored-collection.ts';
import { sweepInTurns } from './sweep-turns.ts';
import { RETIRED_COLLECTIONS, retiredKey, UPKEEP_SCOPE } from './upkeep-collections.ts';

/** Time to sweep a part of a collection before another sweeper may take it. */
const CLAIM_MS = 120_000;
const CLAIMED_MAX = 200;
/** Records of one transaction. */
const PAGE = 100;
/** Pages of one collection before the next space has its turn. */
const SLICE_PAGES = 5;

export interface Sweep {
  readonly isOver: () => boolean;
  /** Whether an active run loads the incarnation. */
  readonly isRunActive: (runId: string) => Promise<boolean>;
}

export interface SweptCounts {
  readonly collections: number;
  readonly records: number;
}

type Slice = { readonly records: number; readonly isDone: boolean };

/**
 * Removes the records of incarnations without a name, in pages. The spaces take turns, so that a large deleted collection of one
 * space does not delay the others. When its time is over, the next call continues. A collection that cannot be swept does not stop
 * the others; the first failure is thrown at the end.
 */
export async function sweepRetired(parts: RecordParts, sweep: Sweep): Promise<SweptCounts> {
  const counts = { collections: 0, records: 0 };
  await sweepInTurns(await claimRetired(parts), sweep.isOver, async (retired) => {
    const { records, isDone } = await sweepSlice(parts, retired, sweep);
    counts.records += records;
    counts.collections += isDone ? 1 : 0;
    return isDone;
  });
  return counts;
}

/** An intent as this sweep claimed it. A later announcement of the same removal has another `due`. */
interface Claimed extends RetiredCollection {
  readonly due: number;
}

async function claimRetired({ store, world }: RecordParts): Promise<Claimed[]> {
  const now = world.clock.now();
  const due = now + CLAIM_MS;
  return (await store()).claim<Claimed>(
    UPKEEP_SCOPE,
    RETIRED_COLLECTIONS,
    { now, limit: CLAIMED_MAX },
    ({ key, head }) => ({
      put: { key, head, due },
      result: { ...(head as unknown as RetiredCollection), due },
    }),
  );
}

async function sweepSlice(parts: RecordParts, retired: Claimed, sweep: Sweep): Promise<Slice> {
  const store = await parts.store();
  const { runId } = retired;
  if (runId !== null && (await sweep.isRunActive(runId))) {
    await settle(store, retired, parts.world.clock.now() + RETIRED_REST_MS);
    return { records: 0, isDone: true };
  }
  if (!(await isNameless(store, retired))) {
    await settle(store, retired, null);
    return { records: 0, isDone: true };
  }
  let records = 0;
  for (let pages = 0; pages < SLICE_PAGES && !sweep.isOver(); pages += 1) {
    const removed = await removePage(store, retired);
    records += removed;
    if (removed > 0) continue;
    await settle(store, retired, null);
    return { records, isDone: true };
  }
  return { records, isDone: false };
}

/**
 * Whether the name of the collection points to another incarnation. The same transaction denies an import the right to point the
 * name at this incarnation, so either the import has already done so or its records are removed.
 */
async function isNameless(
  store: RecordStore,
  { space, name, incarnation, runId }: RetiredCollection,
): Promise<boolean> {
  const policy = policyKey(name);
  const ledger = runId === null ? [] : [ledgerKey(runId)];
  const keys = [policy, ...ledger].map((key) => ({ key }));
  return store.transact(spaceScope(space), { gate: policy, keys, frees: true }, (found) => {
    const pointer = found.get(policy);
    if (pointer !== undefined && incarnationIn(pointer.head) === incarnation)
      return { writes: [], result: false };
    const writes = ledger.flatMap((key) => {
      const record = found.get(key);
      if (record === undefined || ledgerIn(record).phase !== 'loading') return [];
      return [{ put: movedLedger(runId ?? '', { ...ledgerIn(record), phase: 'abandoned' }) }];
    });
    return { writes, result: true };
  });
}

async function removePage(
  store: RecordStore,
  { space, name, incarnation }: RetiredCollection,
): Promise<number> {
  const policy = policyKey(name);
  const selection = {
    by: 'list',
    collection: RECORDS,
    group: incarnation,
    view: 'head',
    limit: PAGE,
  } as const;
  const { records, next } = await store.query(spaceScope(space), selection);
  if (records.length === 0) {
    // A provider whose scan budget is used up answers an empty page although more records follow.
    if (next !== null) throw new StoreError('unavailable', 'a page of a retired collection is empty');
    return 0;
  }
  for (let count = records.length; ; count = Math.ceil(count / 2)) {
    const keys = records.slice(0, count).map(({ key }) => ({ key }));
    try {
      const request = { keys: [{ key: policy }, ...keys], frees: true };
      return await store.transact(spaceScope(space), request, (found) => {
        const pointer = found.get(policy);
        // A restore of the space may have restored the name.
        if (pointer !== undefined && incarnationIn(pointer.head) === incarnation)
          return { writes: [], result: 0 };
        const writes = keys.flatMap(({ key }) => (found.get(key) === undefined ? [] : [{ remove: key }]));
        return { writes, result: count };
      });
    } catch (error) {
      const isTooLarge = error instanceof StoreError && error.failure === 'too_large';
      if (!isTooLarge || count === 1) throw error;
    }
  }
}

/**
 * Schedules the intent again for `due`; `null` removes it. An intent that was announced again since the claim stays: its change
 * may come after the name was read.
 */
async function settle(
  store: RecordStore,
  { space, incarnation, due: claimed }: Claimed,
  due: number | null,
): Promise<void> {
  const key = retiredKey(space, incarnation);
  await store.transact(UPKEEP_SCOPE, { gate: key, keys: [{ key }], frees: true }, (found) => {
    const intent = found.get(key);
    if (intent === undefined || intent.due !== claimed) return { writes: [], result: null };
    const write = due === null ? { remove: key } : { put: { key, head: intent.head, due } };
    return { writes: [write], result: null };
  });
}
