import { describeRag } from './rag.ts';
import { stores } from './stores/lane.ts';

for (const tested of stores) describeRag(tested);
