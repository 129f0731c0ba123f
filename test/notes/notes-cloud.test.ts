import { afterAll, beforeAll } from 'vitest';
import { executionCollections } from '../../functions/runs/records.ts';
import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { type CloudStage, cloudStage } from '../support/cloud-queue.ts';
import { dispatchBy } from '../support/execution.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeNotes } from './behaviour.ts';
import { notesCollections } from './group/records.ts';

let stage: CloudStage;
beforeAll(async () => {
  stage = await cloudStage();
  dispatchBy(stage);
});
afterAll(() => stage.stop());

const collections = [...executionCollections, ...notesCollections];

describeNotes(
  'firestore and cloud tasks',
  async () => openFirestoreStore({ ...firestoreOptions(), collections }),
  {
    delivers: true,
    skip: firestoreMissing && `, left out: ${firestoreMissing}`,
  },
);
