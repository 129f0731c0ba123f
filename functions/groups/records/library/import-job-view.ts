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
import { resultsOf } from '../../../jobs/read-jobs.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import { findArtifact } from '../../../runs/read-artifacts.ts';
import type { Run } from '../../../runs/run.ts';
import { SOURCE_TAG } from './admit-record-job.ts';
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

/** Bytes of large results that one answer carries; the first result may exceed it. */
const LARGE_RESULTS_BYTES_MAX = 8 * 1024 * 1024;

/** Counts bytes before they are held; throws where requests hold too many. */
export interface ResultBytes {
  /** Of a result that is read in one go. */
  readonly hold: (bytes: number) => void;
  /** Of a result that is made piece by piece. */
  readonly grow: (bytes: number) => void;
}

/**
 * The results of the jobs in their order, or of as many of the first jobs as one answer carries. A large result is the
 * artifact of its run, or is made from its ledger.
 */
export async function importResults(
  jobs: Jobs,
  records: RecordParts,
  runs: readonly Run[],
  bytes: ResultBytes,
): Promise<readonly Json[]> {
  const found = await resultsOf(jobs, runs);
  const whole: Json[] = [];
  let held = 0;
  const counted = (count: (size: number) => void) => (size: number) => {
    count(size);
    held += size;
  };
  const each = { hold: counted(bytes.hold), grow: counted(bytes.grow) };
  for (const [index, run] of runs.entries()) {
    const result = found[index] ?? null;
    const artifact = artifactIn(result);
    if (artifact !== null && held > LARGE_RESULTS_BYTES_MAX) return whole;
    whole.push(artifact === null ? result : await largeResult(jobs, records, run, artifact, each));
  }
  return whole;
}

function artifactIn(result: Json): string | null {
  if (typeof result !== 'object' || result === null || !('artifact' in result)) return null;
  return typeof result.artifact === 'string' ? result.artifact : null;
}

async function largeResult(
  { runtime }: Jobs,
  records: RecordParts,
  run: Run,
  name: string,
  { hold, grow }: ResultBytes,
): Promise<Json> {
  const artifact = run.artifacts === 0 ? null : await findArtifact(runtime, run.id, name, hold);
  if (artifact !== null) return artifact.content;
  const place = { runId: run.id, space: run.job?.space ?? '', collection: run.job?.subject ?? '' };
  const read = run.handlerId === BATCH_HANDLER ? readBatchResult : readImportResult;
  return (await read(records, place, grow)) as unknown as Json;
}
