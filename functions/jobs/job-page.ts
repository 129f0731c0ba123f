import { attemptsOf } from '../collections/read-call.ts';
import type { Caller } from '../identity/caller.ts';
import type { Run } from '../runs/run.ts';
import type { Jobs } from './admit-job.ts';
import type { JobFamily } from './job-family.ts';
import type { ResultBytes } from './kept-result.ts';
import { type JobListRequest, type JobPage, listJobs } from './read-jobs.ts';

/** How a group shows what its jobs have found. */
export interface JobResults<Result> {
  /**
   * The results of the jobs in their order, or of as many of the first jobs as one answer carries; `null` for a job that has none.
   * Counts their bytes before it holds them.
   */
  readonly results: (runs: readonly Run[], bytes: ResultBytes) => Promise<readonly (Result | null)[]>;
  /** About how large the result of a job is, where it lies beside its run. */
  readonly sizeOf?: (job: Run) => number;
  /** Whether the caller may see the job, where more than the right in its space decides that. */
  readonly sees?: (caller: Caller, run: Run) => boolean;
}

export interface JobPageWithResults<Result> extends JobPage {
  /** Those of the jobs in their order; none where the request asks for none. */
  readonly results: readonly (Result | null)[];
}

/** A page of jobs, newest first. With results it ends before they are too large for one answer. */
export async function jobPage<Result>(
  { jobs, plugin }: Pick<JobFamily<object>, 'jobs' | 'plugin'>,
  { results, sizeOf, sees }: JobResults<Result>,
  { caller, ...asked }: Omit<JobListRequest, 'plugin' | 'sizeOf'> & { readonly caller: Caller },
  bytes: ResultBytes,
): Promise<JobPageWithResults<Result>> {
  const request = { ...asked, plugin, ...(sizeOf === undefined ? {} : { sizeOf }) };
  const isVisible = sees === undefined ? null : (run: Run) => sees(caller, run);
  if (asked.includeResult) {
    const attempt = bytesOfAttempts(bytes);
    return pageWithResults(jobs, request, isVisible ?? all, (runs) => results(runs, attempt()));
  }
  const page = await (isVisible === null ? listJobs(jobs, request) : visibleJobs(jobs, request, isVisible));
  return { ...page, results: [] };
}

const all = () => true;

/** For results of a list whose pages may be read again: only what exceeds all earlier attempts is counted. */
function bytesOfAttempts({ hold, grow }: ResultBytes): () => ResultBytes {
  const [held, grown] = [attemptsOf({ grow: hold }), attemptsOf({ grow })];
  return () => ({ hold: held().add, grow: grown().add });
}

/** The store knows only where its own page ends, so a page that is too large for an answer is read again, shorter. */
async function pageWithResults<Result>(
  jobs: Jobs,
  request: JobListRequest,
  isVisible: (run: Run) => boolean,
  resultsOfRuns: (runs: readonly Run[]) => Promise<readonly (Result | null)[]>,
): Promise<JobPageWithResults<Result>> {
  for (let { limit } = request; ; ) {
    const page = await listJobs(jobs, { ...request, limit });
    const shown = page.jobs.filter(isVisible);
    const results = await resultsOfRuns(shown);
    const last = shown[results.length - 1];
    if (results.length === shown.length || last === undefined) return { ...page, jobs: shown, results };
    limit = page.jobs.indexOf(last) + 1;
  }
}

const VISIBLE_PAGES_MAX = 10;

/**
 * Reads on while jobs that the caller may not see leave a page short. The index names the space and not the product, so the
 * number of pages is bounded: a shorter answer still names its next page.
 */
async function visibleJobs(
  jobs: Jobs,
  request: JobListRequest,
  isVisible: (run: Run) => boolean,
): Promise<JobPage> {
  const shown: Run[] = [];
  let { after } = request;
  for (let pages = 1; ; pages += 1) {
    const page = await listJobs(jobs, { ...request, after, limit: request.limit - shown.length });
    shown.push(...page.jobs.filter(isVisible));
    const isEnough = shown.length === request.limit || pages === VISIBLE_PAGES_MAX;
    if (page.next === null || isEnough) return { jobs: shown, next: page.next };
    after = page.next;
  }
}
