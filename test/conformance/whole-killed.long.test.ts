import { stores } from './stores/lane.ts';
import { describeDeaths } from './whole-rounds.ts';

for (const tested of stores) describeDeaths(tested);
