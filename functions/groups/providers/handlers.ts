import type { GroupHandlers } from '../../http/handler.ts';
import { cancelling, listing, showing } from '../../jobs/job-operations.ts';
import type { ProvidersDependencies } from './dependencies.ts';
import { runProviderCapability, startProviderRunJob } from './jobs/admit-provider-job.ts';
import { providerJobViews } from './jobs/job-view.ts';
import {
  getProvider,
  getProviderCapabilityMatrix,
  listProviderModels,
  listProviders,
} from './provider-operations.ts';
import { qualifyProvider } from './qualify-provider.ts';
import { getProviderQuota, listProviderQuotas } from './quota-operations.ts';
import {
  getProviderDoctor,
  getProviderReadiness,
  listProviderDoctor,
  listProviderQualifications,
  listProviderReadiness,
} from './state-operations.ts';

/** The operations of the group providers over one registry. */
export function providersHandlers(dependencies: ProvidersDependencies): GroupHandlers<'providers'> {
  const views = providerJobViews(dependencies);
  return {
    listProviders: listProviders(dependencies),
    getProviderCapabilityMatrix: getProviderCapabilityMatrix(dependencies),
    listProviderReadiness: listProviderReadiness(dependencies),
    listProviderDoctor: listProviderDoctor(dependencies),
    listProviderQuotas: listProviderQuotas(dependencies),
    getProvider: getProvider(dependencies),
    getProviderDoctor: getProviderDoctor(dependencies),
    getProviderReadiness: getProviderReadiness(dependencies),
    getProviderQuota: getProviderQuota(dependencies),
    listProviderQualifications: listProviderQualifications(dependencies),
    listProviderModels: listProviderModels(dependencies),
    qualifyProvider: qualifyProvider(dependencies),
    runProviderCapability: runProviderCapability(dependencies),
    startProviderRunJob: startProviderRunJob(dependencies),
    listProviderRunJobs: listing(dependencies, views),
    getProviderRunJob: showing(dependencies, views),
    cancelProviderRunJob: cancelling(dependencies, views),
  };
}
