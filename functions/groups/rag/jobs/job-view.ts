import type {
  RagIngestionJob,
  RagIngestTextBatchResult,
  RagIngestTextResult,
} from '../../../../contracts/generated/models.ts';
import type { Jobs } from '../../../jobs/admit-job.ts';
import type { JobFamily } from '../../../jobs/job-family.ts';
import type { JobViews } from '../../../jobs/job-operations.ts';
import { jobView, numberOrNull, textOrNull, withoutDetails } from '../../../jobs/job-view.ts';
import { keptResults, type ResultBytes } from '../../../jobs/kept-result.ts';
import { resultInParts } from '../../../jobs/result-parts.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import { totalsIn } from '../../../rag/rules/ingest-answer.ts';
import type { Run } from '../../../runs/run.ts';
import { BATCH_HANDLER } from './job-facts.ts';

export function ragJobView(run: Run, result: Json = null, replayed = false): RagIngestionJob {
  const isBatch = run.handlerId === BATCH_HANDLER;
  const details = run.statusDetails;
  const current = run.status === 'running' ? details : null;
  return {
    ...jobView(run, replayed),
    kind: isBatch ? 'batch' : 'text',
    collection: run.job?.subject ?? '',
    currentIndex: numberOrNull(current?.['currentIndex']),
    currentDocumentId: textOrNull(current?.['currentDocumentId']),
    currentPartitionKey: textOrNull(current?.['currentPartitionKey']),
    ...totalsIn(details),
    textResult: isBatch ? null : (result as RagIngestTextResult | null),
    batchResult: isBatch ? (result as RagIngestTextBatchResult | null) : null,
  };
}

export function ragJobViews({ jobs }: Pick<JobFamily, 'jobs'>): JobViews<RagIngestionJob, Json> {
  return {
    list: 'rag-ingestion-jobs',
    limitDefault: 50,
    cancels: 'delete',
    view: ragJobView,
    unseen: withoutDetails,
    results: (runs, bytes) => ragResults(jobs, runs, bytes),
  };
}

/** The results of the jobs in their order, or of as many of the first jobs as one answer carries. */
export function ragResults(jobs: Jobs, runs: readonly Run[], bytes?: ResultBytes): Promise<readonly Json[]> {
  return keptResults(jobs, runs, { inParts: resultInParts }, bytes);
}
