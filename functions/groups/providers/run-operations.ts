import { limits } from '../../../contracts/generated/limits.ts';
import type { CallContext, GroupHandlers, OperationInput } from '../../http/handler.ts';
import { listHeaders } from '../../http/list-headers.ts';
import { mayRead } from '../../identity/record-access.ts';
import type { ProvidersDependencies } from './dependencies.ts';
import { admitProviderJob, type ProviderJobRequest } from './jobs/admit-provider-job.ts';
import { cancelProviderJob, providerJobPage, readProviderJob } from './jobs/job-operations.ts';
import { providerJobView } from './jobs/job-view.ts';

type Handlers = GroupHandlers<'providers'>;

const PATH = '/provider-jobs';

export function runProviderCapability(
  dependencies: ProvidersDependencies,
): Handlers['runProviderCapability'] {
  return (input, context) => admitted('runProviderCapability', dependencies, input, context);
}

export function startProviderRunJob(dependencies: ProvidersDependencies): Handlers['startProviderRunJob'] {
  return (input, context) => admitted('startProviderRunJob', dependencies, input, context);
}

/** Both routes admit the same job; its receipt names the one that was called. */
async function admitted(
  operationId: ProviderJobRequest['operationId'],
  { providerJobs }: ProvidersDependencies,
  { params: { provider }, query, body, idempotencyKey }: OperationInput<'startProviderRunJob'>,
  { caller, correlationId }: Pick<CallContext, 'caller' | 'correlationId'>,
) {
  const request = { operationId, caller, query, provider, body, idempotencyKey, correlationId };
  const { run, replayed, headers } = await admitProviderJob(providerJobs, request);
  return { status: 202 as const, body: providerJobView(run, null, replayed), headers };
}

export function listProviderRunJobs({
  providerJobs,
  pageTokens,
  access,
}: ProvidersDependencies): Handlers['listProviderRunJobs'] {
  return async ({ query }, { caller, hold }) => {
    const space = access.spaceOf(caller, 'read');
    const { limit = limits.providerJobListLimitDefault, includeResult = false, continuationToken } = query;
    const { provider = null } = query;
    const of = { list: 'provider-jobs', space, provider };
    const after = await pageTokens.read(of, continuationToken);
    const page = await providerJobPage(providerJobs, { space, provider, limit, after, includeResult }, hold);
    const token = await pageTokens.issue(of, page.next);
    const { continuationToken: _, ...same } = query;
    const next = token === null ? null : { continuationToken: token };
    const cut = page.jobs.length < limit;
    return { status: 200, body: page.jobs, headers: listHeaders(PATH, same, { next, cut }) };
  };
}

export function getProviderRunJob({
  providerJobs,
  access,
}: ProvidersDependencies): Handlers['getProviderRunJob'] {
  return async ({ params: { jobId } }, { caller, hold }) => {
    const space = access.spaceOf(caller, 'read');
    return { status: 200, body: await readProviderJob(providerJobs, space, jobId, hold) };
  };
}

export function cancelProviderRunJob({
  providerJobs,
  access,
}: ProvidersDependencies): Handlers['cancelProviderRunJob'] {
  return async ({ params: { jobId } }, { caller, now, hold }) => {
    const space = access.spaceOf(caller, 'run');
    const withResult = mayRead(access, caller);
    const body = await cancelProviderJob(providerJobs, space, jobId, { now, hold, withResult });
    return { status: 200, body };
  };
}
