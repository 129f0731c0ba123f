import type { Json } from '../kernel/canonical-json.ts';
import { ServiceError } from '../kernel/errors.ts';
import { findArtifact } from '../runs/read-artifacts.ts';
import type { Run } from '../runs/run.ts';
import type { Jobs } from './admit-job.ts';
import type { JobContext } from './job-plugin.ts';
import { ANSWER_RESULTS_MAX, resultsOf } from './read-jobs.ts';

/**
 * Puts the result as an artifact, and answers what the run holds: the result, or the name of the artifact where it is large. A
 * deployment without a place for large artifacts loses one that no job view makes again, so that is refused.
 */
export async function keepResult(
  context: JobContext,
  name: string,
  result: Json,
  resultBytesMax: number,
  { isRemade }: { readonly isRemade: boolean },
): Promise<Json> {
  const isLarge = Buffer.byteLength(JSON.stringify(result)) > resultBytesMax;
  try {
    await context.putArtifact({ name, kind: 'result', mediaType: 'application/json', content: result });
  } catch (error) {
    const hasNoPlace = error instanceof ServiceError && error.code === 'limit_exceeded';
    if (!hasNoPlace || (isLarge && !isRemade)) throw error;
  }
  return isLarge ? { artifact: name } : result;
}

/** Counts bytes before they are held; throws where requests hold too many. */
export interface ResultBytes {
  /** Of a result that is read in one go. */
  readonly hold: (bytes: number) => void;
  /** Of a result that is made piece by piece. */
  readonly grow: (bytes: number) => void;
}

/** Makes the result of a run that has no artifact. `grow` counts the bytes. */
export type RemadeResult = (run: Run, grow: (bytes: number) => void) => Promise<Json>;

/** The results of the jobs in their order, or of as many of the first jobs as one answer carries. */
export async function keptResults(
  jobs: Jobs,
  runs: readonly Run[],
  bytes: ResultBytes,
  remade: RemadeResult,
): Promise<readonly Json[]> {
  const found = await resultsOf(jobs, runs);
  const whole: Json[] = [];
  let held = 0;
  const counted = (count: (size: number) => void) => (size: number) => {
    count(size);
    held += size;
  };
  const [hold, grow] = [counted(bytes.hold), counted(bytes.grow)];
  for (const [index, run] of runs.entries()) {
    const result = found[index] ?? null;
    const name = artifactIn(result);
    if (name !== null && held > ANSWER_RESULTS_MAX) return whole;
    if (name === null) whole.push(result);
    else {
      const artifact = run.artifacts === 0 ? null : await findArtifact(jobs.runtime, run.id, name, hold);
      whole.push(artifact === null ? await remade(run, grow) : artifact.content);
    }
  }
  return whole;
}

function artifactIn(result: Json): string | null {
  if (typeof result !== 'object' || result === null || !('artifact' in result)) return null;
  return typeof result.artifact === 'string' ? result.artifact : null;
}
