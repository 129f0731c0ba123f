import { limits } from '../../../contracts/generated/limits.ts';
import { describeFailure } from '../../kernel/log.ts';
import { settledEach } from '../../kernel/settled-each.ts';
import { resumeCascades } from '../cascade.ts';
import { retentionOwner } from '../records.ts';
import { REFUSED_MAX } from '../refused-runs.ts';
import { type Run, wasRefused } from '../run.ts';
import type { Runtime } from '../runtime.ts';
import { isIndexedByScope } from '../scope-index.ts';
import { countRun, type PruneCounts, removeRun, resumeRemains } from './remove-run.ts';
import { terminalRuns } from './terminal-runs.ts';

/** Runs that are removed in parallel. */
const WIDTH = 8;
/** Removed runs whose remains one step clears. */
const RESUMED_MAX = 50;
/** Runs that are removed between two checks of the deadline. */
const CHUNK = 50;
/** Retained runs in a row that are read between two checks. */
const KEPT_RUN = 200;

export interface RunsPruneRequest {
  readonly dryRun: boolean;
  readonly retainTerminalRuns: number;
}

export interface Pruned extends PruneCounts {
  readonly runIds: readonly string[];
}

/** Finishes earlier prunes, then removes one batch of terminal runs beyond the retained number, newest first. */
export async function prune(
  runtime: Runtime,
  { dryRun, retainTerminalRuns }: RunsPruneRequest,
  now: number,
): Promise<Pruned> {
  if (!dryRun) await resumeRemains(runtime, now, RESUMED_MAX);
  const retention = { retained: retainTerminalRuns, endedBefore: null };
  const runs = await take(excess(runtime, retention), limits.executionPruneRunsMax);
  const results = await settledEach(runs, WIDTH, (run) =>
    dryRun ? countRun(runtime, run) : removeRun(runtime, run, now),
  );
  const { counts, failures } = summed(runtime, results);
  if (failures.length > 0 && counts.runs === 0) throw failures[0];
  const isDone = (_: Run, at: number) => results[at]?.status === 'fulfilled' && results[at].value !== null;
  return { ...counts, runIds: runs.filter(isDone).map(({ id }) => id) };
}

export interface PruneAllOptions {
  /** Milliseconds since 1970, by the clock of the runtime: no batch starts after this time. */
  readonly deadline: number;
  /** Default: the setting of the deployment. */
  readonly retainTerminalRuns?: number;
  /** Spares runs that ended less than this ago. Default 0. */
  readonly ageMsMin?: number;
  /** Aborted when the process stops: then no batch starts. */
  readonly signal?: AbortSignal;
}

export interface PruneSummary extends PruneCounts {
  /** Runs that could not be removed. The next prune tries them again. */
  readonly failed: number;
  /** Whether the deadline passed before the work was done. */
  readonly more: boolean;
}

/** Removes all terminal runs beyond those to retain, until the deadline. */
export async function pruneAll(
  runtime: Runtime,
  now: number,
  { deadline, retainTerminalRuns = runtime.options.retainedRunsMax, ageMsMin = 0, signal }: PruneAllOptions,
): Promise<PruneSummary> {
  const isOver = () => signal?.aborted === true || runtime.world.clock.now() >= deadline;
  let summary: PruneSummary = { ...NONE, failed: 0, more: false };
  let resumed: number;
  do {
    if (isOver()) return { ...summary, more: true };
    resumed = await resumeRemains(runtime, now, RESUMED_MAX);
  } while (resumed === RESUMED_MAX);
  // A machine prunes by itself, and reconciles at the wish of its operator alone.
  await resumeCascades(runtime, now, RESUMED_MAX);
  const endedBefore = ageMsMin === 0 ? null : now - ageMsMin;
  // Lists and starts of callers also continue the index; a prune continues it when no caller does.
  await isIndexedByScope(runtime, now);
  const search = { isCut: false };
  const isCut = () => {
    search.isCut = isOver();
    return search.isCut;
  };
  const runs = excess(runtime, { retained: retainTerminalRuns, endedBefore, isOver: isCut });
  for (let chunk = await take(runs, CHUNK); chunk.length > 0; chunk = await take(runs, CHUNK)) {
    if (isOver()) return { ...summary, more: true };
    const results = await settledEach(chunk, WIDTH, (run) => removeRun(runtime, run, now));
    const { counts, failures } = summed(runtime, results);
    summary = { ...plus(summary, counts), failed: summary.failed + failures.length, more: false };
    // A whole chunk failed, so the store is probably unavailable: leave the rest to the next activation.
    if (failures.length === chunk.length) return { ...summary, more: true };
  }
  return { ...summary, more: search.isCut };
}

