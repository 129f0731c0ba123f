import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeRecords } from './records.ts';
import { recordCollections } from './records-stage.ts';

describeRecords(
  'firestore',
  () => Promise.resolve(openFirestoreStore({ ...firestoreOptions(), collections: recordCollections })),
  {
    rivals: 5,
    runs: 2,
    ...(firestoreMissing === undefined ? {} : { skip: `, left out: ${firestoreMissing}` }),
  },
);
