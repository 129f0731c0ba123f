import { declaredCollections } from '../../functions/compose/collections.ts';
import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeRagJobs } from './rag-jobs.ts';

describeRagJobs(
  'firestore',
  async () => openFirestoreStore({ ...firestoreOptions(), collections: declaredCollections }),
  firestoreMissing && `, left out: ${firestoreMissing}`,
);
