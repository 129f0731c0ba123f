import { limits } from '../../../contracts/generated/limits.ts';

/** The most records that an import writes, an export gives and a traversal reads. */
export const GRAPH_RECORDS_MAX = limits.graphRecordsMax;
export const GRAPH_SCHEMA = 'roman.graph.v1';
export const DEFAULT_NAME = 'default';
/** Anomalies that an inspection lists: the default and the maximum. */
export const ANOMALIES_DEFAULT = limits.anomaliesDefault;
export const ANOMALIES_MAX = limits.anomaliesMax;
/** The default number of records of a target collection that an examination reads. */
export const TARGET_RECORDS_DEFAULT = limits.graphTargetRecordsDefault;
