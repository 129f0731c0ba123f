import { describeExecution } from './execution.ts';
import { stores } from './stores/lane.ts';

const rivals = { memory: 0, sqlite: 200, postgresql: 50, mysql: 50, firestore: 20 };

for (const tested of stores)
  if (tested.name !== 'memory') describeExecution(tested, { rivals: rivals[tested.name] });
