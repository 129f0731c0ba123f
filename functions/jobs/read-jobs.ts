import type { StagedPayloads } from '../collections/staged-payloads.ts';
import type { Json, JsonObject } from '../kernel/canonical-json.ts';
import { ServiceError } from '../kernel/errors.ts';
import { afterWrite } from '../runs/announcements.ts';
import { cancel } from '../runs/control.ts';
import { findRun, findValues, findWhole } from '../runs/read-runs.ts';
import { RUN_GROUP, RUN_INDEX, RUNS, readRun } from '../runs/records.ts';
import { isTerminal, type Run } from '../runs/run.ts';
import { jobList, PAYLOAD_TAG } from '../runs/run-job.ts';
import { fittingCount } from '../store/pages.ts';
import type { Jobs } from './admit-job.ts';
import type { JobPlugin } from './job-plugin.ts';

/** The place in which a caller looks for a job: the views of one family, and the caller's own space. */
export interface JobPlace {
  readonly plugin: Pick<JobPlugin, 'family'>;
  readonly space: string;
}

/** Throws the same `not_found` for an unknown job, a job of another family and a job of another space. */
export async function getJob({ runtime }: Jobs, place: JobPlace, jobId: string): Promise<Run> {
  const run = await findRun(runtime, jobId);
  if (run === undefined || !isThere(run, place)) throw missingJob();
  return run;
}

/**
 * Cancels a queued job at once, and asks a running job to stop. A finished job stays unchanged.
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
 * Cancels a queued job at once, and asks a running job to stop. Throws `not_found` if the space has no such job. If the job has ended
 * without success, discards the staged request: no attempt is running, and none follows (decision 0038).
 */
export async function cancelStagedJob(
  { jobs, payloads }: StagingFamily,
  place: JobPlace,
  jobId: string,
  now: number,
): Promise<Run> {
  const run = await cancelJob(jobs, place, jobId, now);
  const staged = run.tags[PAYLOAD_TAG];
  // A job that succeeded has discarded its staged request.
  const isOver = isTerminal(run.status) && run.status !== 'succeeded';
  if (staged !== undefined && isOver && payloads !== undefined) {
    // The job is over. Upkeep removes the request later.
    await afterWrite(jobs.runtime, 'The payload of a cancelled job could not be removed', () =>
      payloads.discard(place.space, staged),
    );
  }
  return run;
}

function isThere({ job }: Run, { plugin, space }: JobPlace): boolean {
  return job?.family === plugin.family && job.space === space;
}

function missingJob(): ServiceError {
  return new ServiceError('not_found', 'There is no such job.');
}

export interface JobListRequest extends JobPlace {
  /** Only jobs on this part of the space; `null` for all jobs. */
  readonly subject: string | null;
  readonly limit: number;
  /** `next` of the page before. */
  readonly after: string | null;
  /** Whether the answer carries results. A page with results ends before it is too large for an answer. */
  readonly includeResult: boolean;
  /** Approximate size of a result that is stored outside its run. */
  readonly sizeOf?: (job: Run) => number;
}

export interface JobPage {
  readonly jobs: readonly Run[];
  readonly next: string | null;
}

/** Lists jobs, newest first. One index value holds family, space and subject, so jobs of other callers cost this list nothing. */
export async function listJobs(jobs: Jobs, request: JobListRequest): Promise<JobPage> {
  const page = await jobPage(jobs, request, request.limit);
  if (!request.includeResult) return page;
  const fitting = fittingCount(page.jobs, request.sizeOf ?? resultLengthOf);
  // The store can continue only after a page of its own, so a shorter page is read again.
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

/** Length of the result as JSON in characters, also for a result that is stored outside the run. */
export function resultLengthOf({ result }: Run): number {
  return 'json' in result ? JSON.stringify(result.json).length : (result.characters ?? 0);
}

/** The results of the jobs in their order; `null` for a job without a result. */
export async function resultsOf({ runtime }: Jobs, jobs: readonly Run[]): Promise<readonly Json[]> {
  const found = await findValues(
    runtime,
    jobs.map(({ result }) => result),
  );
  return Promise.all(
    jobs.map(async (run, index) => {
      const result = found[index];
      // A newer result has replaced the one that this copy of the run names.
      return result === undefined ? ((await findWhole(runtime, run))?.result ?? null) : result;
    }),
  );
}

/**
 * The results of the jobs in their order; `null` for a job without a result. `wholeOf` reads the parts that are stored outside the
 * run. The bytes that `sizeOf` estimates are counted before a read.
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
