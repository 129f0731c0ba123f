import { type GraphEdge, type GraphNode, isGrounded } from './elements.ts';
import type { TraversalProfile } from './profile.ts';

/** Why a traversal omits an edge and the node behind it, or a start. */
export type FilteredBy =
  | 'nodeType'
  | 'predicate'
  | 'sourceGrounding'
  | 'score'
  | 'assertionStatus'
  | 'reviewStatus'
  | 'nodeLimit'
  | 'edgeLimit';

/** The statuses of the assertions and reviews that are linked to an edge. */
export interface EdgeStatuses {
  readonly assertions: readonly string[];
  readonly reviews: readonly string[];
}

/** Whether the profile filters by statuses: only then they are read. */
export function asksForStatuses({ assertionStatuses, reviewStatuses }: TraversalProfile): boolean {
  return assertionStatuses.length > 0 || reviewStatuses.length > 0;
}

/** The filter that excludes an edge, by the edge alone. */
export function edgeFault(edge: GraphEdge, profile: TraversalProfile): FilteredBy | null {
  if (!allows(profile.predicates, edge.predicate)) return 'predicate';
  return elementFault(edge, profile);
}

/** The filter that excludes an edge, by its statuses. */
export function statusFault(statuses: EdgeStatuses, profile: TraversalProfile): FilteredBy | null {
  if (!allowsAny(profile.assertionStatuses, statuses.assertions)) return 'assertionStatus';
  return allowsAny(profile.reviewStatuses, statuses.reviews) ? null : 'reviewStatus';
}

/** The filter that excludes a node: the end of an edge, or a start. */
export function nodeFault(node: GraphNode, profile: TraversalProfile): FilteredBy | null {
  return allows(profile.nodeTypes, node.type) ? elementFault(node, profile) : 'nodeType';
}

function elementFault(element: GraphNode | GraphEdge, profile: TraversalProfile): FilteredBy | null {
  if (profile.requireSourceGrounding && !isGrounded(element)) return 'sourceGrounding';
  const score = element.properties?.['score'];
  const isBelow = profile.minScore !== null && typeof score === 'number' && score < profile.minScore;
  return isBelow ? 'score' : null;
}

function allows(allowed: readonly string[], value: string): boolean {
  return allowed.length === 0 || allowed.includes(value);
}

function allowsAny(allowed: readonly string[], values: readonly string[]): boolean {
  return allowed.length === 0 || values.some((value) => allowed.includes(value));
}
