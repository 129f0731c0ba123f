import { ServiceError } from '../kernel/errors.ts';
import { elapsedMs } from '../kernel/timestamp.ts';
import { refusedBy } from '../providers/refusal.ts';
import { isCaseFault } from '../retrieval/evaluation/case-fault.ts';
import type { RetrievalParts } from '../retrieval/parts.ts';
import { type BuiltContext, buildContext, type ContextCall, type ContextQuestion } from './build-context.ts';
import { type CaseVerdict, type ExpectedGraph, judgeCase } from './rules/evaluation.ts';

export interface EvaluatedCase {
  readonly name?: string | null;
  readonly request: ContextQuestion;
  readonly expectedGraph?: ExpectedGraph | null;
  readonly metadata?: { readonly queryId?: unknown } | null;
}

/** A case that ran. */
export interface TriedContext {
  readonly index: number;
  readonly asked: EvaluatedCase;
  readonly durationMs: number;
  readonly outcome:
    | { readonly built: BuiltContext; readonly verdict: CaseVerdict }
    /** Whether every further try would get the same refusal, also of a provider: other errors end the evaluation. */
    | { readonly refused: ServiceError };
}

/**
 * Builds the contexts of the cases one after the other and judges each. A refused case fails alone; without `continueOnError` the
 * remaining cases are skipped. Throws transient failures, also of a reranker whose failure the case may fall back from.
 */
export async function* evaluateContexts(
  parts: RetrievalParts,
  space: string,
  cases: readonly EvaluatedCase[],
  call: ContextCall & { readonly continueOnError: boolean },
): AsyncGenerator<TriedContext, void> {
  const { clock, turns: room } = parts.records.world;
  const turns = room.of(space, call.signal);
  for (const [index, asked] of cases.entries()) {
    call.signal?.throwIfAborted();
    const startedAt = clock.now();
    const pointer = `/cases/${index}/request`;
    const outcome = await tried(parts, space, asked, { ...call, pointer });
    yield { index, asked, durationMs: elapsedMs(startedAt, clock.now()), outcome };
    if ('refused' in outcome && !call.continueOnError) return;
    await turns.next();
  }
}

async function tried(
  parts: RetrievalParts,
  space: string,
  { request, expectedGraph = null }: EvaluatedCase,
  call: ContextCall,
): Promise<TriedContext['outcome']> {
  try {
    // If the reranker is overloaded, the case must not be judged by a context in the order before reranking.
    const built = await buildContext(parts, space, request, { ...call, throwsPassing: true });
    return { built, verdict: judgeCase(contextFacts(built), expectedGraph) };
  } catch (error) {
    call.signal?.throwIfAborted();
    const refused = refusedBy(error);
    if (!isCaseFault(error) || !(refused instanceof ServiceError)) throw error;
    return { refused };
  }
}

/** A node and an edge may have the same id: the id is grounded if each of its elements is. */
function groundedById(
  items: readonly { readonly entityId: string; readonly sourceSpans: readonly unknown[] }[],
): ReadonlyMap<string, boolean> {
  const grounded = new Map<string, boolean>();
  for (const { entityId, sourceSpans } of items)
    grounded.set(entityId, sourceSpans.length > 0 && grounded.get(entityId) !== false);
  return grounded;
}

function contextFacts({ chosen, graph }: BuiltContext): Parameters<typeof judgeCase>[0] {
  const provenance = graph?.provenance.items ?? [];
  return {
    chunkCount: chosen.chunks.length,
    graphStatus: graph?.status ?? 'not_requested',
    nodeIds: new Set(graph?.found.nodes.map(({ id }) => id)),
    edgeIds: new Set(graph?.found.edges.map(({ id }) => id)),
    provenance: groundedById(provenance),
    graphContextText: (graph?.text ?? '') !== '',
    contextTextTruncated: graph?.summary.contextTextTruncated ?? false,
    graphBudgetTruncated: graph?.sourceTruncated ?? false,
  };
}
