import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { traceCollections } from '../../functions/traces/store-collections.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeTraces } from './traces.ts';

describeTraces(
  'firestore',
  () => Promise.resolve(openFirestoreStore({ ...firestoreOptions(), collections: traceCollections })),
  { steps: 20, ...(firestoreMissing === undefined ? {} : { skip: `, left out: ${firestoreMissing}` }) },
);