/** No owner removes the runs of another, and refused starts remove no run. */
function retentionGroup(run: Run): string {
  const kind = wasRefused(run) ? 'refused' : run.job === undefined ? 'runs' : 'jobs';
  return `${kind} ${retentionOwner(run)}`;
}

interface Retention {
  readonly retained: number;
  /** Runs that ended after this time stay; `null` for none. */
  readonly endedBefore: number | null;
  /** Ends the search for the next run to remove: it may have to skip any number of retained runs. */
  readonly isOver?: () => boolean;
}

/** Terminal runs, newest first by id, beyond the `retained` newest of their group. Reads those too: no counter has them. */
async function* excess(runtime: Runtime, { retained, endedBefore, isOver }: Retention): AsyncGenerator<Run> {
  const newer = new Map<string, number>();
  let kept = 0;
  for await (const run of terminalRuns(runtime)) {
    const group = retentionGroup(run);
    const seen = (newer.get(group) ?? 0) + 1;
    newer.set(group, seen);
    const refused = wasRefused(run);
    const isOld = refused || endedBefore === null || (run.completedAt ?? run.updatedAt) <= endedBefore;
    if (isOld && seen > (refused ? Math.min(retained, REFUSED_MAX) : retained)) {
      kept = 0;
      yield run;
      continue;
    }
    kept += 1;
    if (kept % KEPT_RUN === 0 && isOver?.() === true) return;
  }
}

async function take(runs: AsyncGenerator<Run>, limit: number): Promise<Run[]> {
  const found: Run[] = [];
  while (found.length < limit) {
    const { done, value } = await runs.next();
    if (done === true) break;
    found.push(value);
  }
  return found;
}

const NONE: PruneCounts = {
  runs: 0,
  events: 0,
  artifacts: 0,
  checkpoints: 0,
  timers: 0,
  externalEvents: 0,
  leases: 0,
  artifactDirectories: 0,
};

function plus(one: PruneCounts, other: PruneCounts): PruneCounts {
  return {
    runs: one.runs + other.runs,
    events: one.events + other.events,
    artifacts: one.artifacts + other.artifacts,
    checkpoints: one.checkpoints + other.checkpoints,
    timers: one.timers + other.timers,
    externalEvents: one.externalEvents + other.externalEvents,
    leases: one.leases + other.leases,
    artifactDirectories: one.artifactDirectories + other.artifactDirectories,
  };
}

function summed(
  runtime: Runtime,
  results: readonly PromiseSettledResult<PruneCounts | null>[],
): { readonly counts: PruneCounts; readonly failures: readonly unknown[] } {
  const failures = results.flatMap((each): unknown[] => (each.status === 'rejected' ? [each.reason] : []));
  if (failures.length > 0) {
    const message = `${failures.length} of ${results.length} runs could not be removed`;
    runtime.log({ severity: 'WARNING', message, failure: describeFailure(failures[0]) });
  }
  const done = results.flatMap((each) =>
    each.status === 'fulfilled' && each.value !== null ? [each.value] : [],
  );
  return { counts: done.reduce(plus, NONE), failures };
}
