import type {
  RagIngestionJob,
  RagIngestTextBatchResult,
  RagIngestTextResult,
} from '../../../../contracts/generated/models.ts';
import type { Jobs } from '../../../jobs/admit-job.ts';
import type { JobFamily, JobLayers } from '../../../jobs/job-family.ts';
import type { JobViews } from '../../../jobs/job-operations.ts';
import { jobView, numberOrNull, textOrNull, withoutDetails } from '../../../jobs/job-view.ts';
import { keptResults, type ResultBytes } from '../../../jobs/kept-result.ts';
import { resultInParts } from '../../../jobs/result-parts.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import type { PatienceParts } from '../../../providers/patience.ts';
import { totalsIn } from '../../../rag/rules/ingest-answer.ts';
import type { RetrievalParts } from '../../../retrieval/parts.ts';
import type { Run } from '../../../runs/run.ts';
import type { RerankAccess } from '../../retrieval/library/judge-rerankers.ts';

/** The layers of the group, with the model of the settings, the traces, and the search layers of contexts. */
export interface RagLayers extends JobLayers, Pick<RetrievalParts, 'embeddings' | 'traces'> {
  readonly patience: PatienceParts;
  readonly retrieval: RetrievalParts;
  readonly rerankAccess: RerankAccess;
}

/** The tag that distinguishes jobs with one text from jobs with a batch. */
export const RAG_KIND_TAG = 'svc.rag.kind';

export function isBatch({ tags }: Pick<Run, 'tags'>): boolean {
  return tags[RAG_KIND_TAG] === 'batch';
}

export function ragJobView(run: Run, result: Json = null, replayed = false): RagIngestionJob {
  const ofBatch = isBatch(run);
  const details = run.statusDetails;
  const current = run.status === 'running' ? details : null;
  return {
    ...jobView(run, replayed),
    kind: ofBatch ? 'batch' : 'text',
    collection: run.job?.subject ?? '',
    currentIndex: numberOrNull(current?.['currentIndex']),
    currentDocumentId: textOrNull(current?.['currentDocumentId']),
    currentPartitionKey: textOrNull(current?.['currentPartitionKey']),
    ...totalsIn(details),
    textResult: ofBatch ? null : (result as RagIngestTextResult | null),
    batchResult: ofBatch ? (result as RagIngestTextBatchResult | null) : null,
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

/**
 * The results of the jobs in their order. The list is shorter if one answer cannot carry all of them.
 * @testonly
 */
export function ragResults(jobs: Jobs, runs: readonly Run[], bytes?: ResultBytes): Promise<readonly Json[]> {
  return keptResults(jobs, runs, { inParts: resultInParts }, bytes);
}
