import type {
  RagIngestionJob,
  RagIngestTextBatchResult,
  RagIngestTextResult,
} from '../../../../contracts/generated/models.ts';
import { jobView } from '../../../jobs/job-view.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import { totalsIn } from '../../../rag/rules/ingest-answer.ts';
import type { Run } from '../../../runs/run.ts';
import { BATCH_HANDLER } from './job-parts.ts';

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

function textIn(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
