import { stores } from './stores/lane.ts';
import { describeTwoInstances } from './whole-scenario.ts';

// No two processes share a memory.
for (const tested of stores) if (tested.name !== 'memory') describeTwoInstances(tested);
