import { catalogGroups, collectionsOf } from './catalog-groups.ts';

/** Every record collection of the catalog's groups: the Firestore indexes are generated from them. */
export const serviceCollections = await collectionsOf(catalogGroups);
