import type { EmbeddingJobDependencies } from '../groups/embeddings/jobs/admit-embedding-job.ts';
import { embeddingJobs } from '../groups/embeddings/jobs/embedding-jobs.ts';
import type { EmbeddingJobsParts } from '../groups/embeddings/jobs/job-parts.ts';
import { embeddingPartsOf } from './embedding-parts.ts';
import type { GroupParts } from './group.ts';
import type { LayerParts } from './layer.ts';
import { recordJobsPartsOf } from './record-jobs.ts';

/** What the jobs that embed texts work with, in every process of a deployment. */
export function embeddingJobsPartsOf(parts: LayerParts): EmbeddingJobsParts {
  const { payloads, access, resultBytesMax } = recordJobsPartsOf(parts);
  const { clock } = parts.world;
  return { embeddings: embeddingPartsOf(parts), clock, payloads, access, resultBytesMax };
}

/** What the operations admit and show these jobs with. */
export async function embeddingJobDependenciesOf(parts: GroupParts): Promise<EmbeddingJobDependencies> {
  const own = embeddingJobsPartsOf(parts);
  const { jobs } = await parts.execution.get();
  const { payloads, access, embeddings } = own;
  return { jobs, plugin: embeddingJobs(own), payloads, access, embedder: embeddings.embedder };
}
