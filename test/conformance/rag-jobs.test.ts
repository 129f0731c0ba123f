import { describeRagJobs } from './rag-jobs.ts';
import { stores } from './stores/lane.ts';

for (const tested of stores) describeRagJobs(tested);
