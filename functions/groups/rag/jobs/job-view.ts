import type {
  RagIngestionJob,
  RagIngestTextBatchResult,
  RagIngestTextResult,
} from '../../../../contracts/generated/models.ts';
import type { JobFamily } from '../../../jobs/job-family.ts';
import type { JobViews } from '../../../jobs/job-operations.ts';
import { jobView, withoutDetails } from '../../../jobs/job-view.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import { totalsIn } from '../../../rag/rules/ingest-answer.ts';
import type { Run } from '../../../runs/run.ts';
import { BATCH_HANDLER } from './job-facts.ts';
import { ragResults } from './kept-result.ts';

export function ragJobView(run: Run, result: Json = null, replayed = false): RagIngestionJob {
  const isBatch = run.handlerId === BATCH_HANDLER;
  const details = run.statusDetails;
  const current = run.status === 'running' ? details : null;
  const index = current?.['currentIndex'];
  return {
    ...jobView(run, replayed),
    kind: isBatch ? 'batch' : 'text',
    collection: run.job?.subject ?? '',
    currentIndex: typeof index === 'number' ? index : null,
    currentDocumentId: textIn(current?.['currentDocumentId']),
    currentPartitionKey: textIn(current?.['currentPartitionKey']),
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
    results: (runs, { hold }) => ragResults(jobs, runs, hold),
  };
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
