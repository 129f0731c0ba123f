import type { GraphAssertion, GraphEdge, GraphLists, GraphNode, GraphReview } from './elements.ts';
import type { EdgeStatuses } from './filters.ts';
import type { Ask, GraphAnswer, GraphWalk } from './walk.ts';

/** The statuses of an edge, from the assertions and reviews that may be linked to it. */
export function statusesOf(
  edge: GraphEdge,
  assertions: Iterable<GraphAssertion>,
  reviews: Iterable<GraphReview>,
): EdgeStatuses {
  const named = new Set(edge.assertionIds ?? []);
  const linked = [...assertions].filter(
    ({ id, subjectKind, subjectId }) => named.has(id) || (subjectKind === 'edge' && subjectId === edge.id),
  );
  const ids = new Set(linked.map(({ id }) => id));
  const linkedReviews = [...reviews].filter(
    ({ subjectKind, subjectId }) =>
      (subjectKind === 'edge' && subjectId === edge.id) ||
      (subjectKind === 'assertion' && ids.has(subjectId)),
  );
  return {
    assertions: [...new Set(linked.map(({ status }) => status))].sort(),
    reviews: [...new Set(linkedReviews.map(({ status }) => status))].sort(),
  };
}

/** A whole graph in memory, which answers a walk. Of several elements with one id, the first counts. */
export class ListedGraph {
  readonly #nodes = new Map<string, GraphNode>();
  readonly #outgoing = new Map<string, GraphEdge[]>();
  readonly #incoming = new Map<string, GraphEdge[]>();
  readonly #assertions = new Map<string, GraphAssertion>();
  readonly #assertionsOfEdge = new Map<string, GraphAssertion[]>();
  readonly #reviewsOf = new Map<string, GraphReview[]>();

  constructor({ nodes, edges, assertions, reviews }: Omit<GraphLists, 'projections'>) {
    for (const node of nodes) if (!this.#nodes.has(node.id)) this.#nodes.set(node.id, node);
    for (const edge of edges) {
      addTo(this.#outgoing, edge.sourceId, edge);
      addTo(this.#incoming, edge.targetId, edge);
    }
    for (const assertion of assertions) {
      if (!this.#assertions.has(assertion.id)) this.#assertions.set(assertion.id, assertion);
      addTo(this.#assertionsOfEdge, assertion.subjectId, assertion);
    }
    for (const review of reviews) addTo(this.#reviewsOf, review.subjectId, review);
  }

  answer(asked: Ask): GraphAnswer {
    switch (asked.ask) {
      case 'nodes':
        return { ask: 'nodes', nodes: this.#nodesOf(asked.ids) };
      case 'edges': {
        const edges = (asked.side === 'outgoing' ? this.#outgoing : this.#incoming).get(asked.nodeId) ?? [];
        return { ask: 'edges', edges, next: null };
      }
      default:
        return { ask: 'statuses', statuses: this.#statusesOf(asked.edge) };
    }
  }

  #nodesOf(ids: readonly string[]): ReadonlyMap<string, GraphNode> {
    const found = ids.map((id) => [id, this.#nodes.get(id)] as const);
    return new Map(found.filter((entry): entry is readonly [string, GraphNode] => entry[1] !== undefined));
  }

  #statusesOf(edge: GraphEdge): EdgeStatuses {
    // An edge may name an assertion many times, and an assertion may have many reviews: each is taken once.
    const assertions = new Set(this.#assertionsOfEdge.get(edge.id));
    for (const id of new Set(edge.assertionIds ?? [])) {
      const named = this.#assertions.get(id);
      if (named !== undefined) assertions.add(named);
    }
    const subjects = new Set([edge.id, ...[...assertions].map(({ id }) => id)]);
    return statusesOf(
      edge,
      assertions,
      [...subjects].flatMap((id) => this.#reviewsOf.get(id) ?? []),
    );
  }
}

function addTo<Item>(map: Map<string, Item[]>, name: string, item: Item): void {
  const items = map.get(name);
  if (items === undefined) map.set(name, [item]);
  else items.push(item);
}

/** Runs a walk over a graph in memory, one answer a step, so that the caller can let other work run in between. */
export function* walkLists<Result>(walk: GraphWalk<Result>, graph: ListedGraph): Generator<void, Result> {
  let step = walk.next();
  while (step.done !== true) {
    yield;
    step = walk.next(graph.answer(step.value));
  }
  return step.value;
}
