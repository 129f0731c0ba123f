import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeProviderRuns, providerCollections } from './provider-runs.ts';

const collections = providerCollections;
const options = firestoreMissing === undefined ? firestoreOptions() : null;

describeProviderRuns(
  'firestore',
  () => Promise.resolve(openFirestoreStore({ ...(options ?? firestoreOptions()), collections })),
  { rivals: 5, ...(firestoreMissing === undefined ? {} : { skip: `, left out: ${firestoreMissing}` }) },
);
