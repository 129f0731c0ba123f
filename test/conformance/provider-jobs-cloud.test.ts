import { describeProviderJobs } from './provider-jobs.ts';
import { stores } from './stores/cloud.ts';

for (const tested of stores) describeProviderJobs(tested);
