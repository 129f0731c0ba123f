import { describeObjects } from './objects.ts';
import { stores } from './stores/lane.ts';

const rivals = { memory: 20, sqlite: 20, postgresql: 10, mysql: 10, firestore: 5 };

for (const tested of stores) describeObjects(tested, { rivals: rivals[tested.name] });
