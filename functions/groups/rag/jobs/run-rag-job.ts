import type { JobContext } from '../../../jobs/job-plugin.ts';
import { discardAfter, type TextPayload, textOf } from '../../../jobs/staged-payload.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import { ProviderFailure } from '../../../providers/failure.ts';
import { ProviderPatience, withPatience } from '../../../providers/patience.ts';
import { RunFailure } from '../../../runs/plugin.ts';
import { DocumentIngestion } from './ingest-documents.ts';
import { BATCH_HANDLER, type RagLayers } from './job-facts.ts';
import { keepResult } from './kept-result.ts';

/** What an execution has kept before it removed the staged payload. */
const OVER = 'over';

/** Executes an ingestion, from where an earlier execution has come. */
export async function runRagJob(parts: RagLayers, context: JobContext): Promise<Json> {
  const payload = context.payload as unknown as TextPayload;
  const { staged, collection } = payload;
  const over = staged === undefined || context.attempt === 1 ? null : await context.readCheckpoint(OVER);
  if (over !== null) return over.content;
  const discard = async () => {
    if (staged !== undefined) await parts.payloads.discard(context.job.space, staged);
  };
  const isBatch = context.handlerId === BATCH_HANDLER;
  try {
    const text = await textOf(parts.payloads, payload);
    const patience = new ProviderPatience(parts.patience, context);
    const answered = () => patience.answered();
    const ingestion = new DocumentIngestion(parts, context, { collection, answered });
    const result = await withPatience(
      patience,
      context.signal,
      (): Promise<object> => (isBatch ? ingestion.batch(text) : ingestion.text(text)),
    );
    const kept = await keepResult(parts, context, isBatch, result as unknown as Json);
    if (staged !== undefined) await context.writeCheckpoint(OVER, kept);
    await discard();
    return kept;
  } catch (thrown) {
    const error = failureOf(thrown, context.signal);
    await discardAfter(error, context, discard);
    throw error;
  }
}

/** An interrupted call of the model is no failure of the job: it was cancelled, or another worker goes on. */
function failureOf(error: unknown, signal: AbortSignal): unknown {
  if (!(error instanceof ProviderFailure) || signal.aborted) return error;
  return new RunFailure(error.failureClass, error.message, { cause: error });
}
