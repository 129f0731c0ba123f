import { invalidMember, ServiceError } from '../kernel/errors.ts';
import { parseJson } from '../kernel/json-text.ts';
import { formatUtc } from '../kernel/timestamp.ts';
import { inTurns } from '../kernel/turns.ts';
import { type LoadJob, newLedger, progressOf, watchOf } from './batch-upsert.ts';
import { comparisonWith, hashImport, type ImportRequest, readImport } from './import-request.ts';
import { announceLedger } from './leftovers.ts';
import {
  activeLedger,
  type LoadLedger,
  ledgerKey,
  ledgerRecord,
  movedLedger,
  readLedger,
  readOutcomes,
} from './load-ledger.ts';
import { isOver, loadRecords, OFFERED_MAX, resultOf } from './load-records.ts';
import type { RecordParts } from './parts.ts';
import { createCollection, newIncarnation, replaceCollection } from './pointers.ts';
import { announceRetired } from './retire.ts';
import type { BatchResult } from './rules/batch.ts';
import type { Incarnation } from './rules/incarnation.ts';
import type { CollectionPolicy } from './rules/policy.ts';
import type { HashComparison } from './rules/snapshot/snapshot-hash.ts';
import { spaceScope } from './store-collections.ts';

export interface ImportResult {
  readonly collection: string;
  readonly sourceCollection: string;
  readonly policyStatus: 'created' | 'existing_equivalent' | 'replaced';
  readonly recordCount: number;
  readonly contentHash: string;
  readonly contentHashComparison: HashComparison;
  readonly records: BatchResult;
}

/** The state of the collection when the import began. */
interface ImportFacts {
  readonly requested: number;
  readonly sourceCollection: string;
  readonly contentHash: string;
  readonly comparison: HashComparison;
  /** The incarnation that is loaded before the name points at it; `null` if the records go to the current one. */
  readonly incarnation: Incarnation | null;
}

export interface ImportJob extends LoadJob {
  /** Throws if the caller of the job may not replace a collection. Called before anything is written. */
  readonly judgeReplacement: () => void;
}

/**
 * Imports a collection. A later call for the same run continues where the first one ended. With `replaceExisting` readers see the
 * old records until all new ones are loaded, and a failure leaves the old ones.
 */
export async function importCollection(parts: RecordParts, job: ImportJob): Promise<ImportResult> {
  const { runId, space } = job;
  const store = await parts.store();
  const known = await readLedger(store, space, runId);
  const done = known !== null && isComplete(known) ? known : await load(parts, job, known);
  return importResultOf(parts, job, done);
}

type ImportPlace = Pick<LoadJob, 'runId' | 'space' | 'collection'>;

/** The result of an import from its ledger; `null` if the ledger is gone. */
export async function readImportResult(
  parts: RecordParts,
  place: ImportPlace,
  grow: (bytes: number) => void,
): Promise<ImportResult | null> {
  const ledger = await readLedger(await parts.store(), place.space, place.runId);
  return ledger === null ? null : importResultOf(parts, place, ledger, grow);
}

async function importResultOf(
  { store }: RecordParts,
  { runId, space, collection }: ImportPlace,
  done: LoadLedger,
  grow?: (bytes: number) => void,
): Promise<ImportResult> {
  const facts = factsIn(done);
  const outcomes = await readOutcomes(await store(), space, runId, grow);
  return {
    collection,
    sourceCollection: facts.sourceCollection,
    policyStatus: done.policyStatus as ImportResult['policyStatus'],
    recordCount: facts.requested,
    contentHash: facts.contentHash,
    contentHashComparison: facts.comparison,
    records: resultOf(collection, facts.requested, done, outcomes),
  };
}

/** Whether the import no longer needs the payload. */
function isComplete(ledger: LoadLedger): boolean {
  const { incarnation, requested } = factsIn(ledger);
  return ledger.phase === 'done' || (incarnation === null && isOver(ledger, requested));
}

function factsIn({ facts }: LoadLedger): ImportFacts {
  return parseJson(facts) as ImportFacts;
}

