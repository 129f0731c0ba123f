import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeDeaths } from './whole-rounds.ts';

describeDeaths(
  'firestore',
  () => {
    const options = firestoreOptions();
    return Promise.resolve(async (collections) => openFirestoreStore({ ...options, collections }));
  },
  firestoreMissing,
);
