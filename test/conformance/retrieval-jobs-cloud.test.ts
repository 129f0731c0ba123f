import { afterAll, beforeAll } from 'vitest';
import { declaredCollections } from '../../functions/compose/collections.ts';
import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { type CloudStage, cloudStage } from '../support/cloud-queue.ts';
import { dispatchBy } from '../support/execution.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeRetrievalJobs } from './retrieval-jobs.ts';

let stage: CloudStage;
beforeAll(async () => {
  stage = await cloudStage();
  dispatchBy(stage);
});
afterAll(() => stage.stop());

describeRetrievalJobs(
  'firestore and cloud tasks',
  async () => openFirestoreStore({ ...firestoreOptions(), collections: declaredCollections }),
  { skip: firestoreMissing && `, left out: ${firestoreMissing}`, delivers: true },
);
