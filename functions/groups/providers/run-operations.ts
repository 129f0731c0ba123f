import type { CallContext, GroupHandlers, OperationInput } from '../../http/handler.ts';
import { accepted } from '../../jobs/admit-job.ts';
import type { ProvidersDependencies } from './dependencies.ts';
import { admitProviderJob, type ProviderJobRequest } from './jobs/admit-provider-job.ts';
import { providerJobView } from './jobs/job-view.ts';

type Handlers = GroupHandlers<'providers'>;

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
  family: ProvidersDependencies,
  { params: { provider }, query, body, idempotencyKey }: OperationInput<'startProviderRunJob'>,
  { caller, correlationId }: Pick<CallContext, 'caller' | 'correlationId'>,
) {
  const request = { operationId, caller, query, provider, body, idempotencyKey, correlationId };
  return accepted(await admitProviderJob(family, request), providerJobView);
}
