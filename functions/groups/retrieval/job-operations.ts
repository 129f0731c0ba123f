import type { GroupHandlers } from '../../http/handler.ts';
import { listHeaders } from '../../http/list-headers.ts';
import { mayRead } from '../../identity/record-access.ts';
import { getJob } from '../../jobs/read-jobs.ts';
import { cancelStagedJob } from '../records/library/staged-payload.ts';
import type { RetrievalDependencies } from './dependencies.ts';
import { admitComparison, admitEvaluation } from './jobs/admit-retrieval-job.ts';
import { retrievalJobPage } from './jobs/job-list.ts';
import { retrievalJobView } from './jobs/job-view.ts';
import { retrievalReports } from './jobs/kept-report.ts';

type Handlers = GroupHandlers<'retrieval'>;

const LIST_LIMIT_DEFAULT = 20;
const PATH = '/retrieval/evaluate/jobs';

export function startRetrievalEvaluationJob({
  retrievalJobs,
}: RetrievalDependencies): Handlers['startRetrievalEvaluationJob'] {
  return async ({ query, body, idempotencyKey }, { caller, correlationId }) => {
    const request = { caller, query, idempotencyKey, correlationId };
    const { run, replayed, headers } = await admitEvaluation(retrievalJobs, request, body);
    return { status: 202, body: retrievalJobView(run, null, replayed), headers };
  };
}

export function startRetrievalEvaluationComparisonJob({
  retrievalJobs,
}: RetrievalDependencies): Handlers['startRetrievalEvaluationComparisonJob'] {
  return async ({ query, body, idempotencyKey }, { caller, correlationId }) => {
    const request = { caller, query, idempotencyKey, correlationId };
    const { run, replayed, headers } = await admitComparison(retrievalJobs, request, body);
    return { status: 202, body: retrievalJobView(run, null, replayed), headers };
  };
}

export function listRetrievalEvaluationJobs({
  retrievalJobs,
  pageTokens,
  access,
}: RetrievalDependencies): Handlers['listRetrievalEvaluationJobs'] {
  return async ({ query }, { caller, hold }) => {
    const space = access.spaceOf(caller, 'read');
    const { limit = LIST_LIMIT_DEFAULT, includeResult = false, continuationToken } = query;
    const of = { list: 'retrieval-evaluation-jobs', space };
    const after = await pageTokens.read(of, continuationToken);
    const page = await retrievalJobPage(retrievalJobs, { space, limit, after, includeResult }, hold);
    const body = page.jobs.map((run, index) => retrievalJobView(run, page.reports[index]));
    const token = await pageTokens.issue(of, page.next);
    const { continuationToken: _, ...same } = query;
    const next = token === null ? null : { continuationToken: token };
    return { status: 200, body, headers: listHeaders(PATH, same, { next, cut: body.length < limit }) };
  };
}

export function getRetrievalEvaluationJob({
  retrievalJobs: { jobs, plugin },
  access,
}: RetrievalDependencies): Handlers['getRetrievalEvaluationJob'] {
  return async ({ params: { jobId } }, { caller, hold }) => {
    const run = await getJob(jobs, { plugin, space: access.spaceOf(caller, 'read') }, jobId);
    const [report] = await retrievalReports(jobs, [run], hold);
    return { status: 200, body: retrievalJobView(run, report) };
  };
}

/** A report has texts of records, so a caller who may only delete does not get it. */
export function cancelRetrievalEvaluationJob({
  retrievalJobs,
  access,
}: RetrievalDependencies): Handlers['cancelRetrievalEvaluationJob'] {
  const { jobs, plugin } = retrievalJobs;
  return async ({ params: { jobId } }, { caller, now, hold }) => {
    const place = { plugin, space: access.spaceOf(caller, 'delete') };
    const run = await cancelStagedJob(retrievalJobs, place, jobId, now);
    const [report] = mayRead(access, caller) ? await retrievalReports(jobs, [run], hold) : [];
    return { status: 200, body: retrievalJobView(run, report) };
  };
}
