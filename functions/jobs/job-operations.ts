import { attemptsOf } from '../collections/read-call.ts';
import type { CallContext } from '../http/handler.ts';
import { type ListHeaders, listHeaders } from '../http/list-headers.ts';
import type { Caller } from '../identity/caller.ts';
import { permissionDenied } from '../identity/grants.ts';
import { mayRead, type RecordAccess } from '../identity/record-access.ts';
import type { Run } from '../runs/run.ts';
import type { Jobs } from './admit-job.ts';
import type { JobFamily } from './job-family.ts';
import type { ResultBytes } from './kept-result.ts';
import {
  cancelStagedJob,
  getJob,
  type JobListRequest,
  type JobPage,
  listJobs,
  type StagingFamily,
} from './read-jobs.ts';

/**
 * How a group shows what its jobs have found.
 * @testonly
 */
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

/** @testonly */
export interface JobPageWithResults<Result> extends JobPage {
  /** Those of the jobs in their order; none where the request asks for none. */
  readonly results: readonly (Result | null)[];
}

/** The jobs of one group as its operations show them. */
export interface JobViews<View, Result> extends JobResults<Result> {
  /** The name of the list in its continuation tokens. */
  readonly list: string;
  readonly limitDefault: number;
  /** The subject of a job is its provider, and the list can be narrowed to one. */
  readonly isByProvider?: boolean;
  /** The right to cancel a job. */
  readonly cancels: 'delete' | 'write' | 'run';
  readonly view: (run: Run, result: Result | null) => View;
  /** In the answer to a cancellation. Default: as everywhere. */
  readonly cancelledView?: (run: Run, result: Result | null) => View;
  /** Throws where the caller may not cancel this job, although it has the right in the space. */
  readonly judgeCancel?: (caller: Caller, run: Run) => void;
  /** The run for a caller who has cancelled it and may not see what it has found. Default: the run. */
  readonly unseen?: (run: Run) => Run;
}

export type ShownFamily = JobFamily<{ readonly access: Pick<RecordAccess<string>, 'spaceOf'> }> &
  StagingFamily;

interface ListInput {
  readonly query: {
    readonly limit?: number;
    readonly includeResult?: boolean;
    readonly continuationToken?: string;
    /** Only jobs of this provider. */
    readonly provider?: string;
  };
}

interface JobInput {
  readonly params: { readonly jobId: string };
}

interface Answer<Body> {
  readonly status: 200;
  readonly body: Body;
}

type Handler<Input, Answered> = (input: Input, context: CallContext) => Promise<Answered>;

/** The operation that lists the jobs of the caller's space, newest first. */
export function listing<View, Result>(
  family: ShownFamily,
  views: JobViews<View, Result>,
): Handler<ListInput, Answer<View[]> & { readonly headers: ListHeaders }> {
  const { access, pageTokens, plugin } = family;
  return async ({ query }, context) => {
    const { caller } = context;
    const space = access.spaceOf(caller, 'read');
    const { limit = views.limitDefault, includeResult = false, continuationToken, provider = null } = query;
    const of = { list: views.list, space, ...(views.isByProvider === true ? { provider } : {}) };
    const after = await pageTokens.read(of, continuationToken);
    const request = { caller, space, subject: provider, limit, after, includeResult };
    const page = await jobPage(family, views, request, bytesOf(context));
    const body = page.jobs.map((run, index) => views.view(run, page.results[index] ?? null));
    const token = await pageTokens.issue(of, page.next);
    const { continuationToken: _, ...same } = query;
    const next = token === null ? null : { continuationToken: token };
    const headers = listHeaders(plugin.statusPath, same, { next, cut: body.length < limit });
    return { status: 200, body, headers };
  };
}

/** The operation that shows one job. It answers `not_found` for a job that the space does not have. */
export function showing<View, Result>(
  family: ShownFamily,
  { view, results, sees }: JobViews<View, Result>,
): Handler<JobInput, Answer<View>> {
  const { jobs, plugin, access } = family;
  return async ({ params: { jobId } }, context) => {
    const { caller } = context;
    const space = access.spaceOf(caller, 'read');
    const run = await getJob(jobs, { plugin, space }, jobId);
    if (sees?.(caller, run) === false) throw permissionDenied({ right: 'read', tenantId: space });
    const [result = null] = await results([run], bytesOf(context));
    return { status: 200, body: view(run, result) };
  };
}

/** The operation that cancels a queued job at once, and asks a running one to stop. */
export function cancelling<View, Result>(
  family: ShownFamily,
  views: JobViews<View, Result>,
): Handler<JobInput, Answer<View>> {
  const { jobs, plugin, access } = family;
  const {
    results,
    sees,
    cancels,
    judgeCancel,
    unseen = (run) => run,
    cancelledView: view = views.view,
  } = views;
  return async ({ params: { jobId } }, context) => {
    const { caller, now } = context;
    const place = { plugin, space: access.spaceOf(caller, cancels) };
    // Also a run of another space is read before it is judged: both answers are those of a job that does not exist.
    if (judgeCancel !== undefined) judgeCancel(caller, await getJob(jobs, place, jobId));
    const run = await cancelStagedJob(family, place, jobId, now);
    const isSeen = sees === undefined ? mayRead(access, caller) : sees(caller, run);
    if (!isSeen) return { status: 200, body: view(unseen(run), null) };
    const [result = null] = await results([run], bytesOf(context));
    return { status: 200, body: view(run, result) };
  };
}

function bytesOf({ hold = uncounted, grow = uncounted }: Pick<CallContext, 'hold' | 'grow'>) {
  return { hold, grow };
}

const uncounted = (): void => undefined;

/**
 * A page of jobs, newest first. With results it ends before they are too large for one answer.
 * @testonly
 */
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
