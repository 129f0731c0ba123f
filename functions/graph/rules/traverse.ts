import type { GraphEdge, GraphNode } from './elements.ts';
import { asksForStatuses, edgeFault, type FilteredBy, nodeFault, statusFault } from './filters.ts';
import type { TraversalProfile } from './profile.ts';
import { askEdges, askNodes, askStatuses, type EdgePage, type GraphWalk, type Side } from './walk.ts';

/** One edge of the path to a node. */
export interface PathStep {
  readonly edgeId: string;
  readonly from: string;
  readonly to: string;
  readonly predicate: string;
  /** The depth of `to`, counted from the start. */
  readonly depth: number;
}

export interface Traversed {
  /** In the order in which they were met. */
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly missingStartNodeIds: readonly string[];
  readonly edgeTruncated: boolean;
  readonly nodeLimitReached: boolean;
  /** Excluded edges and starts, by the filter that excluded them; an edge counts at each end from which the walk met it. */
  readonly filtered: Readonly<Record<FilteredBy, number>>;
  /** The last edge of the path to each node; `null` for a start. */
  readonly steps: ReadonlyMap<string, PathStep | null>;
}

const sidesOf: Readonly<Record<TraversalProfile['direction'], readonly Side[]>> = {
  outgoing: ['outgoing'],
  incoming: ['incoming'],
  both: ['outgoing', 'incoming'],
};

/**
 * Walks breadth first from the starts: of each node the outgoing edges, then the incoming ones, in the order of their records. An
 * edge of the answer is met once. A full list of nodes leaves out edges to further nodes; a full list of edges ends the walk.
 */
export function* traverse(starts: readonly string[], profile: TraversalProfile): GraphWalk<Traversed> {
  const state = new Traversal(profile);
  yield* state.begin(starts);
  for (const { node, depth } of state.queue) {
    if (depth >= profile.maxDepth) break;
    for (const side of sidesOf[profile.direction]) {
      let after: string | null = null;
      do {
        const page: EdgePage = yield* askEdges(node.id, side, after);
        if (!(yield* state.follow(node, depth, page.edges))) return state.result();
        after = page.next;
      } while (after !== null);
    }
  }
  return state.result();
}

interface Met {
  readonly node: GraphNode;
  readonly depth: number;
}

class Traversal {
  readonly #profile: TraversalProfile;
  /** Grows during the iteration over it. */
  readonly queue: Met[] = [];
  readonly #met = new Set<string>();
  /** Edges of the answer by their ids; an excluded edge is checked, and counted, at each of its ends. */
  readonly #included = new Set<string>();
  readonly #nodes: GraphNode[] = [];
  readonly #edges: GraphEdge[] = [];
  readonly #steps = new Map<string, PathStep | null>();
  readonly #filtered: Record<FilteredBy, number> = {
    nodeType: 0,
    predicate: 0,
    sourceGrounding: 0,
    score: 0,
    assertionStatus: 0,
    reviewStatus: 0,
    nodeLimit: 0,
    edgeLimit: 0,
  };
  #missing: readonly string[] = [];

  constructor(profile: TraversalProfile) {
    this.#profile = profile;
  }

  *begin(starts: readonly string[]): GraphWalk<void> {
    const found = yield* askNodes(starts);
    this.#missing = starts.filter((id) => !found.has(id));
    for (const id of starts) {
      const node = found.get(id);
      if (node === undefined) continue;
      const { includeStart } = this.#profile;
      const fault = includeStart ? this.#nodeFault(node) : null;
      if (fault !== null) this.#filtered[fault] += 1;
      // A start that the full list has no room for has no edges: they would lead out of the answer.
      if (fault === 'nodeLimit') continue;
      // The walk also begins at a start that a filter excludes, as at one that the answer does not include.
      this.#meet(node, 0, null);
      if (includeStart && fault === null) this.#nodes.push(node);
    }
  }

  /** `false`: the list of edges is full, and the walk ends. Its counts do not depend on the ends of pages. */
  *follow(from: GraphNode, depth: number, edges: readonly GraphEdge[]): GraphWalk<boolean> {
    const found = yield* this.#farNodes(from, edges);
    for (const edge of edges) {
      if (this.#included.has(edge.id)) continue;
      const farId = farEnd(edge, from);
      const isMet = this.#met.has(farId);
      const far = found.get(farId);
      const fault =
        (yield* this.#edgeFault(edge)) ?? (isMet || far === undefined ? null : this.#nodeFault(far));
      if (fault !== null) {
        this.#filtered[fault] += 1;
        continue;
      }
      // A dangling edge leads to no node.
      if (!isMet && far === undefined) continue;
      if (this.#edges.length >= this.#profile.edgeLimit) {
        this.#filtered.edgeLimit += 1;
        return false;
      }
      this.#edges.push(edge);
      this.#included.add(edge.id);
      if (isMet || far === undefined) continue;
      this.#nodes.push(far);
      this.#meet(far, depth + 1, {
        edgeId: edge.id,
        from: from.id,
        to: far.id,
        predicate: edge.predicate,
        depth: depth + 1,
      });
    }
    return true;
  }

  /** The nodes that edges may lead to for the first time, requested together. */
  *#farNodes(from: GraphNode, edges: readonly GraphEdge[]): GraphWalk<ReadonlyMap<string, GraphNode>> {
    const may = edges.filter(
      (edge) => !this.#included.has(edge.id) && edgeFault(edge, this.#profile) === null,
    );
    const ids = new Set(may.map((edge) => farEnd(edge, from)).filter((id) => !this.#met.has(id)));
    return ids.size === 0 ? new Map() : yield* askNodes([...ids]);
  }

  *#edgeFault(edge: GraphEdge): GraphWalk<FilteredBy | null> {
    const fault = edgeFault(edge, this.#profile);
    if (fault !== null || !asksForStatuses(this.#profile)) return fault;
    return statusFault(yield* askStatuses(edge), this.#profile);
  }

  #nodeFault(node: GraphNode): FilteredBy | null {
    return nodeFault(node, this.#profile) ?? (this.#isFull() ? 'nodeLimit' : null);
  }

  #meet(node: GraphNode, depth: number, step: PathStep | null): void {
    this.#met.add(node.id);
    this.#steps.set(node.id, step);
    this.queue.push({ node, depth });
  }

  #isFull(): boolean {
    return this.#nodes.length >= this.#profile.limit;
  }

  result(): Traversed {
    return {
      nodes: this.#nodes,
      edges: this.#edges,
      missingStartNodeIds: this.#missing,
      edgeTruncated: this.#filtered.edgeLimit > 0,
      nodeLimitReached: this.#filtered.nodeLimit > 0,
      filtered: this.#filtered,
      steps: this.#steps,
    };
  }
}

function farEnd({ sourceId, targetId }: GraphEdge, { id }: GraphNode): string {
  return sourceId === id ? targetId : sourceId;
}
