import type { Json } from '../kernel/canonical-json.ts';
import { ServiceError } from '../kernel/errors.ts';
import { findArtifact } from '../runs/read-artifacts.ts';
import type { Run } from '../runs/run.ts';
import type { Jobs } from './admit-job.ts';
import type { JobContext } from './job-plugin.ts';
import { ANSWER_RESULTS_MAX, fittingCount, resultsOf } from './read-jobs.ts';

/** Where a large result goes in a deployment without a place for large artifacts. */
type WithoutPlace =
  /** Nowhere: a job view makes it again. */
  | 'remade'
  /** Nowhere: the job is refused. */
  | 'refused'
  /** To checkpoints of the run; answers how many. */
  | ((context: JobContext, json: Buffer) => Promise<number>);

/** Puts the result as an artifact, and answers what the run holds: the result, or where a large one lies. */
export async function keepResult(
  context: JobContext,
  name: string,
  result: Json,
  { resultBytesMax, otherwise }: { readonly resultBytesMax: number; readonly otherwise: WithoutPlace },
): Promise<Json> {
  const json = JSON.stringify(result);
  const bytes = Buffer.byteLength(json);
  const isLarge = bytes > resultBytesMax;
  const size = typeof otherwise === 'string' ? {} : { bytes };
  try {
    await context.putArtifact({ name, kind: 'result', mediaType: 'application/json', content: result });
  } catch (error) {
    const hasNoPlace = error instanceof ServiceError && error.code === 'limit_exceeded';
    if (!hasNoPlace || (isLarge && otherwise === 'refused')) throw error;
    if (isLarge && typeof otherwise !== 'string')
      return { parts: await otherwise(context, Buffer.from(json)), bytes };
  }
  return isLarge ? { artifact: name, ...size } : result;
}

/** Counts bytes before they are held; throws where requests hold too many. */
export interface ResultBytes {
  /** Of a result that is read in one go. */
  readonly hold: (bytes: number) => void;
  /** Of a result that is made piece by piece. */
  readonly grow: (bytes: number) => void;
}

/** For a read that no request waits for. */
const UNCOUNTED: ResultBytes = { hold: () => undefined, grow: () => undefined };

/** The ways to a large result in a deployment without a place for large artifacts. */
interface OtherReads {
  /** Makes the result of a run that has no artifact. `grow` counts the bytes. */
  readonly remade?: (run: Run, grow: (bytes: number) => void) => Promise<Json>;
  /** Reads a result that may lie in checkpoints. `hold` counts the bytes. */
  readonly inParts?: (jobs: Jobs, run: Run, result: Json, hold: (bytes: number) => void) => Promise<Json>;
}

/** The results that `keepResult` has kept, in the order of the jobs, or of as many of the first jobs as one answer carries. */
export async function keptResults(
  jobs: Jobs,
  runs: readonly Run[],
  { remade, inParts }: OtherReads,
  bytes: ResultBytes = UNCOUNTED,
): Promise<readonly Json[]> {
  const found = await resultsOf(jobs, runs);
  const whole: Json[] = [];
  let held = 0;
  const counted = (count: (size: number) => void) => (size: number) => {
    count(size);
    held += size;
  };
  const [hold, grow] = [counted(bytes.hold), counted(bytes.grow)];
  for (const [index, run] of runs.slice(0, fittingCount(found, sizeIn)).entries()) {
    const result = found[index] ?? null;
    const { artifact: name } = besideIn(result);
    if (typeof name !== 'string') {
      whole.push(inParts === undefined ? result : await inParts(jobs, run, result, hold));
      continue;
    }
    if (held > ANSWER_RESULTS_MAX) return whole;
    const artifact = run.artifacts === 0 ? null : await findArtifact(jobs.runtime, run.id, name, hold);
    whole.push(artifact === null ? ((await remade?.(run, grow)) ?? null) : artifact.content);
  }
  return whole;
}

/** Where the result of a run lies, and its bytes where the run says them; without members for a result that the run holds. */
function besideIn(result: Json): { readonly artifact?: Json; readonly parts?: Json; readonly bytes?: Json } {
  const isBeside =
    typeof result === 'object' && result !== null && ('artifact' in result || 'parts' in result);
  return isBeside ? result : {};
}

function sizeIn(result: Json): number {
  return Number(besideIn(result).bytes ?? 0);
}
