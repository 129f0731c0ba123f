import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeWholeScenario } from './whole-scenario.ts';

describeWholeScenario(
  'firestore',
  (collections) => Promise.resolve(openFirestoreStore({ ...firestoreOptions(), collections })),
  firestoreMissing,
);
