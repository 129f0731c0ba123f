import { share } from '../support/effort.ts';
import { describeGraphs } from './graphs.ts';
import { stores } from './stores/lane.ts';

const runs = { memory: share(500, 1_000), sqlite: share(50, 200), postgresql: 20, mysql: 20, firestore: 2 };

for (const tested of stores) describeGraphs(tested, runs[tested.name]);
