import type { Json } from '../kernel/canonical-json.ts';
import { ServiceError } from '../kernel/errors.ts';
import { findArtifact } from '../runs/read-artifacts.ts';
import type { Run } from '../runs/run.ts';
import { fittingCount, LIST_ANSWER_MAX } from '../store/pages.ts';
import type { Jobs } from './admit-job.ts';
import type { JobContext } from './job-plugin.ts';
import { resultsOf } from './read-jobs.ts';

/** The place of a large result in a deployment without a store for large artifacts. */
type WithoutPlace =
  /** It is not stored: a job view computes it again. */
  | 'remade'
  /** It is not stored: the job fails. */
  | 'refused'
  /** Stores it in checkpoints of the run, and returns their number. */
  | ((context: JobContext, json: Buffer) => Promise<number>);

/** Stores the result as an artifact. Returns the value for the run: the result, or a reference to a large one. */
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

/** Counts bytes before they are loaded. Throws if requests hold too many. */
export interface ResultBytes {
  /** Counts a result that is read in one step. */
  readonly hold: (bytes: number) => void;
  /** Counts the next piece of a result that is built in pieces. */
  readonly grow: (bytes: number) => void;
}

/** For a read that no request waits for. */
const UNCOUNTED: ResultBytes = { hold: () => undefined, grow: () => undefined };

/** Reads a large result in a deployment without a store for large artifacts. */
interface OtherReads {
  /** Computes the result of a run without an artifact again. `grow` counts the bytes. */
  readonly remade?: (run: Run, grow: (bytes: number) => void) => Promise<Json>;
  /** Reads a result that may be stored in checkpoints. `hold` counts the bytes. */
  readonly inParts?: (jobs: Jobs, run: Run, result: Json, hold: (bytes: number) => void) => Promise<Json>;
}

/** The results that `keepResult` stored, in the order of the jobs. The list is shorter if one answer cannot carry all of them. */
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
    if (held > LIST_ANSWER_MAX) return whole;
    const artifact = run.artifacts === 0 ? null : await findArtifact(jobs.runtime, run.id, name, hold);
    whole.push(artifact === null ? ((await remade?.(run, grow)) ?? null) : artifact.content);
  }
  return whole;
}

/** The reference to a stored result, with its size if the run has it; an object without members if the run holds the result. */
function besideIn(result: Json): { readonly artifact?: Json; readonly parts?: Json; readonly bytes?: Json } {
  const isBeside =
    typeof result === 'object' && result !== null && ('artifact' in result || 'parts' in result);
  return isBeside ? result : {};
}

function sizeIn(result: Json): number {
  return Number(besideIn(result).bytes ?? 0);
}
