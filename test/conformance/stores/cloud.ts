import { afterAll, beforeAll } from 'vitest';
import { type CloudStage, cloudStage } from '../../support/cloud-queue.ts';
import { dispatchBy } from '../../support/execution.ts';
import { tested as firestore } from './firestore.ts';
import { present } from './tested-store.ts';

let stage: CloudStage;
beforeAll(async () => {
  stage = await cloudStage();
  dispatchBy(stage);
});
afterAll(() => stage.stop());

/** Firestore, with Cloud Tasks that deliver the runs; none where the run has no Firestore. */
export const stores = present([{ ...firestore, title: 'firestore and cloud tasks', delivers: true }]);
