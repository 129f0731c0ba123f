import { hash } from 'node:crypto';
import { canonicalJson } from '../../kernel/canonical-json.ts';
import type { GraphEdge, GraphNode } from './elements.ts';
import { pathsOf } from './paths.ts';
import type { TraversalProfile } from './profile.ts';
import type { Traversed } from './traverse.ts';

const ID_DIGITS = 32;

/** What a traversal says of the graph that it walked in. */
export interface GraphSource {
  readonly sourceRecordCount: number;
  readonly sourceTruncated: boolean;
  readonly availableNodeCount: number;
  readonly availableEdgeCount: number;
}

/** The answer of a traversal. Its id names what was found: the same walk has the same id. */
export function projectionOf(
  graphId: string,
  profile: TraversalProfile,
  startNodeIds: readonly string[],
  traversed: Traversed,
  source: GraphSource,
) {
  const nodes = byId<GraphNode>(traversed.nodes);
  const edges = byId<GraphEdge>(traversed.edges);
  const named = canonicalJson({ graphId, profile, startNodeIds, nodes: idsOf(nodes), edges: idsOf(edges) });
  const { missingStartNodeIds, edgeTruncated, nodeLimitReached, filtered } = traversed;
  return {
    id: `projection:${graphId}:${hash('sha256', named, 'hex').slice(0, ID_DIGITS)}`,
    profile,
    startNodeIds,
    nodes,
    edges,
    diagnostics: {
      ...source,
      nodeCount: nodes.length,
      edgeCount: edges.length,
      missingStartNodeIds,
      edgeTruncated,
      nodeLimitReached,
      filtered,
      ...(profile.includePathExplanations ? explained(traversed) : {}),
    },
  };
}

function explained(traversed: Traversed) {
  const { paths, truncated } = pathsOf(traversed);
  return { pathExplanations: paths, ...(truncated ? { pathExplanationsTruncated: true } : {}) };
}

function byId<Element extends { readonly id: string }>(elements: readonly Element[]): readonly Element[] {
  return [...elements].sort((a, b) => (a.id < b.id ? -1 : 1));
}

function idsOf(elements: readonly { readonly id: string }[]): readonly string[] {
  return elements.map(({ id }) => id);
}
