import type { Json } from '../kernel/canonical-json.ts';
import { ServiceError } from '../kernel/errors.ts';
import { cancel } from '../runs/control.ts';
import { findRun, findValues, findWhole } from '../runs/read-runs.ts';
import { RUN_GROUP, RUN_INDEX, RUNS, readRun } from '../runs/records.ts';
import type { Run } from '../runs/run.ts';
import { jobList } from '../runs/run-job.ts';
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

/** Cancels a queued job at once, and asks a running one to stop. A finished job stays as it is. */
export function cancelJob({ runtime }: Jobs, place: JobPlace, jobId: string, now: number): Promise<Run> {
  const guard = (run: Run) => {
    if (!isThere(run, place)) throw missingJob();
  };
  return cancel(runtime, jobId, guard, now).catch((error: unknown) => {
    throw error instanceof ServiceError && error.code === 'not_found' ? missingJob() : error;
  });
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
