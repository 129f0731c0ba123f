import { PROVIDER_GUARDS } from '../../functions/providers/guard-record.ts';
import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeProviderGuards } from './provider-guards.ts';

const collections = [PROVIDER_GUARDS];
const options = firestoreMissing === undefined ? firestoreOptions() : null;

describeProviderGuards(
  'firestore',
  () => Promise.resolve(openFirestoreStore({ ...(options ?? firestoreOptions()), collections })),
  { rivals: 5, ...(firestoreMissing === undefined ? {} : { skip: `, left out: ${firestoreMissing}` }) },
);
