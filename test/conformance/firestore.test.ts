import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions, firestoreProject } from '../support/firestore.ts';
import { describeRecordStore, type OpenedStore } from './store.ts';
import { declared } from './store-fixtures.ts';

const projectId = firestoreProject();

function open(): Promise<OpenedStore> {
  const store = openFirestoreStore({ ...firestoreOptions(projectId), collections: declared });
  return Promise.resolve({ store, another: open, close: () => store.close() });
}

describeRecordStore('firestore', open, {
  scale: 'small',
  // Measured: beside a writer that never pauses, one read in thirteen. Firestore itself answers as of one moment.
  tornReads: 'the emulator shows half of a commit to a read outside a transaction',
  ...(firestoreMissing === undefined ? {} : { skip: { reason: firestoreMissing } }),
});
