import { afterAll, beforeAll } from 'vitest';
import { executionCollections } from '../../functions/runs/records.ts';
import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { type CloudStage, cloudStage } from '../support/cloud-queue.ts';
import { dispatchBy } from '../support/execution.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeExecution } from './execution.ts';

let stage: CloudStage;
beforeAll(async () => {
  stage = await cloudStage();
  dispatchBy(stage);
});
afterAll(() => stage.stop());

describeExecution(
  'firestore and cloud tasks',
  async () => openFirestoreStore({ ...firestoreOptions(), collections: executionCollections }),
  {
    rivals: 20,
    delivers: true,
    ...(firestoreMissing === undefined ? {} : { skip: `, left out: ${firestoreMissing}` }),
  },
);
