import { firestoreHost, firestoreMissing, firestoreProject } from '../support/firestore.ts';
import { describeHistories } from './histories.ts';

describeHistories(
  'firestore',
  async () => ({
    database: {
      provider: 'firestore',
      options: { projectId: firestoreProject(), emulatorHost: firestoreHost() },
    },
    // The emulator goes with the run.
    drop: () => Promise.resolve(),
  }),
  // The emulator is slow under contention, and keeps the locks of a process that was killed for long.
  { clients: 4, operations: 200, skip: firestoreMissing },
);
