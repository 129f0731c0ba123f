import type { StagedPayloads } from '../collections/staged-payloads.ts';
import type { Json, JsonObject } from '../kernel/canonical-json.ts';
import { ServiceError } from '../kernel/errors.ts';
import { cancel } from '../runs/control.ts';
import { findRun, findValues, findWhole } from '../runs/read-runs.ts';
import { RUN_GROUP, RUN_INDEX, RUNS, readRun } from '../runs/records.ts';
import { isTerminal, type Run } from '../runs/run.ts';
import { jobList, PAYLOAD_TAG } from '../runs/run-job.ts';
import type { Jobs } from './admit-job.ts';
import type { JobPlugin } from './job-plugin.ts';

/** Where a caller looks for a job: the views of one family, and the caller's own space. */
export interface JobPlace {
  readonly plugin: Pick<JobPlugin, 'family'>;
  readonly space: string;
}

/** Throws `not_found` for an unknown job, one of another family and one of another space alike. */
export async function getJob({ runtime }: Jobs, place: JobPlace, jobId: string): Promise<Run> {
  const run = await findRun(runtime, jobId);
  if (run === undefined || !isThere(run, place)) throw missingJob();
  return run;
}

/**
 * Cancels a queued job at once, and asks a running one to stop. A finished job stays as it is.
 * @testonly
 */
export function cancelJob({ runtime }: Jobs, place: JobPlace, jobId: string, now: number): Promise<Run> {
  const guard = (run: Run) => {
    if (!isThere(run, place)) throw missingJob();
  };
  return cancel(runtime, jobId, guard, now).catch((error: unknown) => {
    throw error instanceof ServiceError && error.code === 'not_found' ? missingJob() : error;
  });
}

/** A family of jobs, whose requests may be staged. */
export interface StagingFamily {
  readonly jobs: Jobs;
  readonly payloads?: Pick<StagedPayloads, 'discard'>;
}

/**
 * Cancels a queued job at once, and asks a running one to stop. Throws `not_found` for a job that the space does not have. Discards
 * the staged request where the job is over without a success: no attempt has the run then, and none follows (decision 0038).
 */
export async function cancelStagedJob(
  { jobs, payloads }: StagingFamily,
  place: JobPlace,
  jobId: string,
  now: number,
): Promise<Run> {
  const run = await cancelJob(jobs, place, jobId, now);
  const staged = run.tags[PAYLOAD_TAG];
  // A job that has succeeded has discarded it.
  const isOver = isTerminal(run.status) && run.status !== 'succeeded';
  if (staged !== undefined && isOver) await payloads?.discard(place.space, staged);
  return run;
}

function isThere({ job }: Run, { plugin, space }: JobPlace): boolean {
  return job?.family === plugin.family && job.space === space;
}

function missingJob(): ServiceError {
  return new ServiceError('not_found', 'There is no such job.');
}

export interface JobListRequest extends JobPlace {
  /** Only jobs that work on this part of the space; `null` for all of them. */
  readonly subject: string | null;
  readonly limit: number;
  /** `next` of the page before. */
  readonly after: string | null;
  /** Whether the answer carries results: a page then ends before it is too large for an answer. */
  readonly includeResult: boolean;
  /** About how large the result of a job is, where it lies beside its run. */
  readonly sizeOf?: (job: Run) => number;
}

export interface JobPage {
  readonly jobs: readonly Run[];
  readonly next: string | null;
}

/** Characters, or bytes, of the results that one answer carries; the first result may exceed it. */
export const ANSWER_RESULTS_MAX = 8 * 1024 * 1024;

/** Newest first. One index value names family, space and subject, so jobs of others cost this list nothing. */
export async function listJobs(jobs: Jobs, request: JobListRequest): Promise<JobPage> {
  const page = await jobPage(jobs, request, request.limit);
  if (!request.includeResult) return page;
  const fitting = fittingCount(page.jobs, request.sizeOf ?? resultLengthOf);
  // The store knows only where a page of its own ends, so a shorter page is read once more.
  return fitting === page.jobs.length ? page : jobPage(jobs, request, fitting);
}

async function jobPage({ runtime }: Jobs, request: JobListRequest, limit: number): Promise<JobPage> {
  const { plugin, space, subject, after } = request;
  const index = subject === null ? RUN_INDEX.jobs : RUN_INDEX.jobSubject;
  const store = await runtime.store();
  const { records, next } = await store.query(runtime.scope, {
    by: 'list',
    collection: RUNS,
    group: RUN_GROUP,
    equal: { [index]: jobList(plugin.family, space, subject) },
    direction: 'descending',
    limit,
    ...(after === null ? {} : { after }),
  });
  return { jobs: records.map((record) => readRun(record)), next };
}

/** How many of the first items one answer carries. */
export function fittingCount<Item>(items: readonly Item[], sizeOf: (item: Item) => number): number {
  let size = 0;
  const end = items.findIndex((item, index) => {
    size += sizeOf(item);
    return index > 0 && size > ANSWER_RESULTS_MAX;
  });
  return end === -1 ? items.length : end;
}

/** Characters of the result as JSON, wherever it is kept. */
export function resultLengthOf({ result }: Run): number {
  return 'json' in result ? JSON.stringify(result.json).length : (result.characters ?? 0);
}

/** The results of the jobs, in their order; `null` for a job that has none. */
export async function resultsOf({ runtime }: Jobs, jobs: readonly Run[]): Promise<readonly Json[]> {
  const found = await findValues(
    runtime,
    jobs.map(({ result }) => result),
  );
  return Promise.all(
    jobs.map(async (run, index) => {
      const result = found[index];
      // A newer result replaced the one that this state of the run names.
      return result === undefined ? ((await findWhole(runtime, run))?.result ?? null) : result;
    }),
  );
}

/**
 * The results of the jobs in their order; `null` for a job that has none. `wholeOf` reads the rest of a result that lies beside its run.
 * Counts about as many bytes as `sizeOf` says before it reads.
 */
export async function wholeResults<Result>(
  jobs: Jobs,
  runs: readonly Run[],
  { sizeOf, wholeOf }: WholeResult<Result>,
  { hold }: { readonly hold: (bytes: number) => void } = UNHELD,
): Promise<readonly (Result | null)[]> {
  for (const run of runs) hold(sizeOf(run));
  const found = await resultsOf(jobs, runs);
  const whole: (Result | null)[] = [];
  for (const [index, run] of runs.entries()) {
    const result = found[index];
    whole.push(
      typeof result === 'object' && result !== null ? await wholeOf(run, result as JsonObject) : null,
    );
  }
  return whole;
}

const UNHELD = { hold: () => undefined };

interface WholeResult<Result> {
  readonly sizeOf: (run: Run) => number;
  readonly wholeOf: (run: Run, result: JsonObject) => Promise<Result>;
}
