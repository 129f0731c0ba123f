import { executionCollections } from '../../functions/runs/records.ts';
import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeNotes } from './behaviour.ts';
import { notesCollections } from './group/records.ts';

const collections = [...executionCollections, ...notesCollections];

describeNotes('firestore', async () => openFirestoreStore({ ...firestoreOptions(), collections }), {
  skip: firestoreMissing && `, left out: ${firestoreMissing}`,
});
