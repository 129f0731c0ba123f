import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeProviderJobs, jobCollections } from './provider-jobs.ts';

describeProviderJobs(
  'firestore',
  async () => openFirestoreStore({ ...firestoreOptions(), collections: jobCollections }),
  { skip: firestoreMissing && `, left out: ${firestoreMissing}` },
);
