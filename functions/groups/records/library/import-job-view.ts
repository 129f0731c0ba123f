import type {
  CollectionImportResult,
  RecordBatchUpsertResult,
  RecordImportJob,
} from '../../../../contracts/generated/models.ts';
import { readBatchResult } from '../../../collections/batch-upsert.ts';
import { readImportResult } from '../../../collections/import-collection.ts';
import type { RecordParts } from '../../../collections/parts.ts';
import type { Jobs } from '../../../jobs/admit-job.ts';
import { jobView } from '../../../jobs/job-view.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import type { Run } from '../../../runs/run.ts';
import { SOURCE_TAG } from './admit-record-job.ts';
import { keptResults, type ResultBytes } from './kept-result.ts';
import { BATCH_HANDLER } from './record-job-parts.ts';

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

/** The results of the jobs in their order, or of as many of the first jobs as one answer carries. */
export function importResults(
  jobs: Jobs,
  records: RecordParts,
  runs: readonly Run[],
  bytes: ResultBytes,
): Promise<readonly Json[]> {
  return keptResults(jobs, runs, bytes, async (run, grow) => {
    const place = { runId: run.id, space: run.job?.space ?? '', collection: run.job?.subject ?? '' };
    const read = run.handlerId === BATCH_HANDLER ? readBatchResult : readImportResult;
    return (await read(records, place, grow)) as unknown as Json;
  });
}
