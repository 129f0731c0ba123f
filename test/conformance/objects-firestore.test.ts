import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeObjects } from './objects.ts';
import { recordCollections } from './records-stage.ts';

describeObjects(
  'firestore',
  () => Promise.resolve(openFirestoreStore({ ...firestoreOptions(), collections: recordCollections })),
  {
    rivals: 5,
    ...(firestoreMissing === undefined ? {} : { skip: `, left out: ${firestoreMissing}` }),
  },
);
