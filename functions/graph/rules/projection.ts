import { hash } from 'node:crypto';
import type { GraphEdge, GraphNode } from './elements.ts';
import { pathsOf } from './paths.ts';
import type { TraversalProfile } from './profile.ts';
import type { Traversed } from './traverse.ts';

const ID_DIGITS = 32;

/** The facts about the graph in the answer of a traversal. */
export interface GraphSource {
  readonly sourceRecordCount: number;
  readonly sourceTruncated: boolean;
  readonly availableNodeCount: number;
  readonly availableEdgeCount: number;
}

/** The answer of a traversal. Its id is a hash of the result, so the same walk has the same id. */
export function projectionOf(
  graphId: string,
  profile: TraversalProfile,
  startNodeIds: readonly string[],
  traversed: Traversed,
  source: GraphSource,
) {
  const nodes = byId<GraphNode>(traversed.nodes);
  const edges = byId<GraphEdge>(traversed.edges);
  const named = namedText(graphId, profile, startNodeIds, { nodes: idsOf(nodes), edges: idsOf(edges) });
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

/** Canonical JSON, except that lone surrogates are escaped: ids of records without an import may contain them. */
function namedText(
  graphId: string,
  profile: TraversalProfile,
  startNodeIds: readonly string[],
  { nodes, edges }: { readonly nodes: readonly string[]; readonly edges: readonly string[] },
): string {
  const members = Object.entries(profile).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify({ edges, graphId, nodes, profile: Object.fromEntries(members), startNodeIds });
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
