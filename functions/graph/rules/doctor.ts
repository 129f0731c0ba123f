import type { RecordValue } from '../../collections/rules/record-key.ts';
import { seedValues } from './seeds.ts';

const IDS_MAX = 100;

export interface SeedCoverage {
  readonly recordsWithSeedMetadataCount: number;
  readonly seedValueCount: number;
  readonly uniqueSeedValueCount: number;
  readonly resolvedSeedNodeCount: number;
  readonly unresolvedSeedNodeCount: number;
  /** Share of the records that have a seed. */
  readonly seedCoverage: number;
  /** Share of the different seeds that are nodes. */
  readonly resolvedSeedCoverage: number;
  readonly resolvedSeedNodeIds: readonly string[];
  readonly unresolvedSeedNodeIds: readonly string[];
}

/** The coverage of a graph by the seeds in the records of a collection. One record a step. */
export function* coverSeeds(
  records: readonly RecordValue[],
  pointers: readonly string[],
  nodeIds: ReadonlySet<string>,
): Generator<void, SeedCoverage> {
  const seeds = new Set<string>();
  let withSeeds = 0;
  let values = 0;
  for (const record of records) {
    const own = [...seedValues(record, pointers)].flatMap(({ value }) => {
      const id = value?.trim() ?? '';
      return id === '' ? [] : [id];
    });
    withSeeds += own.length > 0 ? 1 : 0;
    values += own.length;
    for (const id of own) seeds.add(id);
    yield;
  }
  const resolved = [...seeds].filter((id) => nodeIds.has(id)).sort();
  const unresolved = [...seeds].filter((id) => !nodeIds.has(id)).sort();
  return {
    recordsWithSeedMetadataCount: withSeeds,
    seedValueCount: values,
    uniqueSeedValueCount: seeds.size,
    resolvedSeedNodeCount: resolved.length,
    unresolvedSeedNodeCount: unresolved.length,
    seedCoverage: records.length === 0 ? 1 : withSeeds / records.length,
    resolvedSeedCoverage: seeds.size === 0 ? 1 : resolved.length / seeds.size,
    resolvedSeedNodeIds: resolved.slice(0, IDS_MAX),
    unresolvedSeedNodeIds: unresolved.slice(0, IDS_MAX),
  };
}

export type DoctorStatus =
  | 'budget_truncated'
  | 'graph_not_ready'
  | 'no_seeds'
  | 'seed_node_not_found'
  | 'traversal_empty'
  | 'ready';

export interface Examined {
  /** Whether the graph was read in part and the caller does not accept that. */
  readonly graphTruncated: boolean;
  readonly graphReady: boolean;
  readonly nodeCount: number;
  readonly edgeCount: number;
  /** `null`: the request names no collection with seeds. */
  readonly coverage: SeedCoverage | null;
  readonly targetTruncated: boolean;
}

const advice: Readonly<Record<DoctorStatus, readonly string[]>> = {
  budget_truncated: [
    'Ask for a smaller graph by graphId, namespace or partitionKey, or raise maxGraphRecords.',
  ],
  graph_not_ready: ['Mend the anomalies that the inspection names, and import the graph again.'],
  no_seeds: ['Write ids of nodes into the records of the target collection, or name other seedJsonPointers.'],
  seed_node_not_found: ['Import the nodes that the records name, or mend the ids in the records.'],
  traversal_empty: ['Import edges: a walk from any node finds that node alone.'],
  ready: [],
};

/** The first reason that applies why a graph cannot be traversed. */
export function diagnose(examined: Examined) {
  const status = statusOf(examined);
  const isReady = status === 'ready';
  const recommendedActions = [
    ...advice[status],
    ...(examined.targetTruncated
      ? ['Raise maxTargetRecords: the records of the target collection were read in part.']
      : []),
  ];
  const failureMode = status === 'graph_not_ready' ? 'graph_anomalies' : status;
  return { ready: isReady, status, failureMode: isReady ? null : failureMode, recommendedActions };
}

function statusOf({ graphTruncated, graphReady, nodeCount, edgeCount, coverage }: Examined): DoctorStatus {
  if (graphTruncated) return 'budget_truncated';
  if (!graphReady) return 'graph_not_ready';
  if (coverage !== null && coverage.seedValueCount === 0) return 'no_seeds';
  if (coverage !== null && coverage.resolvedSeedNodeCount === 0) return 'seed_node_not_found';
  return nodeCount > 0 && edgeCount === 0 ? 'traversal_empty' : 'ready';
}
