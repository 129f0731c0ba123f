import { inject } from 'vitest';
import { present, type StoreName, type TestedStore } from './tested-store.ts';

/** On demand, so that the plain lane loads no driver of a database. */
const load: Readonly<Record<StoreName, () => Promise<{ readonly tested: TestedStore }>>> = {
  memory: () => import('./memory.ts'),
  sqlite: () => import('./sqlite.ts'),
  postgresql: () => import('./postgresql.ts'),
  mysql: () => import('./mysql.ts'),
  firestore: () => import('./firestore.ts'),
};

const ofLane: TestedStore[] = [];
for (const name of inject('stores')) ofLane.push((await load[name]()).tested);

/** The stores that the lane of this run tests. */
export const stores = present(ofLane);
/** Those, and each of them with other options. */
export const storesAndVariants = stores.flatMap((each) => [each, ...(each.variants ?? [])]);
