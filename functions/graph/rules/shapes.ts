/** The layout of a graph in a graph database; the service does not read from one. */
export interface ProviderShape {
  readonly id: string;
  readonly providerId: string;
  readonly kind: string;
  readonly graphIdField: string;
  readonly nodeIdField: string;
  readonly edgeIdField: string;
  readonly sourceField: string;
  readonly targetField: string;
  readonly partitionField: string;
  readonly tenantField: string;
  readonly capabilities: readonly string[];
  readonly limitations: readonly string[];
  readonly metadata: null;
}

function shape(
  providerId: string,
  capabilities: readonly string[],
  limitations: readonly string[],
): ProviderShape {
  return {
    id: providerId,
    providerId,
    kind: providerId.replaceAll('-', '_'),
    graphIdField: 'graphId',
    nodeIdField: 'id',
    edgeIdField: 'id',
    sourceField: 'sourceId',
    targetField: 'targetId',
    partitionField: 'partitionKey',
    tenantField: 'tenantId',
    capabilities,
    limitations,
    metadata: null,
  };
}

/** In the order of their list. */
export const providerShapes: readonly ProviderShape[] = [
  shape(
    'local-sqlite',
    ['append_only_reviews', 'bounded_traversal', 'local_import_export'],
    ['single_process_sqlite_writer', 'no_native_distributed_partitioning'],
  ),
  shape(
    'svc-collection',
    ['collection_scoped_objects', 'hybrid_retrieval_join', 'provider_trace_join'],
    ['graph_traversal_may_be_adapter_level'],
  ),
  shape(
    'cosmos-gremlin',
    ['partitioned_graph', 'remote_traversal'],
    ['provider_specific_query_language', 'requires_partition_strategy'],
  ),
  shape(
    'neptune',
    ['managed_graph', 'remote_traversal'],
    ['provider_specific_operations', 'external_service_dependency'],
  ),
  shape(
    'spanner-graph',
    ['relational_graph_mapping', 'distributed_sql_substrate'],
    ['requires_schema_mapping', 'external_service_dependency'],
  ),
];

/** The shape with exactly that id; `null` if it does not exist. */
export function findShape(providerId: string): ProviderShape | null {
  return providerShapes.find((each) => each.providerId === providerId) ?? null;
}
