import type { Json } from '../../kernel/canonical-json.ts';
import { compareUtf8 } from '../../kernel/utf8-order.ts';
import { type GraphEnvelope, type GraphKind, type GraphScope, type GraphSpan, spansOf } from './elements.ts';
import { partitionOf } from './read-scope.ts';
import { envelopeSubject, graphRecordId } from './record-ids.ts';

/** A record of a graph in the form of an upsert. */
export interface GraphRecord {
  readonly id: string;
  readonly partitionKey: string;
  readonly type: string;
  readonly schemaVersion: string;
  readonly metadata: { readonly [name: string]: Json };
  readonly content: { readonly [name: string]: Json };
  readonly sources: readonly Json[];
  readonly vectors: null;
}

type Members = Readonly<Record<string, Json>>;

interface Mapped {
  readonly kind: GraphKind;
  readonly subjectId: string;
  /** Override the common metadata. */
  readonly metadata: Members;
  readonly content: Members;
  readonly text: readonly (Json | undefined)[];
  readonly spans: readonly GraphSpan[];
}

/** The same graph with each list in the order of its ids, so that equal graphs give equal records. */
export function inIdOrder(envelope: GraphEnvelope): GraphEnvelope {
  return {
    ...envelope,
    nodes: byId(envelope.nodes),
    edges: byId(envelope.edges),
    assertions: byId(envelope.assertions),
    reviews: byId(envelope.reviews),
    projections: byId(envelope.projections),
  };
}

function byId<Element extends { readonly id: string }>(elements: readonly Element[]): readonly Element[] {
  return elements.toSorted((a, b) => compareUtf8(a.id, b.id));
}

/** The records of a graph: the envelope, then its elements list by list. One record a step. */
export function* graphRecords(envelope: GraphEnvelope): Generator<GraphRecord, void> {
  for (const mapped of mappedElements(envelope)) yield recordOf(envelope, mapped);
}

function* mappedElements(envelope: GraphEnvelope): Generator<Mapped, void> {
  const { scope, schema, metadata } = envelope;
  yield {
    kind: 'envelope',
    subjectId: envelopeSubject(scope),
    metadata: {},
    content: { schema, metadata },
    text: ['graph envelope', scope.graphId],
    spans: [],
  };
  for (const node of envelope.nodes) {
    const { id, type, label } = node;
    const content = { node: node as Json };
    yield {
      kind: 'node',
      subjectId: id,
      metadata: { nodeId: id, nodeType: type },
      content,
      text: [id, type, label],
      spans: spansOf(node),
    };
  }
  for (const edge of envelope.edges) {
    const { id, sourceId, targetId, predicate, label } = edge;
    const facts = { edgeId: id, sourceId, targetId, predicate };
    const text = [id, sourceId, predicate, targetId, label];
    yield {
      kind: 'edge',
      subjectId: id,
      metadata: facts,
      content: { edge: edge as Json },
      text,
      spans: spansOf(edge),
    };
  }
  yield* mappedClaims(envelope);
}

function* mappedClaims({ assertions, reviews, projections }: GraphEnvelope): Generator<Mapped, void> {
  for (const assertion of assertions) {
    const { id, subjectId, subjectKind, status, method, actor } = assertion;
    yield {
      kind: 'assertion',
      subjectId: id,
      metadata: { assertionId: id, subjectId, subjectKind, assertionStatus: status },
      content: { assertion: assertion as Json },
      text: [id, subjectKind, subjectId, status, method, actor],
      spans: spansOf(assertion as { readonly sourceSpans?: readonly Json[] }),
    };
  }
  for (const review of reviews) {
    const { id, subjectId, subjectKind, status, reviewer } = review;
    yield {
      kind: 'review',
      subjectId: id,
      metadata: { reviewId: id, subjectId, subjectKind, reviewStatus: status },
      content: { review: review as Json },
      text: [id, subjectKind, subjectId, status, reviewer, review['notes']],
      spans: [],
    };
  }
  for (const projection of projections) {
    const { id } = projection;
    const profile = projection['profile'];
    const profileId = typeof profile === 'object' && profile !== null && 'id' in profile ? profile.id : null;
    const content = { projection: projection as Json };
    yield {
      kind: 'projection',
      subjectId: id,
      metadata: { projectionId: id },
      content,
      text: [id, profileId],
      spans: [],
    };
  }
}

function recordOf({ schema, scope }: GraphEnvelope, mapped: Mapped): GraphRecord {
  const { kind, subjectId, metadata, content, text, spans } = mapped;
  return {
    id: graphRecordId(kind, subjectId),
    partitionKey: partitionOf(scope),
    type: `graph.${kind}`,
    schemaVersion: schema,
    metadata: { ...commonMetadata(kind, scope, subjectId), ...metadata },
    content: { text: joined(text), kind, scope: scope as Json, ...content },
    sources: spans.map(sourceOf),
    vectors: null,
  };
}

function commonMetadata(graphKind: GraphKind, scope: GraphScope, subjectId: string): Members {
  const { graphId, namespace, collection, tenantId } = scope;
  const graphPartitionKey = partitionOf(scope);
  return {
    graphKind,
    graphId,
    namespace,
    scopeCollection: collection,
    tenantId,
    graphPartitionKey,
    subjectId,
  };
}

function joined(parts: readonly (Json | undefined)[]): string {
  return parts.filter((part): part is string => typeof part === 'string' && part.trim() !== '').join(' ');
}

function sourceOf({ sourceRef, charStart, charEnd, unit, locator, textHash }: GraphSpan): Json {
  const ref = typeof sourceRef === 'string' && sourceRef.trim() !== '' ? sourceRef : null;
  const anchor = locator ?? null;
  return {
    id: ref ?? 'graph-source',
    kind: 'graphSourceSpan',
    uri: ref ?? 'graph://source',
    label: anchor,
    span: {
      charStart: charStart ?? null,
      charEnd: charEnd ?? null,
      anchor,
      unit: unit ?? 'utf16',
      ...(typeof textHash === 'string' && textHash !== '' ? { textHash } : {}),
    },
  };
}
