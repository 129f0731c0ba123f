import { collections } from '../../functions/groups/canonical/records.ts';
import { openFirestoreStore } from '../../functions/store/firestore/store.ts';
import { firestoreMissing, firestoreOptions } from '../support/firestore.ts';
import { describeCanonical } from './canonical.ts';

describeCanonical('firestore', async () => openFirestoreStore({ ...firestoreOptions(), collections }), {
  rivals: 20,
  ...(firestoreMissing === undefined ? {} : { skip: `, left out: ${firestoreMissing}` }),
});
