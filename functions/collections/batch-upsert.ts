import type { JsonObject } from '../kernel/canonical-json.ts';
import { parseJson } from '../kernel/json-text.ts';
import { inTurns } from '../kernel/turns.ts';
import { onlyVersion } from './entry-range.ts';
import { announceLedger } from './leftovers.ts';
import { type LoadLedger, ledgerKey, ledgerRecord, readLedger, readOutcomes } from './load-ledger.ts';
import { isOver, loadRecords, resultOf } from './load-records.ts';
import type { RecordParts } from './parts.ts';
import { collectionMissing, readCollection } from './read-policy.ts';
import { type BatchResult, checkBatch } from './rules/batch.ts';
import type { WritePrecondition } from './rules/record-write.ts';
import { splitInSteps } from './rules/request-items.ts';
import { spaceScope } from './store-collections.ts';
import type { ChunkItem } from './write-chunk.ts';

/** The input that a job that writes records gets from its run. */
export interface LoadJob {
  readonly runId: string;
  readonly space: string;
  readonly collection: string;
  /** The compact JSON text of the request; read only if something is left to write. */
  readonly text: () => Promise<string>;
  readonly signal: AbortSignal;
  /** Called before the last transaction of the job. Throws if the job was cancelled before. */
  readonly decide: () => Promise<void>;
  /** The content hash of an import, as its admission computed it; if absent, the import computes it again from all records. */
  readonly contentHash?: string;
  /** Called after each step with the counts so far. */
  readonly progress: (done: LoadProgress) => Promise<void>;
}

export interface LoadProgress {
  readonly requested: number;
  readonly attempted: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly stoppedOnError: boolean;
}

export interface BatchRequest {
  readonly items: readonly ChunkItem[];
  readonly continueOnError: boolean;
}

/**
 * Reads the compact JSON text of a batch that its schema has accepted, in steps, because the text may have 32 MB. Throws
 * `validation_failed` naming the member.
 */
export function* readBatch(text: string): Generator<void, BatchRequest> {
  const { frame, items } = (yield* splitInSteps(text, ['records'])) ?? { frame: text, items: [] };
  const { preconditions, continueOnError } = parseJson(frame) as BatchFrame;
  checkBatch(items, preconditions);
  const listed = items.map((item, index) => ({ text: item, precondition: preconditions?.[index] ?? null }));
  return { items: listed, continueOnError: continueOnError ?? false };
}

interface BatchFrame {
  readonly preconditions?: readonly WritePrecondition[] | null;
  readonly continueOnError?: boolean | null;
}

/** Upserts the records one after the other. A later call for the same run continues where the first one ended. */
export async function batchUpsert(parts: RecordParts, job: LoadJob): Promise<BatchResult> {
  const { runId, space, collection } = job;
  const store = await parts.store();
  let ledger = await readLedger(store, space, runId);
  if (ledger === null || !isOver(ledger, requestedIn(ledger))) {
    const turns = parts.world.turns.of(space);
    const { items, continueOnError } = await inTurns(readBatch(await job.text()), turns);
    if (ledger === null) {
      if ((await readCollection(parts, space, collection)) === null) throw collectionMissing(collection);
      ledger = await beginLoad(parts, job, { requested: items.length });
    }
    const load = { runId, space, target: { name: collection }, items, continueOnError };
    ledger = await loadRecords(parts, load, ledger, watchOf(job, items.length));
  }
  return batchResultOf(parts, job, ledger);
}

type LoadPlace = Pick<LoadJob, 'runId' | 'space' | 'collection'>;

/** The result of a batch from its ledger; `null` if the ledger is gone. */
export async function readBatchResult(
  parts: RecordParts,
  place: LoadPlace,
  grow: (bytes: number) => void,
): Promise<BatchResult | null> {
  const ledger = await readLedger(await parts.store(), place.space, place.runId);
  return ledger === null ? null : batchResultOf(parts, place, ledger, grow);
}

async function batchResultOf(
  { store }: RecordParts,
  { runId, space, collection }: LoadPlace,
  ledger: LoadLedger,
  grow?: (bytes: number) => void,
): Promise<BatchResult> {
  const outcomes = await readOutcomes(await store(), space, runId, grow);
  return resultOf(collection, requestedIn(ledger), ledger, outcomes);
}

export function watchOf({ signal, decide, progress }: LoadJob, requested: number) {
  return {
    signal,
    decide,
    moved: (ledger: LoadLedger) => progress(progressOf(ledger, requested)),
  };
}

export function progressOf(
  { next: attempted, succeeded, failed, stopped }: LoadLedger,
  requested: number,
): LoadProgress {
  return { requested, attempted, succeeded, failed, stoppedOnError: stopped && attempted < requested };
}

function requestedIn({ facts }: LoadLedger): number {
  return Number((parseJson(facts) as JsonObject)['requested']);
}

export async function newLedger({ entries }: RecordParts, facts: object): Promise<LoadLedger> {
  const { version } = await entries.written();
  const counts = { next: 0, succeeded: 0, failed: 0, stopped: false };
  const range = onlyVersion(version);
  return { phase: 'loading', ...counts, policyStatus: null, entries: range, facts: JSON.stringify(facts) };
}

/** Writes the first state of the ledger, or returns the one that another process wrote. */
async function beginLoad(parts: RecordParts, { runId, space }: LoadJob, facts: object): Promise<LoadLedger> {
  await announceLedger(parts, space, runId);
  const store = await parts.store();
  const key = ledgerKey(runId);
  const begun = await newLedger(parts, facts);
  await store.transact(spaceScope(space), { gate: key, keys: [{ key }] }, (found) => ({
    writes: found.get(key) === undefined ? [{ put: ledgerRecord(runId, begun) }] : [],
    result: null,
  }));
  return (await readLedger(store, space, runId)) ?? begun;
}
