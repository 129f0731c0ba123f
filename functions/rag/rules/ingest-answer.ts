import type { JsonObject } from '../../kernel/canonical-json.ts';
import type { IngestCounts, IngestPlan } from './plan.ts';
import { actionSummary, chunkAnswer, comparePlanHashes } from './plan-answer.ts';

/** Etag and revision of a record that was written. */
export interface Stamp {
  readonly id: string;
  readonly etag: string;
  readonly revision: number;
}

/** The answer about one document. `stamps` are the stamps of the written records. */
export function ingestAnswer(plan: IngestPlan, stamps: readonly Stamp[], trace: JsonObject | null) {
  const { document, manifest, stale, counts, chunks } = plan;
  const { embedding, options } = document;
  const { embedder, policy, purpose } = embedding;
  const written = new Map(stamps.map((stamp) => [stamp.id, stamp]));
  const manifestStamp = manifest === null ? null : (written.get(manifest.id) ?? null);
  return {
    collection: document.collection,
    documentId: document.documentId,
    partitionKey: document.partitionKey,
    embeddingField: policy.name,
    embeddingProvider: embedder.provider,
    embeddingModel: embedder.modelId,
    embeddingPurpose: purpose,
    dimensions: embedder.dimensions,
    textLength: document.text.length,
    textHash: document.textHash,
    planHash: plan.hash,
    dryRun: options.dryRun,
    ...counts,
    manifestId: manifest?.id ?? null,
    manifestHash: manifest?.hash ?? null,
    manifestAction: manifest?.action ?? null,
    manifestEtag: manifestStamp?.etag ?? null,
    manifestRevision: manifestStamp?.revision ?? null,
    actionSummary: actionSummary(plan),
    planHashComparison: comparePlanHashes('ragIngestPlan', options.expectedPlanHash, plan.hash),
    manifestHashComparison: comparePlanHashes(
      'ragIngestManifest',
      options.expectedManifestHash,
      manifest?.hash ?? null,
    ),
    staleDeletes: stale.map(({ id, partitionKey, chunkIndex, textHash, etag, revision }) => {
      return { id, partitionKey, chunkIndex, textHash, etag, revision };
    }),
    chunks: chunks.map((chunk) => chunkAnswer(plan, chunk, written.get(chunk.id) ?? null)),
    trace,
  };
}

export type IngestAnswer = ReturnType<typeof ingestAnswer>;

export interface BatchItemAnswer {
  readonly index: number;
  readonly documentId: string | null;
  readonly partitionKey: string | null;
  readonly status: 'succeeded' | 'failed';
  readonly result: IngestAnswer | null;
  readonly error: string | null;
}

/** Counts of the documents that succeeded. */
export interface IngestTotals extends IngestCounts {
  readonly textLength: number;
}

export const NO_TOTALS: IngestTotals = {
  textLength: 0,
  chunkCount: 0,
  deletedStaleCount: 0,
  createdCount: 0,
  updatedCount: 0,
  reusedCount: 0,
  vectorGeneratedCount: 0,
  vectorReusedCount: 0,
  deduplicatedCount: 0,
};

const names = Object.keys(NO_TOTALS) as readonly (keyof IngestTotals)[];

export function addedTotals(totals: IngestTotals, answer: IngestTotals): IngestTotals {
  const sums = names.map((name) => [name, totals[name] + answer[name]]);
  return Object.fromEntries(sums) as IngestTotals;
}

/** The counters in the result of a run. */
export function totalsIn(details: Readonly<Record<string, unknown>> | null | undefined): IngestTotals {
  const found = names.map((name) => [name, Number(details?.[name] ?? 0)]);
  return Object.fromEntries(found) as IngestTotals;
}

export function batchAnswer(collection: string, requested: number, items: readonly BatchItemAnswer[]) {
  const succeeded = items.filter(({ status }) => status === 'succeeded').length;
  const totals = items.reduce(
    (sum, { result }) => (result === null ? sum : addedTotals(sum, result)),
    NO_TOTALS,
  );
  return {
    collection,
    requested,
    attempted: items.length,
    succeeded,
    failed: items.length - succeeded,
    stoppedOnError: items.length < requested,
    ...totals,
    items,
  };
}
