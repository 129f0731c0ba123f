import { describeGraphs } from './graphs.ts';
import { stores } from './stores/lane.ts';

const runs = { memory: 1_000, sqlite: 200, postgresql: 20, mysql: 20, firestore: 2 };

for (const tested of stores) describeGraphs(tested, runs[tested.name]);
