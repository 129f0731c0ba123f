import type { IngestPlan } from './plan.ts';
import type { ChunkAction, EmbeddingAction, PlannedChunk } from './plan-chunks.ts';

export interface PlanHashComparison {
  readonly kind: 'ragIngestPlan' | 'ragIngestManifest';
  readonly expectedHash: string | null;
  readonly actualHash: string | null;
  readonly compared: boolean;
  readonly matches: boolean;
  readonly status: 'not_provided' | 'actual_missing' | 'matched' | 'drifted';
}

/** Compares two hashes unit by unit. A difference is reported and refuses nothing. */
export function comparePlanHashes(
  kind: PlanHashComparison['kind'],
  expectedHash: string | null,
  actualHash: string | null,
): PlanHashComparison {
  const common = { kind, expectedHash, actualHash };
  if (expectedHash === null) return { ...common, compared: false, matches: false, status: 'not_provided' };
  if (actualHash === null) return { ...common, compared: false, matches: false, status: 'actual_missing' };
  const matches = expectedHash === actualHash;
  return { ...common, compared: true, matches, status: matches ? 'matched' : 'drifted' };
}

const actions: readonly ChunkAction[] = ['created', 'updated', 'reused', 'deduplicated'];
const embeddingActions: readonly EmbeddingAction[] = ['generated', 'reused', 'unchanged', 'deduplicated'];

/** The actions of a plan with the ids of their chunks; an action without chunks is listed too. */
export function actionSummary({ chunks, stale }: Pick<IngestPlan, 'chunks' | 'stale'>) {
  const ids = (action: ChunkAction) => chunks.filter((each) => each.action === action).map(({ id }) => id);
  return {
    actionCounts: countsBy(actions, (action) => ids(action).length),
    embeddingActionCounts: countsBy(
      embeddingActions,
      (action) => chunks.filter(({ embeddingAction }) => embeddingAction === action).length,
    ),
    createdIds: ids('created'),
    updatedIds: ids('updated'),
    reusedIds: ids('reused'),
    deduplicatedIds: ids('deduplicated'),
    staleDeleteIds: stale.map(({ id }) => id),
  };
}

function countsBy(names: readonly string[], count: (name: never) => number): Record<string, number> {
  return Object.fromEntries(names.map((name) => [name, count(name as never)]));
}

/** A chunk of the answer; a written record has etag and revision. */
export function chunkAnswer(
  { document }: IngestPlan,
  chunk: PlannedChunk,
  stamp: { readonly etag: string; readonly revision: number } | null,
) {
  const { index, id, charStart, charEnd, textHash, embeddingTextHash, action, embeddingAction } = chunk;
  return {
    index,
    id,
    partitionKey: document.partitionKey,
    charStart,
    charEnd,
    textLength: charEnd - charStart,
    textHash,
    embeddingTextHash,
    action,
    embeddingAction,
    reusedVectorFromId: chunk.vectorFrom?.id ?? null,
    reusedVectorFromPartitionKey: chunk.vectorFrom?.partitionKey ?? null,
    deduplicatedFromId: chunk.duplicateOf?.id ?? null,
    deduplicatedFromPartitionKey: chunk.duplicateOf?.partitionKey ?? null,
    etag: stamp?.etag ?? null,
    revision: stamp?.revision ?? null,
  };
}
