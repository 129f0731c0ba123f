import { describeEmbeddingJobs } from './embedding-jobs.ts';
import { stores } from './stores/lane.ts';

for (const tested of stores) describeEmbeddingJobs(tested);
