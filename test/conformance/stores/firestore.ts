import { openFirestoreStore } from '../../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions } from '../../support/firestore.ts';
import type { TestedStore } from './tested-store.ts';

export const tested: TestedStore = {
  name: 'firestore',
  title: 'firestore',
  missing: firestoreMissing,
  create(collections) {
    const options = { ...firestoreOptions(), collections };
    return Promise.resolve(() => Promise.resolve(openFirestoreStore(options)));
  },
};
