import { describeExecution } from './execution.ts';
import { stores } from './stores/cloud.ts';

for (const tested of stores) describeExecution(tested, { rivals: 20 });
