import type { Jobs } from '../../../jobs/admit-job.ts';
import type { JobContext } from '../../../jobs/job-plugin.ts';
import { fittingCount, resultsOf } from '../../../jobs/read-jobs.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import { ServiceError } from '../../../kernel/errors.ts';
import { isJsonObject } from '../../../kernel/json-kinds.ts';
import { parseJson } from '../../../kernel/json-text.ts';
import { findArtifact } from '../../../runs/read-artifacts.ts';
import { readParts } from '../../../runs/read-checkpoints.ts';
import type { Run } from '../../../runs/run.ts';
import type { RagLayers } from './job-facts.ts';

export const RESULT_ARTIFACTS = {
  text: 'rag-ingestion-result',
  batch: 'rag-ingestion-batch-result',
} as const;

/** Bytes of one checkpoint: base64 makes a third more of them, and a checkpoint holds 1 MiB. */
const PART_BYTES = 600 * 1024;

/** Puts the result as an artifact, and answers what the run holds: the result, or where a large one lies. */
export async function keepResult(
  { resultBytesMax }: RagLayers,
  context: JobContext,
  isBatch: boolean,
  result: Json,
): Promise<Json> {
  const name = RESULT_ARTIFACTS[isBatch ? 'batch' : 'text'];
  const json = Buffer.from(JSON.stringify(result));
  const bytes = json.byteLength;
  const isLarge = bytes > resultBytesMax;
  try {
    await context.putArtifact({ name, kind: 'result', mediaType: 'application/json', content: result });
    return isLarge ? { artifact: name, bytes } : result;
  } catch (error) {
    // A deployment without a place for large artifacts.
    if (!(error instanceof ServiceError && error.code === 'limit_exceeded')) throw error;
  }
  if (!isLarge) return result;
  const parts = Math.ceil(bytes / PART_BYTES);
  for (let part = 0; part < parts; part += 1) {
    const own = json.subarray(part * PART_BYTES, (part + 1) * PART_BYTES);
    await context.writeCheckpoint(partKey(part), own.toString('base64'));
  }
  return { parts, bytes };
}

function partKey(part: number): string {
  return `result-${part}`;
}

/**
 * The results of the jobs in their order, or of as many of the first jobs as one answer carries; `null` for a job that has none.
 * `hold` counts large ones before they are read.
 */
export async function ragResults(
  jobs: Jobs,
  runs: readonly Run[],
  hold: (bytes: number) => void = () => undefined,
): Promise<readonly Json[]> {
  const found = await resultsOf(jobs, runs);
  const whole: Json[] = [];
  for (const [index, run] of runs.slice(0, fittingCount(found, largeBytesOf)).entries())
    whole.push(await wholeResult(jobs, run, found[index] ?? null, hold));
  return whole;
}

function largeBytesOf(result: Json): number {
  return isJsonObject(result) && ('artifact' in result || 'parts' in result) ? Number(result['bytes']) : 0;
}

async function wholeResult(jobs: Jobs, run: Run, result: Json, hold: (bytes: number) => void): Promise<Json> {
  if (!isJsonObject(result)) return result;
  if (typeof result['artifact'] === 'string') {
    const artifact = await findArtifact(jobs.runtime, run.id, result['artifact'], hold);
    return artifact?.content ?? null;
  }
  if (typeof result['parts'] !== 'number') return result;
  hold(largeBytesOf(result));
  const keys = Array.from({ length: result['parts'] }, (_, part) => partKey(part));
  const found = (await readParts(jobs.runtime, run.id, keys)).map((part) =>
    Buffer.from(part as string, 'base64'),
  );
  return parseJson(Buffer.concat(found).toString('utf8')) as Json;
}
