import type { SvcGraphTraversalRequest } from '../../../contracts/generated/models.ts';
import { DEFAULT_NAME } from '../../graph/rules/limits.ts';
import { readProfile, readStarts } from '../../graph/rules/profile.ts';
import { projectionOf } from '../../graph/rules/projection.ts';
import { traverseGraph as walk } from '../../graph/traverse-graph.ts';
import type { GroupHandlers } from '../../http/handler.ts';
import type { JobLayers } from '../../jobs/job-family.ts';
import type { JsonObject } from '../../kernel/canonical-json.ts';
import { jsonInTurns } from '../../kernel/json-in-turns.ts';
import { JsonText } from '../../kernel/json-value-text.ts';

/** The way to a node is four levels below the answer. */
const WAYS_DEPTH = 4;

export function traverseGraph({
  records,
  access,
}: Pick<JobLayers, 'records' | 'access'>): GroupHandlers<'graph'>['traverseGraph'] {
  return async ({ params, body }, context) => {
    const space = access.spaceOf(context.caller, 'read');
    const profile = readProfile((body.profile ?? {}) as JsonObject);
    const startNodeIds = readStarts(body.startNodeIds);
    const request = { ...body, profile, startNodeIds };
    const found = await walk(records, space, params.collection, request, context);
    const { traversed, source, maxRecords, scan, continuationToken } = found;
    const graphId = graphIdOf(body);
    const projection = projectionOf(graphId, profile, startNodeIds, traversed, source);
    const { sourceRecordCount, sourceTruncated } = source;
    const answer = {
      collection: params.collection,
      graphId,
      projection: { ...projection, diagnostics: { scanMode: scan, ...projection.diagnostics } },
      nodeCount: projection.nodes.length,
      edgeCount: projection.edges.length,
      sourceRecordCount,
      sourceTruncated,
      requestedMaxRecords: maxRecords,
      exportedRecordCount: sourceRecordCount,
      estimatedRequiredRecordCount: sourceRecordCount + (sourceTruncated ? 1 : 0),
      sourceContinuationToken: continuationToken,
    };
    const text = await jsonInTurns(answer, WAYS_DEPTH, records.world.turns.of(space));
    return { status: 200, body: new JsonText(text) };
  };
}

function graphIdOf({ graphId }: SvcGraphTraversalRequest): string {
  return graphId?.trim() || DEFAULT_NAME;
}
