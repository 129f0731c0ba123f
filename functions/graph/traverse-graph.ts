import type { RecordReader } from '../collections/candidates.ts';
import type { RecordParts } from '../collections/parts.ts';
import { ReadBudget } from '../collections/read-budget.ts';
import { attemptsOf, type ReadCall } from '../collections/read-call.ts';
import { collectionAt } from '../collections/read-policy.ts';
import { spaceScope } from '../collections/store-collections.ts';
import { ServiceError } from '../kernel/errors.ts';
import { inTurns, type Turns } from '../kernel/turns.ts';
import { countGraph } from './count-graph.ts';
import type { GraphChoice } from './graph-query.ts';
import { IndexedGraph } from './indexed-graph.ts';
import { readMaxRecords } from './read-examination.ts';
import { graphTooLarge, readGraph } from './read-graph.ts';
import { ListedGraph, walkLists } from './rules/graph-lists.ts';
import { missingIndexes } from './rules/graph-policy.ts';
import type { TraversalProfile } from './rules/profile.ts';
import type { GraphSource } from './rules/projection.ts';
import { inRecordOrder, rebuildEnvelope } from './rules/rebuild.ts';
import { type Traversed, traverse } from './rules/traverse.ts';
import type { GraphWalk } from './rules/walk.ts';

/** A walk reads twice for each node; above this number, reading the whole graph needs fewer reads. */
const INDEXED_NODES_MAX = 500;
const ADVICE = 'Ask for fewer nodes or edges, or name a partitionKey.';

export interface GraphTraversal extends GraphChoice {
  readonly startNodeIds: readonly string[];
  readonly profile: TraversalProfile;
  readonly maxRecords?: number | null;
  readonly allowPartialGraph?: boolean | null;
}

export interface TraversedGraph {
  readonly traversed: Traversed;
  readonly source: GraphSource;
  readonly maxRecords: number;
  /** The source that the walk read. */
  readonly scan: 'indexes' | 'export';
  readonly continuationToken: string | null;
}

/**
 * Walks a graph of a collection as of one moment: by its indexes if it has them, the whole graph is within `maxRecords` and the
 * walk is within the reads of a call; otherwise over an export. Both ways give the same walk. Throws the refusal of its cost, of an
 * absent collection, and of a truncated graph if the caller does not accept a part.
 */
export async function traverseGraph(
  parts: RecordParts,
  space: string,
  name: string,
  request: GraphTraversal,
  call: ReadCall = {},
): Promise<TraversedGraph> {
  const maxRecords = readMaxRecords(request.maxRecords);
  const byIndexes =
    request.profile.limit > INDEXED_NODES_MAX || request.startNodeIds.length > INDEXED_NODES_MAX
      ? null
      : await traverseIndexes(parts, space, name, { ...request, maxRecords }, call);
  return byIndexes ?? traverseExport(parts, space, name, { ...request, maxRecords }, call);
}

type Traversal = GraphTraversal & { readonly maxRecords: number };

/**
 * Walks the whole graph, or the part that an export gives.
 * @testonly
 */
export async function traverseExport(
  parts: RecordParts,
  space: string,
  name: string,
  request: Traversal,
  call: ReadCall = {},
): Promise<TraversedGraph> {
  const { records, truncated, continuationToken } = await readGraph(parts, space, name, request, call);
  const { maxRecords, startNodeIds, profile } = request;
  if (truncated && request.allowPartialGraph !== true)
    throw graphTooLarge(maxRecords, 'set allowPartialGraph to true to walk in a part');
  const turns = parts.world.turns.of(space);
  const lists = await inTurns(rebuildEnvelope(inRecordOrder(records)), turns);
  const graph = new ListedGraph(lists);
  const traversed = await inTurns(walkLists(traverse(startNodeIds, profile), graph), turns);
  const source = {
    sourceRecordCount: records.length,
    sourceTruncated: truncated,
    availableNodeCount: records.filter(({ type }) => type === 'graph.node').length,
    availableEdgeCount: records.filter(({ type }) => type === 'graph.edge').length,
  };
  return { traversed, source, maxRecords, scan: 'export', continuationToken };
}

/**
 * `null` if the collection lacks the indexes, an export of the graph would be truncated, or the walk exceeds the reads of a call.
 * @testonly
 */
export async function traverseIndexes(
  parts: RecordParts,
  space: string,
  name: string,
  request: Traversal,
  call: ReadCall = {},
): Promise<TraversedGraph | null> {
  const store = await parts.store();
  const attempt = attemptsOf(call);
  return parts.lanes.run(
    space,
    (lane) =>
      store.snapshot(spaceScope(space), async (moment) => {
        const { incarnation, policy } = await collectionAt(moment, name);
        if (missingIndexes(policy).length > 0) return null;
        const turns = parts.world.turns.of(space);
        const pageMax = parts.limits.readPageMax;
        const bytes = attempt();
        const readerWithin = (readsMax: number): RecordReader => {
          const budget = new ReadBudget(readsMax, ADVICE, lane);
          return { moment, incarnation, budget, turns, bytes, pageMax };
        };
        // The count has a budget of its own beside the walk, and ends if the graph is too large for an export.
        const counter = readerWithin(parts.limits.readsPerCallMax);
        const source = await withinBudget(countGraph(counter, request, request.maxRecords));
        if (source === null) return null;
        const graph = new IndexedGraph(readerWithin(parts.limits.readsPerCallMax), request);
        const walk = traverse(request.startNodeIds, request.profile);
        const traversed = await withinBudget(answered(walk, graph, turns));
        if (traversed === null) return null;
        return {
          traversed,
          source,
          maxRecords: request.maxRecords,
          scan: 'indexes',
          continuationToken: null,
        };
      }),
    call,
  );
}

/** `null`: the count or the walk would read more than its budget; an export reads each record once. */
async function withinBudget<Result>(walk: Promise<Result>): Promise<Result | null> {
  try {
    return await walk;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'query_budget_exceeded') return null;
    throw error;
  }
}

async function answered<Result>(walk: GraphWalk<Result>, graph: IndexedGraph, turns: Turns): Promise<Result> {
  let step = walk.next();
  while (step.done !== true) {
    step = walk.next(await graph.answer(step.value));
    if (turns.due()) await turns.next();
  }
  return step.value;
}
