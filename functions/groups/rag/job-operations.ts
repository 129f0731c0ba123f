import type { GroupHandlers } from '../../http/handler.ts';
import { listHeaders } from '../../http/list-headers.ts';
import { mayRead } from '../../identity/record-access.ts';
import { withoutDetails } from '../../jobs/job-view.ts';
import { getJob, listJobs } from '../../jobs/read-jobs.ts';
import { cancelStagedJob } from '../records/library/staged-payload.ts';
import type { RagDependencies } from './dependencies.ts';
import { ragJobView } from './jobs/job-view.ts';
import { pageWithResults, ragResults } from './jobs/kept-result.ts';

type Handlers = GroupHandlers<'rag'>;

const LIST_LIMIT_DEFAULT = 50;
const PATH = '/rag/ingestion/jobs';

export function listRagIngestionJobs({
  ragJobs: { jobs, plugin, access },
  pageTokens,
}: RagDependencies): Handlers['listRagIngestionJobs'] {
  return async ({ query }, { caller, hold }) => {
    const space = access.spaceOf(caller, 'read');
    const { limit = LIST_LIMIT_DEFAULT, includeResult = false, continuationToken } = query;
    const of = { list: 'rag-ingestion-jobs', space };
    const after = await pageTokens.read(of, continuationToken);
    const request = { plugin, space, subject: null, limit, after, includeResult };
    const page = includeResult
      ? await pageWithResults(jobs, request, hold)
      : { ...(await listJobs(jobs, request)), results: [] };
    const body = page.jobs.map((run, index) => ragJobView(run, page.results[index] ?? null));
    const token = await pageTokens.issue(of, page.next);
    const { continuationToken: _, ...same } = query;
    const next = token === null ? null : { continuationToken: token };
    return { status: 200, body, headers: listHeaders(PATH, same, { next, cut: body.length < limit }) };
  };
}

export function getRagIngestionJob({
  ragJobs: { jobs, plugin, access },
}: RagDependencies): Handlers['getRagIngestionJob'] {
  return async ({ params: { jobId } }, { caller, hold }) => {
    const run = await getJob(jobs, { plugin, space: access.spaceOf(caller, 'read') }, jobId);
    const [result = null] = await ragResults(jobs, [run], hold);
    return { status: 200, body: ragJobView(run, result) };
  };
}

export function cancelRagIngestionJob({ ragJobs }: RagDependencies): Handlers['cancelRagIngestionJob'] {
  return async ({ params: { jobId } }, { caller, now, hold }) => {
    const place = { plugin: ragJobs.plugin, space: ragJobs.access.spaceOf(caller, 'delete') };
    const run = await cancelStagedJob(ragJobs, place, jobId, now);
    if (!mayRead(ragJobs.access, caller)) return { status: 200, body: ragJobView(withoutDetails(run)) };
    const [result = null] = await ragResults(ragJobs.jobs, [run], hold);
    return { status: 200, body: ragJobView(run, result) };
  };
}
