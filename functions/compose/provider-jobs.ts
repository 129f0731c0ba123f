import type { ProviderJobDependencies } from '../groups/providers/jobs/admit-provider-job.ts';
import type { ProviderJobsParts } from '../groups/providers/jobs/job-parts.ts';
import { providerJobs } from '../groups/providers/jobs/provider-jobs.ts';
import type { GroupParts } from './group.ts';
import { providerAccessOf } from './identity.ts';
import type { LayerParts } from './layer.ts';
import { capabilityPartsOf, type ProviderRegistry, providerRegistryOf } from './provider-parts.ts';

/** What the jobs that run capabilities work with, in every process of a deployment. */
export function providerJobsPartsOf(
  parts: LayerParts,
): ProviderJobsParts & { readonly registry: ProviderRegistry } {
  const registry = providerRegistryOf(parts);
  const access = providerAccessOf(parts.settings);
  return { capabilities: capabilityPartsOf(parts), provider: registry.find, access, registry };
}

/** What the operations admit and show these jobs with. */
export async function providerJobDependenciesOf(
  parts: GroupParts,
  own: ProviderJobsParts,
): Promise<ProviderJobDependencies> {
  const { jobs } = await parts.execution.get();
  const { access, provider } = own;
  return { jobs, plugin: providerJobs(own), access, provider };
}
