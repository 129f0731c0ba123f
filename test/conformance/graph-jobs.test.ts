import { describeGraphJobs } from './graph-jobs.ts';
import { stores } from './stores/lane.ts';

for (const tested of stores) describeGraphJobs(tested);
