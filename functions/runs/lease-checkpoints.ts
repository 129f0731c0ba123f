import { limits } from '../../contracts/generated/limits.ts';
import { canonicalJson } from '../kernel/canonical-json.ts';
import { describeFailure } from '../kernel/log.ts';
import type { Checkpoint } from './checkpoint.ts';
import { findCheckpoints } from './read-checkpoints.ts';
import type { Run } from './run.ts';
import type { Runtime } from './runtime.ts';

/** The checkpoints that a lease call requested. A key in neither list was not read. */
export interface LeaseCheckpoints {
  readonly found: readonly Checkpoint[];
  readonly absent: readonly string[];
}

/** Checkpoints of one read: their contents are in memory together, also those that the answer leaves out. */
const WIDTH = 4;

/**
 * Reads checkpoints for the worker that has just leased the run, in the order of the keys, until they reach the bound of
 * the answer. It never fails, because the run is leased: the worker reads a key that is missing here by a call of its own,
 * and gets the error.
 */
export async function leaseCheckpoints(
  runtime: Runtime,
  run: Run,
  keys: readonly string[],
): Promise<LeaseCheckpoints> {
  // Only its start and the holder of a lease write checkpoints.
  if (run.attempt <= 1 && run.firstCheckpoints === undefined) return { found: [], absent: keys };
  const found: Checkpoint[] = [];
  const absent: string[] = [];
  let bytes = 0;
  try {
    for (let from = 0; from < keys.length; from += WIDTH) {
      const wanted = keys.slice(from, from + WIDTH);
      for (const [at, each] of (await findCheckpoints(runtime, run.id, wanted)).entries()) {
        if (each === null) {
          absent.push(wanted[at] ?? '');
          continue;
        }
        bytes += Buffer.byteLength(canonicalJson(each.content));
        if (found.length > 0 && bytes > limits.executionLeaseCheckpointsBytesMax) return { found, absent };
        found.push(each);
      }
    }
  } catch (error) {
    const failure = describeFailure(error);
    runtime.log({ severity: 'WARNING', message: 'A lease was answered without its checkpoints', failure });
  }
  return { found, absent };
}
