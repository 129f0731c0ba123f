import { type CaseVerdict, type ExpectedGraph, evaluationRates, type FailureCategory } from './evaluation.ts';
import type { ExpansionLimit, ExpansionStatus } from './graph-context.ts';

/** The answer about one case. */
export interface ContextCaseAnswer {
  readonly index: number;
  readonly name: string | null;
  readonly durationMs: number;
  readonly queryId: string;
  readonly profileName: string;
  readonly expected: ExpectedGraph | null;
  readonly outcome: CaseOutcome;
}

export type CaseOutcome =
  | { readonly error: string }
  | {
      readonly verdict: CaseVerdict;
      readonly retrievedRecordIds: readonly string[];
      readonly nodeIds: readonly string[];
      readonly edgeIds: readonly string[];
      readonly lexicalCount: number;
      readonly vectorCount: number;
      readonly graphStatus: ExpansionStatus;
      readonly graphTextPresent: boolean;
      readonly graphTextTruncated: boolean;
      readonly budgetTruncated: boolean;
      readonly limits: readonly ExpansionLimit[];
      readonly contribution: object | null;
      /** The JSON text of the context; `null` if the request excludes it. */
      readonly context: string | null;
    };

/** The JSON text of one case. */
export function caseJson(answer: ContextCaseAnswer): string {
  const { index, name, durationMs, queryId, profileName, outcome } = answer;
  const first = {
    index,
    name,
    durationMs,
    queryId,
    profileName,
    expectedAnchorIds: anchorsOf(answer.expected),
  };
  if ('error' in outcome) return JSON.stringify({ ...first, ...REFUSED, error: outcome.error });
  const { verdict, context, ...found } = outcome;
  const members = {
    ...first,
    status: 'succeeded',
    passed: verdict.passed,
    graph: graphOf(outcome),
    error: null,
    retrievedRecordIds: found.retrievedRecordIds,
    graphExpandedNodeIds: found.nodeIds,
    graphExpandedEdgeIds: found.edgeIds,
    lexicalContributionCount: found.lexicalCount,
    vectorContributionCount: found.vectorCount,
    graphContributionCount: found.nodeIds.length + found.edgeIds.length,
    failureCategories: verdict.failureCategories,
    limitReasons: found.limits,
    graphContribution: found.contribution,
  };
  return `${JSON.stringify(members).slice(0, -1)},"context":${context ?? 'null'}}`;
}

const REFUSED = {
  status: 'failed',
  passed: false,
  graph: null,
  context: null,
  retrievedRecordIds: [],
  graphExpandedNodeIds: [],
  graphExpandedEdgeIds: [],
  lexicalContributionCount: 0,
  vectorContributionCount: 0,
  graphContributionCount: 0,
  failureCategories: ['case_error'],
  limitReasons: [],
  graphContribution: null,
};

function anchorsOf(expected: ExpectedGraph | null): readonly string[] {
  const { nodeIds, edgeIds, provenanceEntityIds } = expected ?? {};
  return [...new Set([...(nodeIds ?? []), ...(edgeIds ?? []), ...(provenanceEntityIds ?? [])])];
}

function graphOf({ verdict, ...found }: Exclude<CaseOutcome, { readonly error: string }>) {
  const { nodes, edges, provenance, failureCategories } = verdict;
  return {
    status: found.graphStatus,
    expectedNodeCount: nodes.expected,
    matchedNodeCount: nodes.matched,
    missingNodeIds: nodes.missing,
    expectedEdgeCount: edges.expected,
    matchedEdgeCount: edges.matched,
    missingEdgeIds: edges.missing,
    expectedProvenanceCount: provenance.expected,
    matchedProvenanceCount: provenance.matched,
    missingProvenanceEntityIds: provenance.missing,
    sourceGroundedProvenanceCount: verdict.sourceGroundedProvenanceCount,
    sourceGroundingSatisfied: verdict.sourceGroundingSatisfied,
    graphContextTextPresent: found.graphTextPresent,
    contextTextTruncated: found.graphTextTruncated,
    passed: verdict.passed,
    budgetTruncated: found.budgetTruncated,
    failureModes: modesOf(failureCategories),
    failureCategories,
  };
}

function modesOf(found: readonly FailureCategory[]) {
  const has = (category: FailureCategory) => found.includes(category);
  return {
    retrievalMiss: has('retrieval_miss'),
    seedMiss: has('seed_miss'),
    graphNotFound: has('graph_not_found'),
    traversalEmpty: has('traversal_empty'),
    expectedNodeMissing: has('expected_node_missing'),
    expectedEdgeMissing: has('expected_edge_missing'),
    expectedProvenanceMissing: has('expected_provenance_missing'),
    sourceGroundingFailed: has('source_grounding_failed'),
    graphContextTextMissing: has('graph_context_text_missing'),
    contextTextTruncated: has('context_text_truncated'),
    budgetTruncated: has('budget_truncated'),
  };
}

/** The JSON text of an evaluation. `texts` are those of the cases. */
export function evaluationJson(
  requested: number,
  cases: readonly ContextCaseAnswer[],
  texts: readonly string[],
): string {
  const verdicts = cases.map(({ outcome }) => ('error' in outcome ? null : outcome.verdict));
  const failed = verdicts.filter((verdict) => verdict === null).length;
  const limitReasonCounts: Record<string, number> = {};
  for (const { outcome } of cases)
    for (const limit of 'error' in outcome ? [] : outcome.limits)
      limitReasonCounts[limit] = (limitReasonCounts[limit] ?? 0) + 1;
  const members = {
    requested,
    attempted: cases.length,
    succeeded: cases.length - failed,
    failed,
    stoppedOnError: cases.length < requested,
    ...evaluationRates(verdicts),
    limitReasonCounts,
  };
  return `${JSON.stringify(members).slice(0, -1)},"cases":[${texts.join(',')}]}`;
}
