import { LEDGER_COUNTERS } from '../groups/canonical/records.ts';
import { USAGE } from '../quotas/usage-store.ts';
import type { OwnedCollection } from '../store/ownership.ts';
import { SECRETS } from '../store/secret.ts';
import { catalogGroups, collectionsOf } from './catalog-groups.ts';

/** Every record collection that is listed: the Firestore indexes are generated from them. */
export const serviceCollections: readonly OwnedCollection[] = [
  ...(await collectionsOf(catalogGroups)),
  USAGE,
];

/** Those, and the collections whose records are read by their key alone: everything that the service may write. */
export const declaredCollections: readonly OwnedCollection[] = [
  ...serviceCollections,
  LEDGER_COUNTERS,
  SECRETS,
];
