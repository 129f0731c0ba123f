import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions, firestoreProject } from '../support/firestore.ts';
import { describeRecordStore } from './store.ts';
import { documents, events } from './store-fixtures.ts';

const projectId = firestoreProject();

describeRecordStore(
  'firestore',
  () => {
    const collections = [documents, events, { name: 'runs', pairedIndexes: false }];
    const store = openFirestoreStore({ ...firestoreOptions(projectId), collections });
    return Promise.resolve({ store, close: () => store.close() });
  },
  { scale: 'small', ...(firestoreMissing === undefined ? {} : { skip: { reason: firestoreMissing } }) },
);
