import { batchUpsert, type LoadJob } from '../../../collections/batch-upsert.ts';
import { importCollection } from '../../../collections/import-collection.ts';
import type { JobLayers } from '../../../jobs/job-family.ts';
import type { JobContext } from '../../../jobs/job-plugin.ts';
import { keepResult } from '../../../jobs/kept-result.ts';
import { loadReports } from '../../../jobs/load-reports.ts';
import { type TextPayload, textOf, withStaged } from '../../../jobs/staged-payload.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import { BATCH_HANDLER } from './job-facts.ts';

interface RecordJobPayload extends TextPayload {
  /** Hash of the content of an import. */
  readonly contentHash?: string;
}

const RESULT_ARTIFACTS = {
  batch_upsert: 'record-batch-upsert-result',
  collection_import: 'collection-import-result',
} as const;

/** Executes a batch or an import, and continues the work of earlier attempts. */
export function runRecordJob(parts: JobLayers, context: JobContext): Promise<Json> {
  return withStaged(parts.payloads, context, { work: () => work(parts, context) });
}

async function work(parts: JobLayers, context: JobContext): Promise<Json> {
  const payload = context.payload as unknown as RecordJobPayload;
  const { collection, contentHash } = payload;
  const { space } = context.job;
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
  // The caller may have lost the right since the admission.
  const judgeReplacement = () => {
    parts.access.judgeRecordJob({ caller: context.job.caller, space, operation: 'delete' });
  };
  const isBatch = context.handlerId === BATCH_HANDLER;
  const result = isBatch
    ? await batchUpsert(parts.records, job)
    : await importCollection(parts.records, { ...job, judgeReplacement });
  const counts = 'records' in result ? result.records : result;
  const name = RESULT_ARTIFACTS[isBatch ? 'batch_upsert' : 'collection_import'];
  const { resultBytesMax } = parts;
  // Without a place for large artifacts, job views compute a large result from the ledger.
  const otherwise = 'remade';
  const held = await keepResult(context, name, result as unknown as Json, { resultBytesMax, otherwise });
  const { requested, attempted, succeeded, failed, stoppedOnError } = counts;
  const statusDetails = { stoppedOnError };
  await context.report({ requested, attempted, succeeded, failed, progress: 1, statusDetails });
  return held;
}
