import { type GraphSource, projectionOf } from '../../graph/rules/projection.ts';
import type { Seeds } from '../../graph/rules/seeds.ts';
import type { Traversed } from '../../graph/rules/traverse.ts';
import type { ExpansionOptions } from './expansion-request.ts';
import {
  type ExpansionLimit,
  type ExpansionStatus,
  type FoundGraph,
  graphText,
  groundingStatus,
  limitsHit,
  type Provenance,
  provenanceOf,
} from './graph-context.ts';

/** The result of a walk, and the part of the graph that it read. */
interface WalkedGraph {
  readonly traversed: Traversed;
  readonly source: GraphSource;
  readonly continuationToken: string | null;
}

/** The outcome of an attempt to walk the graph. */
export type WalkOutcome =
  | { readonly status: 'succeeded'; readonly walked: WalkedGraph }
  | {
      readonly status: Exclude<ExpansionStatus, 'succeeded'>;
      /** Why the walk found nothing; `null` if it did not run. */
      readonly reason: string | null;
    };

/** The part of a context that comes from the graph. */
export interface GraphExpansion {
  readonly status: ExpansionStatus;
  /** `null` if the request disables it. */
  readonly context: ReturnType<typeof contextMembers> | null;
  readonly summary: ReturnType<typeof summaryMembers>;
  /** The text that is appended to that of the context. */
  readonly text: string | null;
  readonly found: FoundGraph;
  readonly provenance: Provenance;
  readonly sourceTruncated: boolean;
}

const NOTHING: FoundGraph = { nodes: [], edges: [] };

/** Combines the results of the walk. `recordIds` are those of the chunks. */
export function graphExpansion(
  options: ExpansionOptions,
  seeds: Seeds,
  outcome: WalkOutcome,
  recordIds: readonly string[],
): GraphExpansion {
  const walked = outcome.status === 'succeeded' ? outcome.walked : null;
  const projection =
    walked === null
      ? null
      : projectionOf(
          options.graphId ?? 'default',
          options.profile,
          seeds.nodeIds,
          walked.traversed,
          walked.source,
        );
  const found: FoundGraph = projection ?? NOTHING;
  const text =
    projection !== null && options.includeText ? graphText(seeds.nodeIds, found, options.maxTextChars) : null;
  const provenance =
    projection !== null && options.includeProvenance
      ? provenanceOf(found, options.maxProvenanceItems)
      : { items: [], omitted: 0 };
  const made = { options, seeds, outcome, walked, projection, found, text, provenance };
  const limits = limitsOf(made);
  return {
    status: outcome.status,
    context: outcome.status === 'not_requested' ? null : contextMembers(made, limits),
    summary: summaryMembers(made, limits, recordIds),
    text: text?.text ?? null,
    found,
    provenance,
    sourceTruncated: walked?.source.sourceTruncated ?? outcome.status === 'budget_truncated',
  };
}

interface Made {
  readonly options: ExpansionOptions;
  readonly seeds: Seeds;
  readonly outcome: WalkOutcome;
  readonly walked: WalkedGraph | null;
  readonly projection: ReturnType<typeof projectionOf> | null;
  readonly found: FoundGraph;
  readonly text: ReturnType<typeof graphText> | null;
  readonly provenance: Provenance;
}

function limitsOf({ seeds, outcome, walked, text, provenance }: Made): readonly ExpansionLimit[] {
  return limitsHit({
    maxRecords: outcome.status === 'budget_truncated' || walked?.source.sourceTruncated === true,
    edgeLimit: walked?.traversed.edgeTruncated ?? false,
    nodeLimit: walked?.traversed.nodeLimitReached ?? false,
    maxGraphContextChars: text?.truncated ?? false,
    maxGraphProvenanceItems: provenance.omitted > 0,
    maxSeedNodes: seeds.droppedCount > 0,
  });
}

/** The number of records that were read, and the estimated number of the whole graph. */
function sourceOf({ walked }: Made) {
  const sourceRecordCount = walked?.source.sourceRecordCount ?? 0;
  const sourceTruncated = walked?.source.sourceTruncated ?? false;
  const estimated = walked === null ? null : sourceRecordCount + (sourceTruncated ? 1 : 0);
  return {
    sourceRecordCount,
    sourceTruncated,
    exportedRecordCount: sourceRecordCount,
    estimatedRequiredRecordCount: estimated,
  };
}

function contextMembers(made: Made, limits: readonly ExpansionLimit[]) {
  const { options, seeds, outcome, walked, projection, found, text, provenance } = made;
  return {
    status: outcome.status,
    collection: options.collection,
    graphId: options.graphId,
    seedNodeIds: seeds.nodeIds,
    seedCandidateCount: seeds.candidateCount,
    projection,
    nodeCount: found.nodes.length,
    edgeCount: found.edges.length,
    ...sourceOf(made),
    contextText: text?.text ?? null,
    contextTextHash: text?.hash ?? null,
    contextTextChars: text?.text.length ?? 0,
    contextTextTruncated: text?.truncated ?? false,
    provenance: provenance.items,
    omittedProvenanceCount: provenance.omitted,
    failureReason: outcome.status === 'succeeded' ? null : outcome.reason,
    seedJsonPointers: options.seedJsonPointers,
    seedDiagnostics: seeds.diagnostics,
    omittedSeedDiagnosticCount: seeds.omittedDiagnosticCount,
    droppedSeedCount: seeds.droppedCount,
    maxSeedNodes: options.maxSeedNodes,
    requestedMaxRecords: options.maxRecords,
    sourceContinuationToken: walked?.continuationToken ?? null,
    limitsHit: limits,
  };
}

function summaryMembers(made: Made, limits: readonly ExpansionLimit[], recordIds: readonly string[]) {
  const { options, seeds, outcome, found, text, provenance } = made;
  const { status } = outcome;
  const isSkipped = status === 'not_requested' || status === 'no_seeds';
  const touched = seeds.diagnostics.flatMap(({ recordId, accepted }) =>
    accepted && recordId !== null ? [recordId] : [],
  );
  return {
    expansionAttempted: !isSkipped,
    expansionEnabled: options.enabled,
    collection: options.collection,
    graphId: options.graphId,
    namespace: options.namespace,
    tenantId: options.tenantId,
    partitionKey: options.partitionKey,
    status,
    skippedReason: isSkipped ? status : null,
    profileId: options.profile.id,
    maxDepth: options.profile.maxDepth,
    nodeLimit: options.profile.limit,
    edgeLimit: options.profile.edgeLimit,
    maxRecords: options.maxRecords,
    maxGraphContextChars: options.maxTextChars,
    maxGraphProvenanceItems: options.maxProvenanceItems,
    retrievedRecordIds: recordIds,
    sourceRecordIdsTouched: [...new Set(touched)],
    seedJsonPointers: options.seedJsonPointers,
    seedCandidateCount: seeds.candidateCount,
    seedCount: seeds.nodeIds.length,
    seedNodeIds: seeds.nodeIds,
    droppedSeedCount: seeds.droppedCount,
    nodesAdded: found.nodes.length,
    edgesAdded: found.edges.length,
    relationshipsAdded: found.edges.length,
    ...sourceOf(made),
    limitsHit: limits,
    groundingStatus: groundingStatus(found),
    graphContextInfluencedContextText: (text?.text ?? '') !== '',
    contextTextTruncated: text?.truncated ?? false,
    omittedProvenanceCount: provenance.omitted,
  };
}
