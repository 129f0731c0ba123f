import { batchUpsert, type LoadJob } from '../../../collections/batch-upsert.ts';
import { importCollection } from '../../../collections/import-collection.ts';
import type { JobLayers } from '../../../jobs/job-family.ts';
import type { JobContext } from '../../../jobs/job-plugin.ts';
import { keepResult } from '../../../jobs/kept-result.ts';
import { loadReports } from '../../../jobs/load-reports.ts';
import { discardAfter, type TextPayload, textOf } from '../../../jobs/staged-payload.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import { BATCH_HANDLER } from './job-facts.ts';

export interface RecordJobPayload extends TextPayload {
  /** Of the content of an import. */
  readonly contentHash?: string;
}

export const RESULT_ARTIFACTS = {
  batch_upsert: 'record-batch-upsert-result',
  collection_import: 'collection-import-result',
} as const;

/** Executes a batch or an import, from where an earlier attempt has come. */
export async function runRecordJob(parts: JobLayers, context: JobContext): Promise<Json> {
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
    text: () => textOf(parts.payloads, payload),
    signal: context.signal,
    decide: () => context.decide(),
    ...(contentHash === undefined ? {} : { contentHash }),
    progress: loadReports(parts.records.world.clock, context),
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
    const held = await kept(parts, context, isBatch, result as unknown as Json);
    const { requested, attempted, succeeded, failed, stoppedOnError } = counts;
    const statusDetails = { stoppedOnError };
    await context.report({ requested, attempted, succeeded, failed, progress: 1, statusDetails });
    await discard();
    return held;
  } catch (error) {
    await discardAfter(error, context, discard);
    throw error;
  }
}

/** What the run holds of the result. Job views make a large one from the ledger where artifacts have no place. */
async function kept({ resultBytesMax }: JobLayers, context: JobContext, isBatch: boolean, result: Json) {
  const name = RESULT_ARTIFACTS[isBatch ? 'batch_upsert' : 'collection_import'];
  return keepResult(context, name, result, resultBytesMax, { isRemade: true });
}
