import { declaredCollections } from '../../functions/compose/collections.ts';
import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeGraphJobs } from './graph-jobs.ts';

describeGraphJobs(
  'firestore',
  async () => openFirestoreStore({ ...firestoreOptions(), collections: declaredCollections }),
  { skip: firestoreMissing && `, left out: ${firestoreMissing}` },
);
