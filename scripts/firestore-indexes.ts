import { resolve } from 'node:path';
import { drift, write } from '../contracts/generate/disk.ts';
import { serviceCollections } from '../functions/compose/collections.ts';
import { firestoreIndexes } from '../functions/store/firestore/indexes.ts';

/**
 * `node scripts/firestore-indexes.ts` writes the Firestore indexes for all collections of the service; with `--check`
 * it only compares and fails on a difference.
 */
const root = resolve(import.meta.dirname, '..');
const text = `${JSON.stringify(firestoreIndexes(serviceCollections), null, 2)}\n`;
const outputs = new Map([['infra/firestore.indexes.json', text]]);

if (process.argv.includes('--check')) {
  const paths = drift(root, outputs, []);
  for (const path of paths) console.error(`${path} differs from the output of npm run generate`);
  process.exitCode = paths.length === 0 ? 0 : 1;
} else {
  for (const path of write(root, outputs, [])) console.log(path);
}
