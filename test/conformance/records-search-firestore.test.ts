import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeRecordSearches } from './records-search.ts';
import { recordCollections } from './records-stage.ts';

describeRecordSearches(
  'firestore',
  () => Promise.resolve(openFirestoreStore({ ...firestoreOptions(), collections: recordCollections })),
  {
    rivals: 1,
    runs: 2,
    ...(firestoreMissing === undefined ? {} : { skip: `, left out: ${firestoreMissing}` }),
  },
);
