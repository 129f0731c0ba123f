import { ServiceError } from '../kernel/errors.ts';
import { parseJson } from '../kernel/json-text.ts';
import { listPages, recordsOf } from '../store/pages.ts';
import {
  type LoadedRecords,
  type RecordData,
  type RecordKey,
  type RecordStore,
  StoreError,
} from '../store/port.ts';
import { recordId } from '../store/record-id.ts';
import { type EntryRange, rangeIn, rangeMembers } from './entry-range.ts';
import type { BatchItem } from './rules/batch.ts';
import { etagOf } from './rules/record-stamp.ts';
import { IMPORT_PROGRESS, spaceScope } from './store-collections.ts';
import type { ItemOutcome } from './write-chunk.ts';

/** The progress of a job that writes records. It changes in the same transactions as the records. */
export interface LoadLedger {
  /** `abandoned`: the sweeper removes the loaded records, because the run of the job has ended. */
  readonly phase: 'loading' | 'done' | 'abandoned';
  /** Index of the next item. */
  readonly next: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Whether a failed item has ended the job. */
  readonly stopped: boolean;
  /** Whether the import created the policy or found it; only for imports. */
  readonly policyStatus: string | null;
  /** The versions of the search entries that the job wrote. */
  readonly entries: EntryRange;
  /** The facts from the start of the job, as a JSON text. */
  readonly facts: string;
}

export function ledgerKey(runId: string): RecordKey {
  return { collection: IMPORT_PROGRESS.name, id: recordId('import-progress', runId) };
}

export function outcomesKey(runId: string, at: number): RecordKey {
  return { collection: IMPORT_PROGRESS.name, id: recordId('import-outcomes', runId, String(at)) };
}

export function ledgerRecord(runId: string, ledger: LoadLedger): RecordData {
  return {
    ...movedLedger(runId, ledger),
    body: ledger.facts,
    listing: { group: runId, id: 'ledger', hidden: false, indexes: {} },
  };
}

/** The ledger after a move: the facts stay as they are stored. */
export function movedLedger(runId: string, ledger: LoadLedger): RecordData {
  const { phase, next, succeeded, failed, stopped, policyStatus, entries } = ledger;
  const moved = { phase, next, succeeded, failed, stopped, policyStatus };
  return { key: ledgerKey(runId), head: { ...moved, ...rangeMembers(entries) } };
}

export function ledgerIn({ head, body }: RecordData): LoadLedger {
  const known = head as unknown as Omit<LoadLedger, 'facts' | 'entries'>;
  return { ...known, entries: rangeIn(head), facts: body ?? 'null' };
}

/** Throws if another process has ended the run, so that the job writes nothing more. */
export function activeLedger(found: LoadedRecords, runId: string): LoadLedger {
  const record = found.get(ledgerKey(runId));
  const ledger = record === undefined ? null : ledgerIn(record);
  if (ledger === null || ledger.phase === 'abandoned')
    throw new ServiceError('lease_not_active', 'The run has ended, and upkeep removes its loaded records.');
  return ledger;
}

export async function readLedger(
  store: RecordStore,
  space: string,
  runId: string,
): Promise<LoadLedger | null> {
  const keys = [{ key: ledgerKey(runId), view: 'body' as const }];
  const [record] = (await store.query(spaceScope(space), { by: 'keys', keys })).records;
  return record === undefined ? null : ledgerIn(record);
}

const ORDER_DIGITS = 9;

/** The outcomes of one chunk. Its record is written once. */
export function outcomesRecord(runId: string, at: number, outcomes: readonly ItemOutcome[]): RecordData {
  return {
    key: outcomesKey(runId, at),
    head: { at },
    body: JSON.stringify(outcomes.map(entryOf)),
    listing: { group: runId, id: String(at).padStart(ORDER_DIGITS, '0'), hidden: false, indexes: {} },
  };
}

/** Id, partition key, revision, error. */
type OutcomeEntry = readonly [string | null, string | null, number | null, string | null];

function entryOf({ key, outcome }: ItemOutcome): OutcomeEntry {
  const { id = null, partitionKey = null } = key;
  return 'error' in outcome
    ? [id, partitionKey, null, outcome.error]
    : [id, partitionKey, outcome.revision, null];
}

function entriesIn({ body }: RecordData): readonly OutcomeEntry[] {
  if (typeof body !== 'string') throw new StoreError('corrupt', 'a chunk has no outcomes');
  return parseJson(body) as readonly OutcomeEntry[];
}

/** The outcomes that an earlier try of a chunk stored. */
export function outcomesIn(record: RecordData): ItemOutcome[] {
  return entriesIn(record).map(([id, partitionKey, revision, error]) => ({
    key: { ...(id === null ? {} : { id }), ...(partitionKey === null ? {} : { partitionKey }) },
    outcome: revision === null ? { error: error ?? '' } : { etag: etagOf(revision), revision },
  }));
}

const PAGE = 20;

/** Memory of an outcome beside its key and error, in the process and the answer; about. */
const OUTCOME_BYTES = 128;

/** All outcomes of the job, in the order of its items. `grow` counts the bytes that they take, and may throw. */
export async function readOutcomes(
  store: RecordStore,
  space: string,
  runId: string,
  grow: (bytes: number) => void = () => undefined,
): Promise<BatchItem[]> {
  const selection = { collection: IMPORT_PROGRESS, group: runId, limit: PAGE };
  const items: BatchItem[] = [];
  for await (const record of recordsOf(listPages(store, spaceScope(space), selection))) {
    if (record.key.id === ledgerKey(runId).id) continue;
    const entries = entriesIn(record);
    grow((record.body?.length ?? 0) + entries.length * OUTCOME_BYTES);
    for (const [id, partitionKey, revision, error] of entries) {
      const etag = revision === null ? null : etagOf(revision);
      const status = revision === null ? 'failed' : 'succeeded';
      items.push({ index: items.length, id, partitionKey, status, etag, revision, error });
    }
  }
  return items;
}

/** Removes the ledger in pages; returns whether it is gone. */
export async function removeLedger(
  store: RecordStore,
  space: string,
  runId: string,
  isOver: () => boolean,
): Promise<boolean> {
  const scope = spaceScope(space);
  for (;;) {
    const { records } = await store.query(scope, {
      by: 'list',
      collection: IMPORT_PROGRESS,
      group: runId,
      limit: PAGE,
    });
    if (records.length === 0) return true;
    if (isOver()) return false;
    const keys = records.map(({ key }) => ({ key }));
    await store.transact(scope, { keys, frees: true }, (found) => ({
      writes: keys.flatMap(({ key }) => (found.get(key) === undefined ? [] : [{ remove: key }])),
      result: null,
    }));
  }
}
