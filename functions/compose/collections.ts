import { LEDGER_COUNTERS } from '../groups/canonical/records.ts';
import type { OwnedCollection } from '../store/ownership.ts';
import { SECRETS } from '../store/secret.ts';
import { catalogGroups, collectionsOf } from './catalog-groups.ts';

/** Every record collection of the catalog's groups: the Firestore indexes are generated from them. */
export const serviceCollections = await collectionsOf(catalogGroups);

/** Those, and the collections whose records are read by their key alone: everything that the service may write. */
export const declaredCollections: readonly OwnedCollection[] = [
  ...serviceCollections,
  LEDGER_COUNTERS,
  SECRETS,
];
