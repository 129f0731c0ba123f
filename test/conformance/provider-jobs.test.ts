import { describeProviderJobs } from './provider-jobs.ts';
import { stores } from './stores/lane.ts';

for (const tested of stores) describeProviderJobs(tested);