async function load(parts: RecordParts, job: ImportJob, known: LoadLedger | null): Promise<LoadLedger> {
  const { runId, space, collection: name } = job;
  const request = await inTurns(readImport(await job.text(), name), parts.world.turns.of(space));
  if (request.replaceExisting) job.judgeReplacement();
  const policy = { ...request.policy, name };
  const begun = known ?? (await begin(parts, job, request, policy));
  const { incarnation, requested } = factsIn(begun);
  const target = incarnation === null ? { name } : { name, loading: { incarnation, policy } };
  const items = request.records.map((text) => ({ text: text }));
  const work = { runId, space, target, items, continueOnError: request.continueOnError };
  const loaded = await loadRecords(parts, work, begun, watchOf(job, requested));
  if (incarnation === null) return loaded;
  await job.progress(progressOf(loaded, requested));
  await checkLoaded(parts, job, loaded);
  // A job that was cancelled, or whose run another process executes, must replace nothing.
  job.signal.throwIfAborted();
  await job.decide();
  return flip(parts, job, { incarnation, policy }, loaded);
}

async function begin(
  parts: RecordParts,
  job: LoadJob,
  request: ImportRequest,
  policy: CollectionPolicy,
): Promise<LoadLedger> {
  const { runId, space, collection: name } = job;
  const known = job.contentHash;
  const turns = parts.world.turns.of(space);
  const { contentHash, ...comparison } =
    known === undefined ? await hashImport(request, turns) : await comparisonWith(request, known, turns);
  await announceLedger(parts, space, runId);
  const common = {
    requested: request.records.length,
    sourceCollection: request.sourceCollection,
    contentHash,
    comparison,
  };
  const key = ledgerKey(runId);
  if (!request.replaceExisting) {
    // A small import may be done in one step, so decide before it.
    if (request.records.length <= OFFERED_MAX) await job.decide();
    const facts: ImportFacts = { ...common, incarnation: null };
    const begun = await newLedger(parts, facts);
    await createCollection(parts, space, policy, {
      keys: [{ key }],
      isDone: (found) => found.get(key) !== undefined,
      writes: (_found, _, isNew) => {
        const status = isNew ? 'created' : 'existing_equivalent';
        return [{ put: ledgerRecord(runId, { ...begun, policyStatus: status }) }];
      },
    });
  } else {
    const incarnation = newIncarnation(parts);
    const announced = await announceRetired(parts, { space, name, incarnation, runId });
    const begun = await newLedger(parts, { ...common, incarnation } satisfies ImportFacts);
    await (await parts.store()).transact(spaceScope(space), { gate: key, keys: [{ key }] }, (found) => {
      if (found.get(key) !== undefined) return { writes: [], result: null };
      // If this process was delayed, the sweeper may have dropped its announcement, and its run may have ended.
      if (!announced()) throw new ServiceError('lease_not_active', 'The import began too late.');
      return { writes: [{ put: ledgerRecord(runId, begun) }], result: null };
    });
  }
  const ledger = await readLedger(await parts.store(), space, runId);
  if (ledger === null) throw new ServiceError('store_contention', 'The ledger of the import is gone.');
  return ledger;
}

/** A replacement that lacks records must not take the place of the collection, unless the caller accepts failures. */
async function checkLoaded(parts: RecordParts, { runId, space }: LoadJob, loaded: LoadLedger): Promise<void> {
  const { requested } = factsIn(loaded);
  if (!loaded.stopped && loaded.succeeded + loaded.failed === requested) return;
  const outcomes = await readOutcomes(await parts.store(), space, runId);
  const failed = outcomes.find(({ status }) => status === 'failed');
  const detail = `is refused: ${failed?.error ?? 'it was not written'}; the collection is as it was`;
  throw invalidMember(`/snapshot/records/${failed?.index ?? loaded.next}`, detail);
}

async function flip(
  parts: RecordParts,
  { runId, space, collection: name }: LoadJob,
  { incarnation, policy }: { readonly incarnation: Incarnation; readonly policy: CollectionPolicy },
  loaded: LoadLedger,
): Promise<LoadLedger> {
  const key = ledgerKey(runId);
  const createdAt = formatUtc(parts.world.clock.now());
  await replaceCollection(
    parts,
    space,
    { name, incarnation, policy, createdAt },
    {
      keys: [{ key }],
      isDone: (found) => activeLedger(found, runId).phase === 'done',
      entries: (found) => activeLedger(found, runId).entries,
      writes: (found, _, isNew) => {
        const ledger = activeLedger(found, runId);
        const policyStatus = isNew ? 'created' : 'replaced';
        return [{ put: movedLedger(runId, { ...ledger, phase: 'done', policyStatus }) }];
      },
    },
  );
  const ledger = await readLedger(await parts.store(), space, runId);
  return ledger ?? loaded;
}
