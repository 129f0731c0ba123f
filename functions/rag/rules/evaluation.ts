import type { ExpansionStatus } from './graph-context.ts';

export interface ExpectedGraph {
  readonly nodeIds?: readonly string[] | null;
  readonly edgeIds?: readonly string[] | null;
  readonly provenanceEntityIds?: readonly string[] | null;
  readonly requireSourceGroundedProvenance?: boolean | null;
  readonly requireGraphContextText?: boolean | null;
  readonly requireContextTextNotTruncated?: boolean | null;
}

/** The elements of the context of a case. */
export interface EvaluatedContext {
  readonly chunkCount: number;
  readonly graphStatus: ExpansionStatus;
  readonly nodeIds: ReadonlySet<string>;
  readonly edgeIds: ReadonlySet<string>;
  /** Elements with provenance in the context, and whether each has a source. */
  readonly provenance: ReadonlyMap<string, boolean>;
  readonly graphContextText: boolean;
  readonly contextTextTruncated: boolean;
  readonly graphBudgetTruncated: boolean;
}

const categories = [
  'retrieval_miss',
  'seed_miss',
  'graph_not_found',
  'traversal_empty',
  'expected_node_missing',
  'expected_edge_missing',
  'expected_provenance_missing',
  'source_grounding_failed',
  'graph_context_text_missing',
  'context_text_truncated',
  'budget_truncated',
  'case_error',
] as const;
export type FailureCategory = (typeof categories)[number];

interface Matched {
  readonly expected: number;
  readonly matched: number;
  readonly missing: readonly string[];
}

export interface CaseVerdict {
  readonly passed: boolean;
  readonly nodes: Matched;
  readonly edges: Matched;
  readonly provenance: Matched;
  readonly sourceGroundedProvenanceCount: number;
  readonly sourceGroundingSatisfied: boolean;
  /** In the order of their list. */
  readonly failureCategories: readonly FailureCategory[];
}

/** Judges one case. Without expectations about the graph, the retrieval alone decides. */
export function judgeCase(context: EvaluatedContext, expected: ExpectedGraph | null): CaseVerdict {
  const nodes = matchedOf(expected?.nodeIds, (id) => context.nodeIds.has(id));
  const edges = matchedOf(expected?.edgeIds, (id) => context.edgeIds.has(id));
  const provenance = matchedOf(expected?.provenanceEntityIds, (id) => context.provenance.has(id));
  const grounded = [...context.provenance.values()].filter((isGrounded) => isGrounded).length;
  const isGroundingRequired = expected?.requireSourceGroundedProvenance ?? false;
  const sourceGroundingSatisfied =
    !isGroundingRequired || (grounded > 0 && grounded === context.provenance.size);
  const missed: Readonly<Partial<Record<FailureCategory, boolean>>> = {
    retrieval_miss: context.chunkCount === 0,
    expected_node_missing: nodes.missing.length > 0,
    expected_edge_missing: edges.missing.length > 0,
    expected_provenance_missing: provenance.missing.length > 0,
    source_grounding_failed: !sourceGroundingSatisfied,
    graph_context_text_missing: (expected?.requireGraphContextText ?? false) && !context.graphContextText,
    context_text_truncated:
      (expected?.requireContextTextNotTruncated ?? false) && context.contextTextTruncated,
  };
  const passed = !Object.values(missed).includes(true);
  // These diagnostics explain a failed case, and do not make a case fail.
  const reasons = passed || expected === null ? {} : reasonsOf(context);
  const failureCategories = categories.filter((category) => ({ ...missed, ...reasons })[category] === true);
  return {
    passed,
    nodes,
    edges,
    provenance,
    sourceGroundedProvenanceCount: grounded,
    sourceGroundingSatisfied,
    failureCategories,
  };
}

function reasonsOf({ graphStatus, nodeIds, graphBudgetTruncated }: EvaluatedContext) {
  return {
    seed_miss: graphStatus === 'no_seeds',
    graph_not_found: graphStatus === 'graph_not_found',
    traversal_empty: graphStatus === 'succeeded' && nodeIds.size === 0,
    budget_truncated: graphBudgetTruncated,
    case_error: graphStatus === 'failed',
  } satisfies Partial<Record<FailureCategory, boolean>>;
}

function matchedOf(
  expected: readonly string[] | null | undefined,
  isThere: (id: string) => boolean,
): Matched {
  const ids = [...new Set(expected ?? [])];
  const missing = ids.filter((id) => !isThere(id));
  return { expected: ids.length, matched: ids.length - missing.length, missing };
}

/** A case that ran; `null` if it failed with an error. */
export type TriedCase = CaseVerdict | null;

/** Rates over the cases that ran: 1 if they expect nothing. */
export function evaluationRates(cases: readonly TriedCase[]) {
  const verdicts = cases.filter((each) => each !== null);
  const passedCount = verdicts.filter(({ passed }) => passed).length;
  const found = cases.flatMap((each) => each?.failureCategories ?? (['case_error'] as const));
  const failureCategoryCounts: Record<string, number> = {};
  for (const category of found) failureCategoryCounts[category] = (failureCategoryCounts[category] ?? 0) + 1;
  return {
    passedCount,
    passRate: rate(passedCount, cases.length),
    nodeHitRate: hitRate(verdicts.map(({ nodes }) => nodes)),
    edgeHitRate: hitRate(verdicts.map(({ edges }) => edges)),
    provenanceHitRate: hitRate(verdicts.map(({ provenance }) => provenance)),
    failureCategoryCounts,
  };
}

function hitRate(matched: readonly Matched[]): number {
  const sum = (count: (each: Matched) => number) => matched.reduce((all, each) => all + count(each), 0);
  return rate(
    sum((each) => each.matched),
    sum((each) => each.expected),
  );
}

function rate(part: number, whole: number): number {
  return whole === 0 ? 1 : part / whole;
}

/** The most characters of a name in an answer. */
const QUERY_ID_LENGTH_MAX = 2_048;

/** The name of a case in the answer, truncated. `index` counts from 0. */
export function queryIdOf(
  name: string | null,
  metadata: { readonly queryId?: unknown } | null,
  index: number,
): string {
  const own = metadata?.queryId;
  if (typeof own === 'string' && own.trim() !== '') return own.slice(0, QUERY_ID_LENGTH_MAX).toWellFormed();
  return name !== null && name.trim() !== '' ? name : `case-${index}`;
}
