import type { GroupHandlers } from '../../http/handler.ts';
import { listHeaders } from '../../http/list-headers.ts';
import { mayRead } from '../../identity/record-access.ts';
import { getJob } from '../../jobs/read-jobs.ts';
import { cancelStagedJob } from '../records/library/staged-payload.ts';
import type { EmbeddingsDependencies } from './dependencies.ts';
import { admitEmbeddingJob } from './jobs/admit-embedding-job.ts';
import { embeddingJobPage } from './jobs/job-list.ts';
import { embeddingJobView } from './jobs/job-view.ts';
import { embeddingResults } from './jobs/kept-result.ts';

type Handlers = GroupHandlers<'embeddings'>;

const LIST_LIMIT_DEFAULT = 50;
const PATH = '/embeddings/jobs';

export function startEmbeddingJob({ embeddingJobs }: EmbeddingsDependencies): Handlers['startEmbeddingJob'] {
  return async ({ query, body, idempotencyKey }, { caller, correlationId }) => {
    const request = { caller, query, body, idempotencyKey, correlationId };
    const { run, replayed, headers } = await admitEmbeddingJob(embeddingJobs, request);
    return { status: 202, body: embeddingJobView(run, null, replayed), headers };
  };
}

export function listEmbeddingJobs({
  embeddingJobs,
  pageTokens,
}: EmbeddingsDependencies): Handlers['listEmbeddingJobs'] {
  return async ({ query }, { caller, hold }) => {
    const space = embeddingJobs.access.spaceOf(caller, 'read');
    const { limit = LIST_LIMIT_DEFAULT, includeResult = false, continuationToken } = query;
    const of = { list: 'embedding-jobs', space };
    const after = await pageTokens.read(of, continuationToken);
    const page = await embeddingJobPage(embeddingJobs, { space, limit, after, includeResult }, hold);
    const body = page.jobs.map((run, index) => embeddingJobView(run, page.results[index]));
    const token = await pageTokens.issue(of, page.next);
    const { continuationToken: _, ...same } = query;
    const next = token === null ? null : { continuationToken: token };
    return { status: 200, body, headers: listHeaders(PATH, same, { next, cut: body.length < limit }) };
  };
}

export function getEmbeddingJob({ embeddingJobs }: EmbeddingsDependencies): Handlers['getEmbeddingJob'] {
  const { jobs, plugin, access } = embeddingJobs;
  return async ({ params: { jobId } }, { caller, hold }) => {
    const run = await getJob(jobs, { plugin, space: access.spaceOf(caller, 'read') }, jobId);
    const [result] = await embeddingResults(jobs, [run], hold);
    return { status: 200, body: embeddingJobView(run, result) };
  };
}

export function cancelEmbeddingJob({
  embeddingJobs,
}: EmbeddingsDependencies): Handlers['cancelEmbeddingJob'] {
  const { plugin, access } = embeddingJobs;
  return async ({ params: { jobId } }, { caller, now, hold }) => {
    const place = { plugin, space: access.spaceOf(caller, 'delete') };
    const run = await cancelStagedJob(embeddingJobs, place, jobId, now);
    const [result] = mayRead(access, caller) ? await embeddingResults(embeddingJobs.jobs, [run], hold) : [];
    return { status: 200, body: embeddingJobView(run, result) };
  };
}
