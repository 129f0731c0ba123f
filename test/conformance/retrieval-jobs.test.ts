import { describeRetrievalJobs } from './retrieval-jobs.ts';
import { stores } from './stores/lane.ts';

for (const tested of stores) describeRetrievalJobs(tested);
