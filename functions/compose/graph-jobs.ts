import type { GraphJobDependencies } from '../groups/graph/jobs/admit-graph-job.ts';
import { graphJobs } from '../groups/graph/jobs/graph-jobs.ts';
import type { GraphJobsParts } from '../groups/graph/jobs/job-parts.ts';
import type { GroupParts } from './group.ts';
import type { LayerParts } from './layer.ts';
import { recordJobsPartsOf } from './record-jobs.ts';

/** What the jobs that import and examine graphs work with, in every process of a deployment. */
export function graphJobsPartsOf(parts: LayerParts): GraphJobsParts {
  const { records, payloads, access, resultBytesMax } = recordJobsPartsOf(parts);
  return { records, payloads, access, resultBytesMax };
}

/** What the operations admit and show these jobs with. */
export async function graphJobDependenciesOf(parts: GroupParts): Promise<GraphJobDependencies> {
  const own = graphJobsPartsOf(parts);
  const { jobs } = await parts.execution.get();
  const { records, payloads, access } = own;
  return { records, jobs, plugin: graphJobs(own), payloads, access };
}
