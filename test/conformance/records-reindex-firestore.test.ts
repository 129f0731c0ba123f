import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeReindex } from './records-reindex-cases.ts';
import { recordCollections } from './records-stage.ts';

const skip = firestoreMissing === undefined ? {} : { skip: `, left out: ${firestoreMissing}` };

describeReindex(
  'firestore',
  () => Promise.resolve(openFirestoreStore({ ...firestoreOptions(), collections: recordCollections })),
  { many: 110, few: 20, kills: 4, ...skip },
);
