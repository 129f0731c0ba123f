import type {
  CollectionImportResult,
  RecordBatchUpsertResult,
  RecordImportJob,
} from '../../../../contracts/generated/models.ts';
import { readBatchResult } from '../../../collections/batch-upsert.ts';
import { readImportResult } from '../../../collections/import-collection.ts';
import { verifiedCaller } from '../../../identity/verified-caller.ts';
import type { JobViews } from '../../../jobs/job-operations.ts';
import { jobView } from '../../../jobs/job-view.ts';
import { keptResults } from '../../../jobs/kept-result.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import type { Run } from '../../../runs/run.ts';
import { BATCH_HANDLER, type RecordJobs, SOURCE_TAG } from './job-facts.ts';

export function importJobView(run: Run, result: Json = null, replayed = false): RecordImportJob {
  const isBatch = run.handlerId === BATCH_HANDLER;
  return {
    ...jobView(run, replayed),
    kind: isBatch ? 'batch_upsert' : 'collection_import',
    collection: run.job?.subject ?? '',
    sourceCollection: run.tags[SOURCE_TAG] ?? null,
    stoppedOnError: run.statusDetails?.['stoppedOnError'] === true,
    batchResult: isBatch ? (result as RecordBatchUpsertResult | null) : null,
    importResult: isBatch ? null : (result as CollectionImportResult | null),
  };
}

export function importJobViews(own: RecordJobs): JobViews<RecordImportJob, Json> {
  const { jobs, records, executionAccess } = own;
  const remade = async (run: Run, grow: (bytes: number) => void) => {
    const place = { runId: run.id, space: run.job?.space ?? '', collection: run.job?.subject ?? '' };
    const read = run.handlerId === BATCH_HANDLER ? readBatchResult : readImportResult;
    return (await read(records, place, grow)) as unknown as Json;
  };
  return {
    list: 'record-import-jobs',
    limitDefault: 50,
    cancels: 'write',
    view: importJobView,
    sees: (caller, run) => executionAccess === null || executionAccess.maySee(verifiedCaller(caller), run),
    judgeCancel: (caller, run) => executionAccess?.authorizeRun(verifiedCaller(caller), run, 'cancel_run'),
    unseen: (run) => ({ ...run, error: null }),
    results: (runs, bytes) => keptResults(jobs, runs, { remade }, bytes),
  };
}
