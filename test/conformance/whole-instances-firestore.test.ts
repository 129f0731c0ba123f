import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeTwoInstances } from './whole-scenario.ts';

describeTwoInstances(
  'firestore',
  (collections) => {
    const options = { ...firestoreOptions(), collections };
    return Promise.resolve([openFirestoreStore(options), openFirestoreStore(options)] as const);
  },
  firestoreMissing,
);
