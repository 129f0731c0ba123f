import type { Collection } from '../port.ts';
import { scopeKinds } from './layout.ts';
import { vectorFields } from './search-fields.ts';

interface FieldOverride {
  readonly collectionGroup: string;
  readonly fieldPath: string;
  readonly indexes: readonly {
    readonly order: 'ASCENDING' | 'DESCENDING';
    readonly queryScope: 'COLLECTION';
  }[];
}

interface CompositeIndex {
  readonly collectionGroup: string;
  readonly queryScope: 'COLLECTION';
  readonly fields: readonly IndexedField[];
}

type IndexedField = { readonly fieldPath: string } & (
  | { readonly order: 'ASCENDING' }
  | { readonly arrayConfig: 'CONTAINS' }
  | { readonly vectorConfig: { readonly dimension: number; readonly flat: object } }
);

type Orders = Readonly<Record<string, readonly ('ASCENDING' | 'DESCENDING')[]>>;

/** The fields that queries of this provider order or filter by; all others are exempt from indexing. */
const indexedFields: Orders = {
  order: ['ASCENDING', 'DESCENDING'],
  partOrder: ['ASCENDING', 'DESCENDING'],
  due: ['ASCENDING'],
};

/** The indexed fields of a collection with search entries. */
const searchedFields: Orders = { ...indexedFields, slots: ['DESCENDING'] };

/**
 * The content of `infra/firestore.indexes.json` for these collections: indexes of single fields, and for searches one of
 * terms and one for each vector field.
 */
export function firestoreIndexes(collections: readonly Collection[]): {
  readonly indexes: readonly CompositeIndex[];
  readonly fieldOverrides: readonly FieldOverride[];
} {
  const names = [...new Set(collections.map(({ name }) => name))].sort();
  const searched = new Set(collections.filter((each) => each.searched).map(({ name }) => name));
  // The heads of scopes are read by their path only.
  const heads = scopeKinds.map(unindexed);
  const records = names.flatMap((name) =>
    recordOverrides(name, searched.has(name) ? searchedFields : indexedFields),
  );
  return { indexes: [...searched].sort().flatMap(searchIndexes), fieldOverrides: [...heads, ...records] };
}

function recordOverrides(collectionGroup: string, fields: Orders): FieldOverride[] {
  const indexed = Object.entries(fields).map(([fieldPath, orders]) => ({
    collectionGroup,
    fieldPath,
    indexes: orders.map((order) => ({ order, queryScope: 'COLLECTION' as const })),
  }));
  return [unindexed(collectionGroup), ...indexed];
}

/** Each index starts with the group, because every search names one. */
function searchIndexes(collectionGroup: string): CompositeIndex[] {
  const group = { fieldPath: 'searchGroup', order: 'ASCENDING' } as const;
  // Firestore adds the name before a vector field itself; tools that compare index files expect it.
  const name = { fieldPath: '__name__', order: 'ASCENDING' } as const;
  const ofTerms = { fieldPath: 'terms', arrayConfig: 'CONTAINS' } as const;
  const ofVectors = vectorFields.map(({ name: fieldPath, dimensions }) => [
    group,
    name,
    { fieldPath, vectorConfig: { dimension: dimensions, flat: {} } },
  ]);
  const ofOrder = { fieldPath: 'searchOrder', order: 'ASCENDING' } as const;
  return [[group, ofTerms, ofOrder], ...ofVectors].map((fields) => ({
    collectionGroup,
    queryScope: 'COLLECTION',
    fields,
  }));
}

function unindexed(collectionGroup: string): FieldOverride {
  return { collectionGroup, fieldPath: '*', indexes: [] };
}
