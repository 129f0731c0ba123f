import { type JsonObject, sha256 } from '../../../kernel/canonical-json.ts';
import { elapsedMs } from '../../../kernel/timestamp.ts';
import type { Ingested } from '../../../rag/ingest.ts';
import { TRACED_SUCCESS } from '../../../traces/trace.ts';
import { writeTrace } from '../../../traces/write-trace.ts';
import type { RagLayers } from './job-view.ts';

const OPERATION = 'rag.ingest_text';
const ID_DIGITS = 32;

export interface TracedPlace {
  /** `null` for a plan without a job. */
  readonly runId: string | null;
  readonly index: number;
  readonly space: string;
  readonly startedAt: number;
}

/**
 * The trace for the answer; `null` if the request asks for none. It is stored if the job has written records. Its id derives from the
 * job, so a repeated execution has one trace. A failure to store it does not fail the job.
 */
export async function traceIngestion(
  { records, traces, embeddings }: Pick<RagLayers, 'records' | 'traces' | 'embeddings'>,
  { plan, written }: Ingested,
  { runId, index, space, startedAt }: TracedPlace,
): Promise<JsonObject | null> {
  const { document, manifest, counts } = plan;
  const { options } = document;
  if (!options.includeTrace) return null;
  const id = written === null ? null : traceIdOf(`${runId}\n${index}`);
  const durationMs = elapsedMs(startedAt, records.world.clock.now());
  const { provider, modelId, dimensions } = embeddings.embedder;
  const request = {
    collection: document.collection,
    documentId: document.documentId,
    partitionKey: document.partitionKey,
    type: document.type,
    contentField: document.contentField,
    embeddingField: document.embedding.policy.name,
    embeddingProvider: provider,
    embeddingModel: modelId,
    embeddingPurpose: document.embedding.purpose,
    embeddingDimensions: dimensions,
    textLength: document.text.length,
    textHash: document.textHash,
    metadataHash: document.metadataHash,
    sourceHash: document.sourceHash,
    options: { ...options },
  };
  const summary = {
    status: TRACED_SUCCESS,
    planHash: plan.hash,
    manifestHash: manifest?.hash ?? null,
    manifestAction: manifest?.action ?? null,
    ...counts,
  };
  const isStored = async () => {
    if (id === null) return false;
    const draft = { id, operation: OPERATION, adapter: null, request, resultSummary: summary };
    return writeTrace(traces, space, { ...draft, startedAt, durationMs }).catch(() => false);
  };
  const tracePersisted = await isStored();
  return { id, operation: OPERATION, tracePersisted, durationMs, ...request, ...summary };
}

function traceIdOf(place: string): string {
  return `trace-${sha256(place).slice('sha256:'.length).slice(0, ID_DIGITS)}`;
}
