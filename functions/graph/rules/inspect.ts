import type { RecordValue } from '../../collections/rules/record-key.ts';
import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { objectOrEmpty } from '../../kernel/json-kinds.ts';
import type { GraphAssertion, GraphEdge, GraphNode, GraphProjection, GraphReview } from './elements.ts';
import { Grounding } from './grounding.ts';
import { elementIn } from './rebuild.ts';
import { countWords } from './word-counts.ts';

type AnomalyKind =
  | `duplicate${'Node' | 'Edge' | 'Assertion' | 'Review' | 'Projection'}Id`
  | 'danglingEdge'
  | 'orphanAssertion'
  | 'orphanReview'
  | 'danglingAssertionReference'
  | 'danglingProjectionStartNode';

interface GraphAnomaly {
  readonly kind: AnomalyKind;
  readonly id: string;
  readonly subjectId: string | null;
  readonly subjectKind: string | null;
  readonly message: string;
  readonly details: JsonObject;
}

export interface InspectionOptions {
  readonly includeAnomalies: boolean;
  /** Anomalies that the answer lists; it counts all. */
  readonly anomalyLimit: number;
  readonly allowPartialGraph: boolean;
  /** Whether the records are only a part of the graph. */
  readonly truncated: boolean;
}

const kinds = ['node', 'edge', 'assertion', 'review', 'projection'] as const;
type ElementKind = (typeof kinds)[number];

interface Elements {
  readonly node: GraphNode[];
  readonly edge: GraphEdge[];
  readonly assertion: GraphAssertion[];
  readonly review: GraphReview[];
  readonly projection: GraphProjection[];
}

/** Whether a traversal gives full results: no dangling edges, no duplicate ids, no omitted records. */
const blocking: ReadonlySet<AnomalyKind> = new Set([
  'danglingEdge',
  'orphanAssertion',
  'orphanReview',
  ...kinds.map((kind) => duplicateOf(kind)),
]);

/** Counts the records of a graph and finds anomalies, one record or element a step. */
export function* inspectGraph(records: readonly RecordValue[], options: InspectionOptions) {
  const elements: Elements = { node: [], edge: [], assertion: [], review: [], projection: [] };
  for (const record of records) {
    const kind = kinds.find((each) => record['type'] === `graph.${each}`);
    const element = kind === undefined ? null : elementIn(record, kind);
    if (kind !== undefined && element !== null) (elements[kind] as unknown[]).push(element);
    yield;
  }
  const anomalies = new Anomalies(options.includeAnomalies ? options.anomalyLimit : 0);
  yield* findAnomalies(elements, anomalies);
  const isBlocked = [...blocking].some((kind) => anomalies.countOf(kind) > 0);
  const isPartial = options.truncated && !options.allowPartialGraph;
  const warnings = [
    ...(options.truncated ? ['The inspection has read a part of the graph.'] : []),
    ...anomalies.words(),
  ];
  return {
    recordCount: records.length,
    truncated: options.truncated,
    traversalReady: elements.node.length > 0 && !isPartial && !isBlocked,
    nodeCount: elements.node.length,
    edgeCount: elements.edge.length,
    assertionCount: elements.assertion.length,
    reviewCount: elements.review.length,
    projectionCount: elements.projection.length,
    ...recordCounts(records),
    ...elementCounts(elements),
    sourceGrounding: groundingOf(elements),
    ...anomalies.answer(),
    warningCount: warnings.length,
    warnings,
  };
}

function recordCounts(records: readonly RecordValue[]) {
  const facts = (name: string) => countWords(records.map(({ metadata }) => objectOrEmpty(metadata)[name]));
  return {
    recordTypeCounts: countWords(records.map(({ type }) => type)),
    graphIdCounts: facts('graphId'),
    namespaceCounts: facts('namespace'),
    tenantIdCounts: facts('tenantId'),
    partitionKeyCounts: countWords(records.map(({ partitionKey }) => partitionKey)),
  };
}

function elementCounts({ node, edge, assertion, review }: Elements) {
  return {
    nodeTypeCounts: countWords(node.map(({ type }) => type)),
    predicateCounts: countWords(edge.map(({ predicate }) => predicate)),
    assertionStatusCounts: countWords(assertion.map(({ status }) => status)),
    reviewStatusCounts: countWords(review.map(({ status }) => status)),
  };
}

function groundingOf({ node, edge, assertion }: Elements) {
  return {
    ...new Grounding(node).answer('node'),
    ...new Grounding(edge).answer('edge'),
    ...new Grounding(assertion).answer('assertion'),
  };
}

