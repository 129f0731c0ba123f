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

/** The results of a group's jobs, and the rule which jobs a caller sees. */
interface JobResults<Result> {
  /**
   * The results of the jobs in their order, `null` for a job without a result. The list is shorter if one answer cannot carry all of
   * them. The bytes are counted before the results are loaded.
   */
  readonly results: (runs: readonly Run[], bytes: ResultBytes) => Promise<readonly (Result | null)[]>;
  /** Approximate size of a result that is stored outside its run. */
  readonly sizeOf?: (job: Run) => number;
  /** Whether the caller may see the job, if the right in its space is not enough. */
  readonly sees?: (caller: Caller, run: Run) => boolean;
}

interface JobPageWithResults<Result> extends JobPage {
  /** The results of the jobs in their order; empty if the request asks for no results. */
  readonly results: readonly (Result | null)[];
}

/** The views and rights of the jobs of one group. */
export interface JobViews<View, Result> extends JobResults<Result> {
  /** The name of the list in its continuation tokens. */
  readonly list: string;
  readonly limitDefault: number;
  /** The subject of a job is its provider, and the list can be limited to one provider. */
  readonly isByProvider?: boolean;
  /** The right to cancel a job. */
  readonly cancels: 'delete' | 'write' | 'run';
  readonly view: (run: Run, result: Result | null) => View;
  /** The view in the answer to a cancellation. Default: `view`. */
  readonly cancelledView?: (run: Run, result: Result | null) => View;
  /** Throws if the caller may not cancel this job, although it has the right in the space. */
  readonly judgeCancel?: (caller: Caller, run: Run) => void;
  /** The run without its result, for a caller who may cancel it but not read. Default: the whole run. */
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

/** Lists the jobs of the caller's space, newest first. */
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

/** Shows one job. Throws `not_found` if the space has no such job. */
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

/** Cancels a queued job at once, and asks a running job to stop. */
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
    // Read the run before the check: for a run of another space the caller gets the same answer as for one that does not exist.
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
 * A page of jobs, newest first. A page with results ends before it is too large for one answer.
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

/** Counts bytes for a list whose page may be read again: a later attempt counts only the bytes beyond those of earlier ones. */
function bytesOfAttempts({ hold, grow }: ResultBytes): () => ResultBytes {
  const [held, grown] = [attemptsOf({ grow: hold }), attemptsOf({ grow })];
  return () => ({ hold: held().add, grow: grown().add });
}

/** Reads a page that is too large for an answer again with fewer jobs, because the store can continue only after a page of its own. */
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
 * Reads more pages while hidden jobs leave the answer short. The index holds the space and not the product, so the number of reads
 * is bounded; a short answer still names its next page.
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
