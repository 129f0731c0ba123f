import type { JobContext } from '../../../jobs/job-plugin.ts';
import { keepResult } from '../../../jobs/kept-result.ts';
import { writeResultParts } from '../../../jobs/result-parts.ts';
import { type TextPayload, textOf, withStaged } from '../../../jobs/staged-payload.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import { ProviderFailure } from '../../../providers/failure.ts';
import { ProviderPatience, withPatience } from '../../../providers/patience.ts';
import { DocumentIngestion } from './ingest-documents.ts';
import { isBatch, type RagLayers } from './job-view.ts';

/** Checkpoint that an execution writes before it removes the staged payload. */
const OVER = 'over';

/** Executes an ingestion, and continues the work of earlier executions. */
export async function runRagJob(parts: RagLayers, context: JobContext): Promise<Json> {
  const payload = context.payload as unknown as TextPayload;
  const { staged, collection } = payload;
  const over = staged === undefined || context.attempt === 1 ? null : await context.readCheckpoint(OVER);
  if (over !== null) return over.content;
  const ofBatch = isBatch(context);
  const work = async () => {
    const text = await textOf(parts.payloads, payload);
    const patience = new ProviderPatience(parts.patience, context);
    const answered = () => patience.answered();
    const ingestion = new DocumentIngestion(parts, context, { collection, answered });
    const result = await withPatience(
      patience,
      context.signal,
      (): Promise<object> => (ofBatch ? ingestion.batch(text) : ingestion.text(text)),
    );
    const { resultBytesMax } = parts;
    const name = ofBatch ? 'rag-ingestion-batch-result' : 'rag-ingestion-result';
    const kept = await keepResult(context, name, result as Json, {
      resultBytesMax,
      otherwise: writeResultParts,
    });
    if (staged !== undefined) await context.writeCheckpoint(OVER, kept);
    return kept;
  };
  return withStaged(parts.payloads, context, { work, failure: ProviderFailure });
}
