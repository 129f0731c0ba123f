import { describeRecordJobs } from './records-jobs.ts';
import { stores } from './stores/cloud.ts';

for (const tested of stores) describeRecordJobs(tested);
