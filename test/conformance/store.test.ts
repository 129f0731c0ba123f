import { describeRecordStore } from './store.ts';
import { storesAndVariants } from './stores/lane.ts';

const firestore = {
  scale: 'small',
  // Measured: beside a writer that never pauses, one read in thirteen. Firestore itself answers as of one moment.
  tornReads: 'the emulator shows half of a commit to a read outside a transaction',
} as const;

for (const tested of storesAndVariants)
  describeRecordStore(tested, tested.name === 'firestore' ? firestore : {});
