import { describeRetrievalJobs } from './retrieval-jobs.ts';
import { stores } from './stores/cloud.ts';

for (const tested of stores) describeRetrievalJobs(tested);
