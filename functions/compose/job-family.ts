import type { JobFamily } from '../jobs/job-family.ts';
import type { JobPlugin } from '../jobs/job-plugin.ts';
import type { GroupParts } from './group.ts';
import { pageTokensOf } from './page-tokens.ts';

/** A family of jobs as the operations of its group admit and show them. */
export async function jobFamilyOf<Layers>(
  parts: GroupParts,
  layers: Layers,
  pluginOf: (layers: Layers) => JobPlugin,
): Promise<JobFamily<Layers>> {
  const { jobs } = await parts.execution.get();
  return { ...layers, jobs, plugin: pluginOf(layers), pageTokens: pageTokensOf(parts) };
}
