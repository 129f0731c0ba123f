import { type GraphEdge, type GraphNode, isGrounded, spansOf } from '../../graph/rules/elements.ts';
import { sha256 } from '../../kernel/canonical-json.ts';
import { oneLine } from './context-text.ts';
import { excerptOf } from './excerpt.ts';

/** The part of a graph that a walk from the seeds found, by ids. */
export interface FoundGraph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

export interface GraphText {
  readonly text: string;
  readonly hash: string;
  readonly truncated: boolean;
}

/** The seeds, nodes and edges as lines for a model, at most `maxChars` UTF-16 units. */
export function graphText(
  seedNodeIds: readonly string[],
  { nodes, edges }: FoundGraph,
  maxChars: number,
): GraphText {
  const lines = [
    'Graph context:',
    `Seeds: ${seedNodeIds.join(', ')}`,
    'Nodes:',
    ...nodes.map(({ id, type, label }) => `- ${id} (${type})${label ? `: ${label}` : ''}`),
    'Edges:',
    ...edges.map(
      ({ sourceId, predicate, targetId, label }) =>
        `- ${sourceId} --${predicate}--> ${targetId}${label ? ` (${label})` : ''}`,
    ),
  ];
  const { text, truncated } = excerptOf(lines.map(oneLine).join('\n'), maxChars);
  return { text, hash: sha256(text), truncated };
}

/** The sources of an element of the graph. */
interface GraphProvenance {
  readonly entityKind: 'node' | 'edge';
  readonly entityId: string;
  readonly label: string | null;
  readonly nodeType: string | null;
  readonly predicate: string | null;
  readonly sourceId: string | null;
  readonly targetId: string | null;
  readonly sourceSpans: readonly object[];
  readonly assertionIds: readonly string[];
}

export interface Provenance {
  readonly items: readonly GraphProvenance[];
  readonly omitted: number;
}

/** Lists nodes, then edges, up to the maximum; the others are counted. */
export function provenanceOf({ nodes, edges }: FoundGraph, itemsMax: number): Provenance {
  const all = [...nodes.map(nodeProvenance), ...edges.map(edgeProvenance)];
  return { items: all.slice(0, itemsMax), omitted: Math.max(0, all.length - itemsMax) };
}

function nodeProvenance(node: GraphNode): GraphProvenance {
  const none = { predicate: null, sourceId: null, targetId: null };
  return { entityKind: 'node', ...common(node), nodeType: node.type, ...none };
}

function edgeProvenance(edge: GraphEdge): GraphProvenance {
  const { predicate, sourceId, targetId } = edge;
  return { entityKind: 'edge', ...common(edge), nodeType: null, predicate, sourceId, targetId };
}

function common(element: GraphNode | GraphEdge) {
  return {
    entityId: element.id,
    label: element.label ?? null,
    sourceSpans: spansOf(element),
    assertionIds: element.assertionIds ?? [],
  };
}

export type GroundingStatus = 'source_grounded' | 'ungrounded' | 'none';

/** Whether at least one found element has a source. */
export function groundingStatus({ nodes, edges }: FoundGraph): GroundingStatus {
  if (nodes.length + edges.length === 0) return 'none';
  return [...nodes, ...edges].some(isGrounded) ? 'source_grounded' : 'ungrounded';
}

export type ExpansionStatus =
  | 'not_requested'
  | 'succeeded'
  | 'no_seeds'
  | 'graph_not_found'
  | 'budget_truncated'
  | 'failed';

export type ExpansionLimit =
  | 'maxRecords'
  | 'edgeLimit'
  | 'nodeLimit'
  | 'maxGraphContextChars'
  | 'maxGraphProvenanceItems'
  | 'maxSeedNodes';

/** The limits that cut the expansion, in the order of their list. */
export function limitsHit(cut: Readonly<Record<ExpansionLimit, boolean>>): readonly ExpansionLimit[] {
  const limits: readonly ExpansionLimit[] = [
    'maxRecords',
    'edgeLimit',
    'nodeLimit',
    'maxGraphContextChars',
    'maxGraphProvenanceItems',
    'maxSeedNodes',
  ];
  return limits.filter((limit) => cut[limit]);
}
