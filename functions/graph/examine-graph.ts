import { readListing } from '../collections/page-request.ts';
import type { RecordParts } from '../collections/parts.ts';
import { readAtOneMoment } from '../collections/query-records.ts';
import type { ReadCall } from '../collections/read-call.ts';
import type { RecordValue } from '../collections/rules/record-key.ts';
import { parseJson } from '../kernel/json-text.ts';
import { inTurns } from '../kernel/turns.ts';
import { type GraphInspection, inspectRead } from './inspect-collection-graph.ts';
import { type GraphExamination, type ReadExamination, readExamination } from './read-examination.ts';
import { readGraph } from './read-graph.ts';
import { coverSeeds, diagnose } from './rules/doctor.ts';
import { nodeIdsOf } from './rules/rebuild.ts';

export type ExaminedGraph = Awaited<ReturnType<typeof examineGraph>>;

/**
 * Checks whether a graph can be traversed, and how many records of another collection have seeds in it. Each of the two is read as
 * of one moment. Throws as `readGraph` does.
 */
export async function examineGraph(
  parts: RecordParts,
  space: string,
  name: string,
  request: GraphExamination,
  call: ReadCall = {},
) {
  const { maxRecords, anomalyLimit, target } = readExamination(request);
  const graph = await readGraph(parts, space, name, { ...request, maxRecords }, call);
  const inspection: GraphInspection = await inspectRead(parts.world.turns.of(space), graph, {
    ...request,
    anomalyLimit,
  });
  const seedCoverage =
    target === null ? null : await coverage(parts, space, target, nodeIdsOf(graph.records), call);
  const { nodeCount, edgeCount, traversalReady } = inspection;
  const outcome = diagnose({
    graphTruncated: graph.truncated && request.allowPartialGraph !== true,
    graphReady: traversalReady,
    nodeCount,
    edgeCount,
    coverage: seedCoverage,
    targetTruncated: seedCoverage?.targetTruncated ?? false,
  });
  return {
    collection: graph.collection.name,
    ...outcome,
    graphReady: traversalReady,
    graphRecordCount: graph.records.length,
    graphNodeCount: nodeCount,
    graphEdgeCount: edgeCount,
    graphTruncated: graph.truncated,
    inspection,
    seedCoverage,
  };
}

async function coverage(
  parts: RecordParts,
  space: string,
  { name, partitionKeys, pointers, maxRecords }: NonNullable<ReadExamination['target']>,
  nodeIds: ReadonlySet<string>,
  call: ReadCall,
) {
  const most = { records: maxRecords, bytes: parts.limits.answerBytesMax };
  const { page } = await readAtOneMoment(parts, space, name, call, ({ policy }, read) =>
    read(readListing({ partitionKeys }, policy), most),
  );
  const turns = parts.world.turns.of(space);
  const records: RecordValue[] = [];
  for (const text of page.records) {
    records.push(parseJson(text) as RecordValue);
    if (turns.due()) await turns.next();
  }
  return {
    targetCollection: name,
    targetRecordCount: records.length,
    targetTruncated: page.nextOffset !== null,
    seedJsonPointers: pointers,
    ...(await inTurns(coverSeeds(records, pointers, nodeIds), turns)),
  };
}
