import type { RetrievalJobDependencies } from '../groups/retrieval/jobs/admit-retrieval-job.ts';
import type { RetrievalJobsParts } from '../groups/retrieval/jobs/job-parts.ts';
import { retrievalJobs } from '../groups/retrieval/jobs/retrieval-jobs.ts';
import type { GroupParts } from './group.ts';
import { rerankAccessOf } from './identity.ts';
import type { LayerParts } from './layer.ts';
import { recordJobsPartsOf } from './record-jobs.ts';
import { retrievalPartsOf } from './retrieval-parts.ts';

/** What the jobs that evaluate retrievals work with, in every process of a deployment. */
export function retrievalJobsPartsOf(parts: LayerParts): RetrievalJobsParts {
  const { payloads, access, resultBytesMax } = recordJobsPartsOf(parts);
  const rerankAccess = rerankAccessOf(parts.settings);
  return { retrieval: retrievalPartsOf(parts), payloads, access, rerankAccess, resultBytesMax };
}

/** What the operations admit and show these jobs with. */
export async function retrievalJobDependenciesOf(parts: GroupParts): Promise<RetrievalJobDependencies> {
  const own = retrievalJobsPartsOf(parts);
  const { jobs } = await parts.execution.get();
  const { retrieval, payloads, access, rerankAccess } = own;
  return { retrieval, jobs, plugin: retrievalJobs(own), payloads, access, rerankAccess };
}
