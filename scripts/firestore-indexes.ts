import type { Generated } from '../contracts/generate/disk.ts';
import { serviceCollections } from '../functions/compose/collections.ts';
import { firestoreIndexes } from '../functions/store/firestore/indexes.ts';

/** The Firestore indexes for all collections of the service. */
export function generated(): Generated {
  const text = `${JSON.stringify(firestoreIndexes(serviceCollections), null, 2)}\n`;
  return { files: new Map([['infra/firestore.indexes.json', text]]) };
}
