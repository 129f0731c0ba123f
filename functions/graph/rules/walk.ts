import type { GraphEdge, GraphNode } from './elements.ts';
import type { EdgeStatuses } from './filters.ts';

export type Side = 'outgoing' | 'incoming';

/** What a walk needs to know next. One source answers from lists, another from the indexes of a collection. */
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
      /** Where the next page begins; `null` where there is none. */
      readonly next: string | null;
    }
  | { readonly ask: 'statuses'; readonly statuses: EdgeStatuses };

/** A walk that waits for answers: it reads nothing itself, so every source gives the same result. */
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
