import { limits } from '../../../contracts/generated/limits.ts';

/** Records that an import writes, an export gives and a traversal reads at most. */
export const GRAPH_RECORDS_MAX = limits.graphRecordsMax;
export const GRAPH_SCHEMA = 'roman.graph.v1';
export const DEFAULT_NAME = 'default';
/** Anomalies that an inspection names, where the request says nothing and at most. */
export const ANOMALIES_DEFAULT = limits.anomaliesDefault;
export const ANOMALIES_MAX = limits.anomaliesMax;
/** Records of a target collection that an examination reads, where the request says nothing. */
export const TARGET_RECORDS_DEFAULT = limits.graphTargetRecordsDefault;
