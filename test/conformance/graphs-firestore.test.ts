import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeGraphs } from './graphs.ts';
import { recordCollections } from './records-stage.ts';

describeGraphs(
  'firestore',
  () => Promise.resolve(openFirestoreStore({ ...firestoreOptions(), collections: recordCollections })),
  2,
  firestoreMissing,
);
