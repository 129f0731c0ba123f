import type { CallContext, GroupHandlers } from '../../http/handler.ts';
import { listHeaders } from '../../http/list-headers.ts';
import type { Caller } from '../../identity/caller.ts';
import { permissionDenied } from '../../identity/grants.ts';
import type { Jobs } from '../../jobs/admit-job.ts';
import { cancelJob, getJob, type JobListRequest, type JobPage, listJobs } from '../../jobs/read-jobs.ts';
import type { Run } from '../../runs/run.ts';
import { type RecordJobDependencies, verifiedCaller } from '../records/library/admit-record-job.ts';
import { importJobView, importResults } from '../records/library/import-job-view.ts';
import { bytesOfAttempts, jobsWithResults } from '../records/library/kept-result.ts';
import { PAYLOAD_TAG } from '../records/library/staged-payload.ts';
import type { CollectionsDependencies } from './dependencies.ts';

type Handlers = GroupHandlers<'collections'>;

const LIST_LIMIT_DEFAULT = 50;
const PATH = '/record-import/jobs';
const VISIBLE_PAGES_MAX = 10;

export function listRecordImportJobs({
  recordJobs,
  records,
  pageTokens,
}: CollectionsDependencies): Handlers['listRecordImportJobs'] {
  const { jobs, plugin, access } = recordJobs;
  return async ({ query }, context) => {
    const { caller } = context;
    const space = access.spaceOf(caller, 'read');
    const { limit = LIST_LIMIT_DEFAULT, includeResult = false, continuationToken } = query;
    const of = { list: 'record-import-jobs', space };
    const after = await pageTokens.read(of, continuationToken);
    const request = { plugin, space, subject: null, limit, after, includeResult };
    const isVisible = (run: Run) => maySee(recordJobs, caller, run);
    const bytes = bytesOfAttempts(resultBytes(context));
    const found = includeResult
      ? await jobsWithResults(jobs, request, isVisible, (runs) => importResults(jobs, records, runs, bytes()))
      : { ...(await visibleJobs(jobs, request, isVisible)), results: [] };
    const { jobs: shown, next: place, results } = found;
    const body = shown.map((run, index) => importJobView(run, results[index] ?? null));
    const token = await pageTokens.issue(of, place);
    const { continuationToken: _, ...same } = query;
    const next = token === null ? null : { continuationToken: token };
    return { status: 200, body, headers: listHeaders(PATH, same, { next, cut: body.length < limit }) };
  };
}

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

export function getRecordImportJob({
  recordJobs,
  records,
}: CollectionsDependencies): Handlers['getRecordImportJob'] {
  const { jobs, plugin, access } = recordJobs;
  return async ({ params: { jobId } }, { caller, ...context }) => {
    const space = access.spaceOf(caller, 'read');
    const run = await getJob(jobs, { plugin, space }, jobId);
    if (!maySee(recordJobs, caller, run)) throw permissionDenied({ right: 'read', tenantId: space });
    const [result = null] = await importResults(jobs, records, [run], resultBytes(context));
    return { status: 200, body: importJobView(run, result) };
  };
}

export function cancelRecordImportJob({
  recordJobs,
  records,
}: CollectionsDependencies): Handlers['cancelRecordImportJob'] {
  const { jobs, plugin, access, executionAccess, payloads } = recordJobs;
  return async ({ params: { jobId } }, { caller, now, ...context }) => {
    const space = access.spaceOf(caller, 'write');
    // Also a run of another space is read before it is judged: both answers are those of a job that does not exist.
    const found = await getJob(jobs, { plugin, space }, jobId);
    executionAccess?.authorizeRun(verifiedCaller(caller), found, 'cancel_run');
    const run = await cancelJob(jobs, { plugin, space }, jobId, now);
    const staged = run.tags[PAYLOAD_TAG];
    // No handler will remove the payload of a job that was cancelled before it began.
    if (staged !== undefined && run.status === 'cancelled' && run.attempt === 0)
      await payloads.discard(space, staged);
    const whole = maySee(recordJobs, caller, run);
    const [result = null] = whole ? await importResults(jobs, records, [run], resultBytes(context)) : [];
    const shown = whole ? run : { ...run, error: null };
    return { status: 200, body: importJobView(shown, result) };
  };
}

function resultBytes({ hold = uncounted, grow = uncounted }: Pick<CallContext, 'hold' | 'grow'>) {
  return { hold, grow };
}

const uncounted = (): void => undefined;

function maySee({ executionAccess }: RecordJobDependencies, caller: Caller, run: Run): boolean {
  return executionAccess === null || executionAccess.maySee(verifiedCaller(caller), run);
}
