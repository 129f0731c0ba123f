import { limits } from '../../../contracts/generated/limits.ts';
import { describeFailure } from '../../kernel/log.ts';
import type { RecordPage } from '../../store/port.ts';
import { RUN_GROUP, RUN_INDEX, RUNS, readRun } from '../records.ts';
import { isTerminal, type Run, type TerminalStatus } from '../run.ts';
import { jobOwner } from '../run-job.ts';
import type { Runtime } from '../runtime.ts';
import { settledEach } from './parallel.ts';
import { countRun, type PruneCounts, removeRun, resumeRemains } from './remove-run.ts';

export type { PruneCounts } from './remove-run.ts';

export const TERMINAL: readonly TerminalStatus[] = [
  'succeeded',
  'failed',
  'cancelled',
  'rejected',
  'timed_out',
];

/** Runs that are removed at a time. */
const WIDTH = 8;
/** Runs of which one prune takes over what another has left. */
const RESUMED_MAX = 50;
/** Runs that are removed between two looks at the clock. */
const CHUNK = 50;
const PAGE = 100;

export interface PruneRequest {
  readonly dryRun: boolean;
  readonly retainTerminalRuns: number;
}

export interface Pruned extends PruneCounts {
  readonly runIds: readonly string[];
}

/** One bounded batch: what earlier prunes left, then the newest of the runs that are not to stay. */
export async function prune(
  runtime: Runtime,
  { dryRun, retainTerminalRuns }: PruneRequest,
  now: number,
): Promise<Pruned> {
  if (!dryRun) await resumeRemains(runtime, now, RESUMED_MAX);
  const runs = await some(excess(runtime, retainTerminalRuns), limits.executionPruneRunsMax);
  const results = await settledEach(runs, WIDTH, (run) =>
    dryRun ? countRun(runtime, run) : removeRun(runtime, run, now),
  );
  const { counts, failures } = summed(runtime, results);
  if (failures.length > 0 && counts.runs === 0) throw failures[0];
  const isDone = (_: Run, at: number) => results[at]?.status === 'fulfilled' && results[at].value !== null;
  return { ...counts, runIds: runs.filter(isDone).map(({ id }) => id) };
}

export interface PruneAllOptions {
  /** Milliseconds since 1970, by the clock of the runtime: nothing is begun after it. */
  readonly deadline: number;
  /** By default as many as the deployment keeps. */
  readonly retainTerminalRuns?: number;
}

export interface PruneSummary extends PruneCounts {
  /** Runs that could not be removed; the next prune tries them again. */
  readonly failed: number;
  /** There was no time for all. */
  readonly more: boolean;
}

/** All batches, until nothing is left to remove or the time is over. */
export async function pruneAll(
  runtime: Runtime,
  now: number,
  { deadline, retainTerminalRuns = runtime.options.retainedRunsMax }: PruneAllOptions,
): Promise<PruneSummary> {
  const isOver = () => runtime.world.clock.now() >= deadline;
  let summary: PruneSummary = { ...NONE, failed: 0, more: false };
  let resumed: number;
  do {
    if (isOver()) return { ...summary, more: true };
    resumed = await resumeRemains(runtime, now, RESUMED_MAX);
  } while (resumed === RESUMED_MAX);
  const runs = excess(runtime, retainTerminalRuns);
  for (let chunk = await some(runs, CHUNK); chunk.length > 0; chunk = await some(runs, CHUNK)) {
    if (isOver()) return { ...summary, more: true };
    const results = await settledEach(chunk, WIDTH, (run) => removeRun(runtime, run, now));
    const { counts, failures } = summed(runtime, results);
    summary = { ...plus(summary, counts), failed: summary.failed + failures.length, more: false };
    // Where nothing works any more, the next activation may find that it does.
    if (failures.length === chunk.length) return { ...summary, more: true };
  }
  return summary;
}

/** All runs count together; the jobs of each owner count apart, so that no owner removes the jobs of another. */
function retentionGroup({ scope, job }: Run): string {
  return job === undefined ? 'runs' : jobOwner(scope, job);
}

/** Terminal runs, newest first by id, beyond the `retained` newest of their group. Reads those too: no counter has them. */
async function* excess(runtime: Runtime, retained: number): AsyncGenerator<Run> {
  const newer = new Map<string, number>();
  for await (const run of terminalRuns(runtime)) {
    const group = retentionGroup(run);
    const seen = (newer.get(group) ?? 0) + 1;
    newer.set(group, seen);
    if (seen > retained) yield run;
  }
}

interface Lane {
  readonly status: TerminalStatus;
  readonly runs: Run[];
  after: string | null;
  over: boolean;
}

/** The lists of all terminal statuses as one. */
async function* terminalRuns(runtime: Runtime): AsyncGenerator<Run> {
  const lanes = TERMINAL.map((status): Lane => ({ status, runs: [], after: null, over: false }));
  for (;;) {
    await Promise.all(lanes.map((lane) => refill(runtime, lane)));
    const heads = lanes.filter(({ runs }) => runs.length > 0);
    const [newest] = heads.sort((a, b) => ((a.runs[0]?.id ?? '') < (b.runs[0]?.id ?? '') ? 1 : -1));
    const run = newest?.runs.shift();
    if (run === undefined) return;
    yield run;
  }
}

async function refill(runtime: Runtime, lane: Lane): Promise<void> {
  const store = await runtime.store();
  while (lane.runs.length === 0 && !lane.over) {
    const page: RecordPage = await store.query(runtime.scope, {
      by: 'list',
      collection: RUNS,
      group: RUN_GROUP,
      equal: { [RUN_INDEX.status]: lane.status },
      direction: 'descending',
      limit: PAGE,
      ...(lane.after === null ? {} : { after: lane.after }),
    });
    lane.runs.push(
      ...page.records.map((record) => readRun(record)).filter(({ status }) => isTerminal(status)),
    );
    lane.after = page.next;
    lane.over = page.next === null;
  }
}

async function some(runs: AsyncGenerator<Run>, limit: number): Promise<Run[]> {
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
