import { describeEmbeddingJobs } from './embedding-jobs.ts';
import { stores } from './stores/cloud.ts';

for (const tested of stores) describeEmbeddingJobs(tested);
