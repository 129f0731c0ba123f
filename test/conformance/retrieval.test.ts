import { describeRetrieval } from './retrieval.ts';
import { stores } from './stores/lane.ts';

for (const tested of stores) describeRetrieval(tested);
