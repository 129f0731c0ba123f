import { type KeyRequest, StoreError } from '../store/port.ts';
import { widened } from './entry-range.ts';
import {
  activeLedger,
  type LoadLedger,
  ledgerKey,
  movedLedger,
  outcomesIn,
  outcomesKey,
  outcomesRecord,
} from './load-ledger.ts';
import type { RecordParts } from './parts.ts';
import type { BatchResult } from './rules/batch.ts';
import { spaceScope } from './store-collections.ts';
import {
  type ChunkItem,
  type ChunkLedger,
  type ChunkTarget,
  type ItemOutcome,
  writeChunk,
} from './write-chunk.ts';

export interface RecordsLoad {
  readonly runId: string;
  readonly space: string;
  readonly target: ChunkTarget;
  readonly items: readonly ChunkItem[];
  readonly continueOnError: boolean;
}

export interface LoadWatch {
  readonly signal: AbortSignal;
  /** Called before the chunk that may be the last, if readers see the records at once. */
  readonly decide: () => Promise<void>;
  /** Called after each chunk. */
  readonly moved: (ledger: LoadLedger) => Promise<void>;
}

/** Items offered to one transaction; more than fit, so that `writeChunk` takes as many as possible. */
export const OFFERED_MAX = 100;

/**
 * Writes the items from the position of the ledger on, each chunk in one transaction with the ledger. So after a crash each item is
 * written and counted once, or not at all.
 */
export async function loadRecords(
  parts: RecordParts,
  load: RecordsLoad,
  begun: LoadLedger,
  watch: LoadWatch,
): Promise<LoadLedger> {
  let ledger = begun;
  const isSeen = load.target.loading === undefined;
  while (!isOver(ledger, load.items.length)) {
    watch.signal.throwIfAborted();
    if (isSeen && load.items.length - ledger.next <= OFFERED_MAX) await watch.decide();
    const outcomes = await writeNext(parts, load, ledger.next);
    ledger = after(ledger, outcomes, load.continueOnError);
    await watch.moved(ledger);
  }
  return ledger;
}

export function isOver({ next, stopped }: LoadLedger, requested: number): boolean {
  return stopped || next >= requested;
}

async function writeNext(parts: RecordParts, load: RecordsLoad, at: number): Promise<readonly ItemOutcome[]> {
  const { space, target, items, continueOnError } = load;
  const ledger = chunkLedger(load, at);
  try {
    const offered = items.slice(at, at + OFFERED_MAX);
    return await writeChunk(parts, space, target, offered, { continueOnError, ledger });
  } catch (error) {
    if (!(error instanceof StoreError && error.failure === 'too_large')) throw error;
    return refuseItem(parts, load, ledger);
  }
}

/** Refuses the next item, which does not fit into a transaction by itself. */
async function refuseItem(
  { store, entries }: RecordParts,
  { space }: RecordsLoad,
  ledger: ChunkLedger,
): Promise<readonly ItemOutcome[]> {
  const { version } = await entries.written();
  const error = 'The record is larger than one transaction of the database carries';
  const outcomes: readonly ItemOutcome[] = [{ key: {}, outcome: { error } }];
  return (await store()).transact(spaceScope(space), { keys: ledger.keys }, (found) => {
    const recorded = ledger.recorded(found);
    if (recorded !== null) return { writes: [], result: recorded };
    return { writes: ledger.writes(found, outcomes, version), result: outcomes };
  });
}

function chunkLedger({ runId, continueOnError }: RecordsLoad, at: number): ChunkLedger {
  const own = outcomesKey(runId, at);
  const keys: readonly KeyRequest[] = [{ key: ledgerKey(runId) }, { key: own, view: 'body' }];
  return {
    keys,
    recorded(found) {
      // Throws if the run has ended: a process that lost its run must write nothing more.
      activeLedger(found, runId);
      const record = found.get(own);
      return record === undefined ? null : outcomesIn(record);
    },
    writes(found, outcomes, version) {
      const ledger = activeLedger(found, runId);
      const entries = widened(ledger.entries, version);
      const moved = { ...after(ledger, outcomes, continueOnError), entries };
      return [{ put: movedLedger(runId, moved) }, { put: outcomesRecord(runId, at, outcomes) }];
    },
  };
}

function after(ledger: LoadLedger, outcomes: readonly ItemOutcome[], continueOnError: boolean): LoadLedger {
  const failed = outcomes.filter(({ outcome }) => 'error' in outcome).length;
  return {
    ...ledger,
    next: ledger.next + outcomes.length,
    succeeded: ledger.succeeded + outcomes.length - failed,
    failed: ledger.failed + failed,
    stopped: ledger.stopped || (failed > 0 && !continueOnError),
  };
}

export function resultOf(
  collection: string,
  requested: number,
  { next: attempted, succeeded, failed, stopped }: LoadLedger,
  items: BatchResult['items'],
): BatchResult {
  return {
    collection,
    requested,
    attempted,
    succeeded,
    failed,
    stoppedOnError: stopped && attempted < requested,
    items,
  };
}
