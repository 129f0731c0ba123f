import { describeRecordJobs } from './records-jobs.ts';
import { stores } from './stores/lane.ts';

for (const tested of stores) describeRecordJobs(tested);
