import { executionCollections } from '../../functions/runs/records.ts';
import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeExecution } from './execution.ts';

describeExecution(
  'firestore',
  async () => openFirestoreStore({ ...firestoreOptions(), collections: executionCollections }),
  { rivals: 20, ...(firestoreMissing === undefined ? {} : { skip: `, left out: ${firestoreMissing}` }) },
);
