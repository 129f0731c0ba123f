import type { CollectionPolicy } from '../../collections/rules/policy.ts';

const indexed = [
  '/type',
  ...[
    'graphKind',
    'graphId',
    'namespace',
    'scopeCollection',
    'tenantId',
    'graphPartitionKey',
    'subjectId',
    'subjectKind',
    'nodeId',
    'nodeType',
    'edgeId',
    'sourceId',
    'targetId',
    'predicate',
    'assertionId',
    'assertionStatus',
    'reviewId',
    'reviewStatus',
    'projectionId',
  ].map((name) => `/metadata/${name}`),
];

/** The policy of a collection that an import creates: no vectors, and an index for each query of a traversal. */
export function graphPolicy(name: string): CollectionPolicy {
  return { name, partitionKeyPath: '/partitionKey', vectorPolicies: [], indexedMetadata: indexed };
}

/** The indexes of that policy that another policy lacks. Every collection has an index of `/type`. */
export function missingIndexes({
  indexedMetadata,
}: Pick<CollectionPolicy, 'indexedMetadata'>): readonly string[] {
  const known = new Set(['/type', ...indexedMetadata]);
  return indexed.filter((path) => !known.has(path));
}

export interface ImportOptions {
  readonly createCollectionIfMissing: boolean;
  readonly replaceExisting: boolean;
  readonly allowNonGraphPolicy: boolean;
}

export type PolicyStatus =
  | 'created'
  | 'replaced'
  | 'existing_graph_policy'
  | 'existing_non_graph_policy_allowed';
export type PolicyFault = 'collection_missing' | 'non_graph_policy';
export type PolicyDecision = { readonly status: PolicyStatus } | { readonly fault: PolicyFault };

/** The action of an import on its collection; `null`: the collection does not exist. */
export function decidePolicy(existing: CollectionPolicy | null, options: ImportOptions): PolicyDecision {
  if (existing === null)
    return options.createCollectionIfMissing ? { status: 'created' } : { fault: 'collection_missing' };
  if (options.replaceExisting) return { status: 'replaced' };
  if (missingIndexes(existing).length === 0) return { status: 'existing_graph_policy' };
  return options.allowNonGraphPolicy
    ? { status: 'existing_non_graph_policy_allowed' }
    : { fault: 'non_graph_policy' };
}
