import type { GraphEdge, GraphNode } from './elements.ts';
import type { EdgeStatuses } from './filters.ts';

export type Side = 'outgoing' | 'incoming';

/** The next read of a walk. One source answers it from lists, another from the indexes of a collection. */
export type Ask =
  | { readonly ask: 'nodes'; readonly ids: readonly string[] }
  | { readonly ask: 'edges'; readonly nodeId: string; readonly side: Side; readonly after: string | null }
  | { readonly ask: 'statuses'; readonly edge: GraphEdge };

export type GraphAnswer =
  | { readonly ask: 'nodes'; readonly nodes: ReadonlyMap<string, GraphNode> }
  | {
      readonly ask: 'edges';
      /** In the order of their records. */
      readonly edges: readonly GraphEdge[];
      /** The start of the next page; `null` after the last page. */
      readonly next: string | null;
    }
  | { readonly ask: 'statuses'; readonly statuses: EdgeStatuses };

/** A walk yields its reads and waits for the answers, so every source gives the same result. */
export type GraphWalk<Result> = Generator<Ask, Result, GraphAnswer>;

export function* askNodes(ids: readonly string[]): GraphWalk<ReadonlyMap<string, GraphNode>> {
  const answer = yield { ask: 'nodes', ids };
  if (answer.ask !== 'nodes') throw wrongAnswer();
  return answer.nodes;
}

export type EdgePage = Extract<GraphAnswer, { readonly ask: 'edges' }>;

export function* askEdges(nodeId: string, side: Side, after: string | null): GraphWalk<EdgePage> {
  const answer = yield { ask: 'edges', nodeId, side, after };
  if (answer.ask !== 'edges') throw wrongAnswer();
  return answer;
}

export function* askStatuses(edge: GraphEdge): GraphWalk<EdgeStatuses> {
  const answer = yield { ask: 'statuses', edge };
  if (answer.ask !== 'statuses') throw wrongAnswer();
  return answer.statuses;
}

function wrongAnswer(): TypeError {
  return new TypeError('the walk was answered something else than it asked');
}
