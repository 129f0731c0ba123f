import type { RecordParts } from '../collections/parts.ts';
import type { ReadCall } from '../collections/read-call.ts';
import { inTurns, type Turns } from '../kernel/turns.ts';
import { chosenMetadata, type GraphChoice } from './graph-query.ts';
import { readAnomalyLimit } from './read-examination.ts';
import { type ReadGraph, readGraph } from './read-graph.ts';
import { inspectGraph } from './rules/inspect.ts';
import { ANOMALIES_DEFAULT } from './rules/limits.ts';
import { partitionOf } from './rules/read-scope.ts';
import { scopeIn } from './rules/rebuild.ts';

export interface GraphInspectionRequest extends GraphChoice {
  readonly maxRecords?: number | null;
  readonly allowPartialGraph?: boolean | null;
  readonly includeAnomalies?: boolean | null;
  readonly anomalyLimit?: number | null;
}

export type GraphInspection = Awaited<ReturnType<typeof inspectCollectionGraph>>;

/** Inspects a graph of a collection as of one moment. Throws as `readGraph` does. */
export async function inspectCollectionGraph(
  parts: RecordParts,
  space: string,
  name: string,
  request: GraphInspectionRequest,
  call: ReadCall = {},
) {
  const anomalyLimit = readAnomalyLimit(request.anomalyLimit);
  return inspectRead(parts.world.turns.of(space), await readGraph(parts, space, name, request, call), {
    ...request,
    anomalyLimit,
  });
}

/** Inspects a graph that was read. */
export async function inspectRead(turns: Turns, read: ReadGraph, request: GraphInspectionRequest) {
  const { collection, records, truncated, continuationToken } = read;
  const steps = inspectGraph(records, {
    includeAnomalies: request.includeAnomalies ?? true,
    anomalyLimit: request.anomalyLimit ?? ANOMALIES_DEFAULT,
    allowPartialGraph: request.allowPartialGraph ?? false,
    truncated,
  });
  const inspection = await inTurns(steps, turns);
  const found = scopeIn(records);
  const asked = chosenMetadata(request);
  return {
    collection: collection.name,
    graphId: asked['graphId'] ?? found.graphId,
    namespace: asked['namespace'] ?? found.namespace,
    tenantId: asked['tenantId'] ?? found.tenantId,
    partitionKey: asked['graphPartitionKey'] ?? records[0]?.partitionKey ?? partitionOf(found),
    continuationToken,
    ...inspection,
  };
}
