import { stores } from './stores/lane.ts';
import { describeWholeScenario } from './whole-scenario.ts';

for (const tested of stores) describeWholeScenario(tested);