function duplicateOf(kind: ElementKind): AnomalyKind {
  return `duplicate${kind[0]?.toUpperCase()}${kind.slice(1)}Id` as AnomalyKind;
}

/** Finds anomalies in the order of kinds, and of records within a kind. */
function* findAnomalies(elements: Elements, anomalies: Anomalies): Generator<void, void> {
  const ids = {
    node: new Set(),
    edge: new Set(),
    assertion: new Set(),
    review: new Set(),
    projection: new Set(),
  };
  for (const kind of kinds) {
    for (const { id } of elements[kind]) {
      if (ids[kind].has(id))
        anomalies.add(duplicateOf(kind), id, null, `The ${kind} ${id} is there more than once.`);
      ids[kind].add(id);
      yield;
    }
  }
  const has = (kind: string, id: string): boolean => {
    if (Object.hasOwn(ids, kind)) return ids[kind as ElementKind].has(id);
    // A subject of an unknown kind may be any element.
    return kinds.some((each) => ids[each].has(id));
  };
  yield* findDangling(elements, has, anomalies);
}

function* findDangling(
  { node, edge, assertion, review, projection }: Elements,
  has: (kind: string, id: string) => boolean,
  anomalies: Anomalies,
): Generator<void, void> {
  for (const { id, sourceId, targetId } of edge) {
    const [sourceExists, targetExists] = [has('node', sourceId), has('node', targetId)];
    if (!sourceExists || !targetExists) {
      const details = { sourceId, sourceExists, targetId, targetExists };
      anomalies.add(
        'danglingEdge',
        id,
        null,
        `The edge ${id} has an end that is no node of the graph.`,
        details,
      );
    }
    yield;
  }
  for (const [kind, list] of [
    ['orphanAssertion', assertion],
    ['orphanReview', review],
  ] as const) {
    for (const { id, subjectId, subjectKind } of list) {
      if (!has(subjectKind, subjectId))
        anomalies.add(kind, id, { subjectId, subjectKind }, `The subject of ${id} is not in the graph.`);
      yield;
    }
  }
  for (const [subjectKind, list] of [
    ['node', node],
    ['edge', edge],
  ] as const) {
    for (const { id: subjectId, assertionIds } of list) {
      for (const id of assertionIds ?? [])
        if (!has('assertion', id))
          anomalies.add(
            'danglingAssertionReference',
            id,
            { subjectId, subjectKind },
            `The assertion ${id} is not in the graph.`,
          );
      yield;
    }
  }
  for (const { id: subjectId, startNodeIds } of projection) {
    for (const id of startNodeIds ?? [])
      if (!has('node', id))
        anomalies.add(
          'danglingProjectionStartNode',
          id,
          { subjectId, subjectKind: 'projection' },
          `The start ${id} is no node of the graph.`,
        );
    yield;
  }
}

class Anomalies {
  readonly #limit: number;
  readonly #counts = new Map<AnomalyKind, number>();
  readonly #kept: GraphAnomaly[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(
    kind: AnomalyKind,
    id: string,
    subject: { readonly subjectId: string; readonly subjectKind: string } | null,
    message: string,
    details: Readonly<Record<string, Json>> = {},
  ): void {
    this.#counts.set(kind, this.countOf(kind) + 1);
    if (this.#kept.length >= this.#limit) return;
    const { subjectId = null, subjectKind = null } = subject ?? {};
    this.#kept.push({ kind, id, subjectId, subjectKind, message, details });
  }

  countOf(kind: AnomalyKind): number {
    return this.#counts.get(kind) ?? 0;
  }

  words(): readonly string[] {
    return [...this.#counts].map(([kind, count]) => `${kind}: ${count}`);
  }

  answer() {
    const all = [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
    return {
      danglingEdgeCount: this.countOf('danglingEdge'),
      orphanAssertionCount: this.countOf('orphanAssertion'),
      orphanReviewCount: this.countOf('orphanReview'),
      danglingAssertionReferenceCount: this.countOf('danglingAssertionReference'),
      danglingProjectionStartNodeCount: this.countOf('danglingProjectionStartNode'),
      duplicateNodeIdCount: this.countOf('duplicateNodeId'),
      duplicateEdgeIdCount: this.countOf('duplicateEdgeId'),
      duplicateAssertionIdCount: this.countOf('duplicateAssertionId'),
      duplicateReviewIdCount: this.countOf('duplicateReviewId'),
      duplicateProjectionIdCount: this.countOf('duplicateProjectionId'),
      anomalyCount: all,
      returnedAnomalyCount: this.#kept.length,
      anomalies: this.#kept,
    };
  }
}
