import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeRag } from './rag.ts';
import { recordCollections } from './records-stage.ts';

describeRag(
  'firestore',
  () => Promise.resolve(openFirestoreStore({ ...firestoreOptions(), collections: recordCollections })),
  firestoreMissing,
);
