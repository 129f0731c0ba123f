import type { EmbeddingAnswer, EmbeddingItem } from '../../../embeddings/embed-texts.ts';
import { type PackedItems, unpackItems } from '../../../embeddings/jobs/packed-items.ts';
import type { Jobs } from '../../../jobs/admit-job.ts';
import { resultsOf } from '../../../jobs/read-jobs.ts';
import type { Json } from '../../../kernel/canonical-json.ts';
import { readParts } from '../../../runs/read-checkpoints.ts';
import type { Run } from '../../../runs/run.ts';
import { factsOf } from './job-facts.ts';

/** The result of a run whose answer is too large for it: the items are in so many checkpoints. */
export type KeptResult = {
  readonly provider: string;
  readonly modelId: string;
  readonly dimensions: number;
  readonly purpose: string;
  readonly parts: number;
};

/** The checkpoint of a part, counted from 0. */
export function partKey(part: number): string {
  return `embedded-${part}`;
}

/** Bytes of one number of a vector as JSON. */
const NUMBER_BYTES = 13;

/** About how many bytes the result of the job has as JSON. */
export function resultBytesOf({ status, tags, job }: Run): number {
  if (status !== 'succeeded') return 0;
  return (job?.requested ?? 0) * factsOf(tags).dimensions * NUMBER_BYTES;
}

/** The results of the jobs in their order; `null` for a job that has none. `hold` counts the bytes before they are read. */
export async function embeddingResults(
  jobs: Jobs,
  runs: readonly Run[],
  hold: (bytes: number) => void = () => undefined,
): Promise<readonly (EmbeddingAnswer | null)[]> {
  for (const run of runs) hold(resultBytesOf(run));
  const found = await resultsOf(jobs, runs);
  const whole: (EmbeddingAnswer | null)[] = [];
  for (const [index, run] of runs.entries()) whole.push(await wholeResult(jobs, run, found[index] ?? null));
  return whole;
}

async function wholeResult(jobs: Jobs, run: Run, result: Json): Promise<EmbeddingAnswer | null> {
  if (typeof result !== 'object' || result === null) return null;
  if (!('parts' in result)) return result as unknown as EmbeddingAnswer;
  const { parts, ...facts } = result as KeptResult;
  const keys = Array.from({ length: parts }, (_, part) => partKey(part));
  const items: EmbeddingItem[] = [];
  for (const part of await readParts(jobs.runtime, run.id, keys))
    items.push(...unpackItems(part as unknown as PackedItems, items.length));
  return { ...facts, items };
}
