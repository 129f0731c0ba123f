import { batchUpsert, type LoadJob, type LoadProgress } from '../../../collections/batch-upsert.ts';
import { importCollection } from '../../../collections/import-collection.ts';
import type { JobContext } from '../../../jobs/job-plugin.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import { ServiceError } from '../../../kernel/errors.ts';
import { BATCH_HANDLER, type RecordJobsParts } from './record-job-parts.ts';
import { discardAfter, readStagedText, type StagedText } from './staged-payload.ts';

/** What the run has of the request: its text, or the reference of a staged one. */
export interface RecordJobPayload extends StagedText {
  readonly collection: string;
  readonly request?: string;
  /** Of the content of an import. */
  readonly contentHash?: string;
}

/** Reports are this far apart: each is a write of the run. */
const REPORT_MS = 500;

export const RESULT_ARTIFACTS = {
  batch_upsert: 'record-batch-upsert-result',
  collection_import: 'collection-import-result',
} as const;

/** Executes a batch or an import, from where an earlier attempt has come. */
export async function runRecordJob(parts: RecordJobsParts, context: JobContext): Promise<Json> {
  const payload = context.payload as unknown as RecordJobPayload;
  const { collection, staged, contentHash } = payload;
  const { space } = context.job;
  const discard = async () => {
    if (staged !== undefined) await parts.payloads.discard(space, staged);
  };
  const job: LoadJob = {
    runId: context.runId,
    space,
    collection,
    text: () => textOf(parts, payload),
    signal: context.signal,
    ...(contentHash === undefined ? {} : { contentHash }),
    progress: progressReports(parts, context),
  };
  // A caller may have lost the right since the admission.
  const judgeReplacement = () => {
    parts.access.judgeRecordJob({ caller: context.job.caller, space, operation: 'delete' });
  };
  const isBatch = context.handlerId === BATCH_HANDLER;
  try {
    const result = isBatch
      ? await batchUpsert(parts.records, job)
      : await importCollection(parts.records, { ...job, judgeReplacement });
    const counts = 'records' in result ? result.records : result;
    const kept = await keepResult(parts, context, isBatch, result as unknown as Json);
    const { requested, attempted, succeeded, failed, stoppedOnError } = counts;
    const statusDetails = { stoppedOnError };
    await context.report({ requested, attempted, succeeded, failed, progress: 1, statusDetails });
    await discard();
    return kept;
  } catch (error) {
    await discardAfter(error, context, discard);
    throw error;
  }
}

async function textOf({ payloads }: RecordJobsParts, payload: RecordJobPayload): Promise<string> {
  if (payload.request !== undefined) return payload.request;
  return readStagedText(payloads, payload);
}

/** Reports the counts from time to time, and the first step of each execution as a checkpoint: the run makes progress. */
function progressReports({ records }: RecordJobsParts, context: JobContext): LoadJob['progress'] {
  const { clock } = records.world;
  let reportedAt: number | null = null;
  return async (done: LoadProgress) => {
    const now = clock.now();
    if (reportedAt === null) await context.writeCheckpoint('loaded', { attempted: done.attempted });
    const isLast = done.stoppedOnError || done.attempted >= done.requested;
    if (reportedAt !== null && now - reportedAt < REPORT_MS && !isLast) return;
    reportedAt = now;
    const { requested, attempted, succeeded, failed, stoppedOnError } = done;
    const progress = requested === 0 ? 1 : attempted / requested;
    const statusDetails = { stoppedOnError };
    await context.report({ requested, attempted, succeeded, failed, progress, statusDetails });
  };
}

/** Puts the result as an artifact, and answers what the run holds: the result, or the name of the artifact where it is large. */
async function keepResult(
  { resultBytesMax }: RecordJobsParts,
  context: JobContext,
  isBatch: boolean,
  result: Json,
): Promise<Json> {
  const name = RESULT_ARTIFACTS[isBatch ? 'batch_upsert' : 'collection_import'];
  const isLarge = Buffer.byteLength(JSON.stringify(result)) > resultBytesMax;
  try {
    await context.putArtifact({ name, kind: 'result', mediaType: 'application/json', content: result });
  } catch (error) {
    // A deployment without a place for large artifacts: job views make the result from the ledger.
    if (!(error instanceof ServiceError && error.code === 'limit_exceeded')) throw error;
  }
  return isLarge ? { artifact: name } : result;
}
