import { countHavingAll, type RecordReader } from '../collections/candidates.ts';
import type { ProjectedValues } from '../collections/rules/projection.ts';
import { exportedKinds, type GraphChoice, indexedMetadata, indexedType, partitionIn } from './graph-query.ts';
import type { GraphSource } from './rules/projection.ts';

/**
 * Edges and nodes first, so that the count of a graph that is too large ends early. The count of a rare kind may read the rows of the
 * whole graph if other graphs of the collection have many records of that kind.
 */
const countedKinds = [
  'edge',
  'node',
  ...exportedKinds(true).filter((kind) => kind !== 'edge' && kind !== 'node'),
] as const;

/** Counts the records of a graph with the indexes of its collection. `null`: the graph has more records than an export gives. */
export async function countGraph(
  reader: RecordReader,
  choice: GraphChoice,
  maxRecords: number,
): Promise<GraphSource | null> {
  const metadata = await restricting(reader, choice, maxRecords + 1);
  const counts = { node: 0, edge: 0, all: 0 };
  for (const kind of countedKinds) {
    const where = { partitionKey: partitionIn(choice), max: maxRecords + 1 - counts.all };
    const count = await countHavingAll(reader, { ...metadata, ...indexedType(kind) }, where);
    counts.all += count;
    if (counts.all > maxRecords) return null;
    if (kind === 'node' || kind === 'edge') counts[kind] = count;
  }
  return {
    sourceRecordCount: counts.all,
    sourceTruncated: false,
    availableNodeCount: counts.node,
    availableEdgeCount: counts.edge,
  };
}

/**
 * The values of the selection without those that all records have: they restrict nothing, and with a single value an index counts
 * without reading records. This is the case for a graph in a collection or a partition of its own.
 */
async function restricting(reader: RecordReader, choice: GraphChoice, max: number): Promise<ProjectedValues> {
  const metadata = indexedMetadata(choice);
  const all = Object.entries(metadata);
  if (all.length === 0) return metadata;
  const where = { partitionKey: partitionIn(choice), max };
  const records = await countHavingAll(reader, {}, where);
  if (records >= max) return metadata;
  const left: [string, string][] = [];
  for (const [index, value] of all) {
    if ((await countHavingAll(reader, { [index]: value }, where)) < records) left.push([index, value]);
  }
  return Object.fromEntries(left);
}
