import type { Collection } from '../port.ts';

interface FieldOverride {
  readonly collectionGroup: string;
  readonly fieldPath: string;
  readonly indexes: readonly {
    readonly order: 'ASCENDING' | 'DESCENDING';
    readonly queryScope: 'COLLECTION';
  }[];
}

/** The fields that queries of this provider order or filter by; all others are exempt from indexing. */
const indexedFields = {
  order: ['ASCENDING', 'DESCENDING'],
  partOrder: ['ASCENDING', 'DESCENDING'],
  due: ['ASCENDING'],
} as const;

/** The content of `infra/firestore.indexes.json` for these collections: single-field indexes alone. */
export function firestoreIndexes(collections: readonly Collection[]): {
  readonly indexes: readonly [];
  readonly fieldOverrides: readonly FieldOverride[];
} {
  const names = [...new Set(collections.map(({ name }) => name))].sort();
  // The heads of scopes are read by their path only.
  const heads = ['tenants', 'system'].map(unindexed);
  return { indexes: [], fieldOverrides: [...heads, ...names.flatMap(recordOverrides)] };
}

function recordOverrides(collectionGroup: string): FieldOverride[] {
  const indexed = Object.entries(indexedFields).map(([fieldPath, orders]) => ({
    collectionGroup,
    fieldPath,
    indexes: orders.map((order) => ({ order, queryScope: 'COLLECTION' as const })),
  }));
  return [unindexed(collectionGroup), ...indexed];
}

function unindexed(collectionGroup: string): FieldOverride {
  return { collectionGroup, fieldPath: '*', indexes: [] };
}
