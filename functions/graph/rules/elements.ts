import type { Json } from '../../kernel/canonical-json.ts';

/** A source of an element, as the caller gave it; further members are kept. */
export interface GraphSpan {
  readonly sourceRef?: string | null;
  readonly charStart?: number | null;
  readonly charEnd?: number | null;
  readonly unit?: string | null;
  readonly locator?: string | null;
  readonly textHash?: string | null;
  readonly [member: string]: Json | undefined;
}

interface GraphElement {
  readonly id: string;
  readonly [member: string]: Json | undefined;
}

interface GroundedElement extends GraphElement {
  readonly label?: string | null;
  readonly properties?: { readonly [name: string]: Json } | null;
  readonly sourceSpans?: readonly Json[] | null;
  readonly assertionIds?: readonly string[] | null;
}

export interface GraphNode extends GroundedElement {
  readonly type: string;
}

export interface GraphEdge extends GroundedElement {
  readonly sourceId: string;
  readonly targetId: string;
  readonly predicate: string;
}

/** A claim about a node or an edge. */
export interface GraphAssertion extends GraphElement {
  readonly subjectId: string;
  readonly subjectKind: string;
  readonly status: string;
  readonly method: string;
  readonly actor: string;
}

/** The verdict of a reviewer on an assertion, a node or an edge. */
export interface GraphReview extends GraphElement {
  readonly subjectId: string;
  readonly subjectKind: string;
  readonly status: string;
  readonly reviewer: string;
}

/** A part of a graph that a caller stored under a name. */
export interface GraphProjection extends GraphElement {
  readonly startNodeIds?: readonly string[] | null;
}

export interface GraphScope {
  readonly graphId: string;
  readonly namespace: string;
  readonly collection: string;
  readonly tenantId: string;
  /** As given; may be empty. */
  readonly partitionKey: string;
  readonly [member: string]: Json | undefined;
}

/** Lists of a graph in the order of its records. */
export interface GraphLists {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly assertions: readonly GraphAssertion[];
  readonly reviews: readonly GraphReview[];
  readonly projections: readonly GraphProjection[];
}

export interface GraphEnvelope extends GraphLists {
  readonly schema: string;
  readonly scope: GraphScope;
  readonly metadata: { readonly [name: string]: Json } | null;
}

export type GraphKind = 'envelope' | 'node' | 'edge' | 'assertion' | 'review' | 'projection';

/** Whether the element has a source. */
export function isGrounded({ sourceSpans }: Pick<GroundedElement, 'sourceSpans'>): boolean {
  return (sourceSpans ?? []).length > 0;
}

/** Only spans that are objects count. */
export function spansOf({
  sourceSpans,
}: {
  readonly sourceSpans?: readonly Json[] | null;
}): readonly GraphSpan[] {
  return (sourceSpans ?? []).filter(
    (span): span is GraphSpan & Json => typeof span === 'object' && span !== null && !Array.isArray(span),
  );
}
