import { stores } from './stores/lane.ts';
import { describeTraces } from './traces.ts';

const steps = { memory: 200, sqlite: 60, postgresql: 40, mysql: 40, firestore: 20 };

for (const tested of stores) describeTraces(tested, steps[tested.name]);
