import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeRetrieval } from './retrieval.ts';
import { retrievalCollections } from './retrieval-stage.ts';

describeRetrieval(
  'firestore',
  () => Promise.resolve(openFirestoreStore({ ...firestoreOptions(), collections: retrievalCollections })),
  firestoreMissing === undefined ? undefined : `, left out: ${firestoreMissing}`,
);
