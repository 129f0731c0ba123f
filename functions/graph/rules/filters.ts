import { type GraphEdge, type GraphNode, isGrounded } from './elements.ts';
import type { TraversalProfile } from './profile.ts';

/** Why a traversal leaves out an edge and the node behind it, or a start. */
export type FilteredBy =
  | 'nodeType'
  | 'predicate'
  | 'sourceGrounding'
  | 'score'
  | 'assertionStatus'
  | 'reviewStatus'
  | 'nodeLimit'
  | 'edgeLimit';

/** What is said of an edge: the statuses of the assertions and reviews that are linked to it. */
export interface EdgeStatuses {
  readonly assertions: readonly string[];
  readonly reviews: readonly string[];
}

/** Whether the profile asks for statuses: only then they are read. */
export function asksForStatuses({ assertionStatuses, reviewStatuses }: TraversalProfile): boolean {
  return assertionStatuses.length > 0 || reviewStatuses.length > 0;
}

/** What keeps an edge out, by the edge alone. */
export function edgeFault(edge: GraphEdge, profile: TraversalProfile): FilteredBy | null {
  if (!allows(profile.predicates, edge.predicate)) return 'predicate';
  return elementFault(edge, profile);
}

/** What keeps an edge out, by what is said of it. */
export function statusFault(statuses: EdgeStatuses, profile: TraversalProfile): FilteredBy | null {
  if (!allowsAny(profile.assertionStatuses, statuses.assertions)) return 'assertionStatus';
  return allowsAny(profile.reviewStatuses, statuses.reviews) ? null : 'reviewStatus';
}

/** What keeps a node out: one that an edge leads to, or a start. */
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
