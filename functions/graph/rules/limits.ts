/** Records that an import writes, an export gives and a traversal reads at most. */
export const GRAPH_RECORDS_MAX = 10_000;
export const GRAPH_SCHEMA = 'roman.graph.v1';
export const DEFAULT_NAME = 'default';
