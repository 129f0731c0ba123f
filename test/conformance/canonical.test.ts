import { describeCanonical } from './canonical.ts';
import { storesAndVariants } from './stores/lane.ts';

const rivals = { memory: 50, sqlite: 200, postgresql: 50, mysql: 50, firestore: 20 };

for (const tested of storesAndVariants) describeCanonical(tested, { rivals: rivals[tested.name] });
