import { afterAll, beforeAll } from 'vitest';
import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { type CloudStage, cloudStage } from '../support/cloud-queue.ts';
import { dispatchBy } from '../support/execution.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeProviderJobs, jobCollections } from './provider-jobs.ts';

let stage: CloudStage;
beforeAll(async () => {
  stage = await cloudStage();
  dispatchBy(stage);
});
afterAll(() => stage.stop());

describeProviderJobs(
  'firestore and cloud tasks',
  async () => openFirestoreStore({ ...firestoreOptions(), collections: jobCollections }),
  { skip: firestoreMissing && `, left out: ${firestoreMissing}`, delivers: true },
);
