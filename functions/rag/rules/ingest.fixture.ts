import { finish } from '../../../test/support/finish.ts';
import { readPolicy } from '../../collections/rules/policy.ts';
import { chunkFacts, sourceFieldOf } from './chunk-facts.ts';
import { cutDocument, type DocumentChunk } from './cut-document.ts';
import { type IngestDocument, readDocument } from './ingest-document.ts';
import type { ChunkEmbedder } from './ingest-request.ts';
import { type IngestPlan, planIngestion } from './plan.ts';
import { RequestRecords } from './plan-chunks.ts';
import { type StoredChunk, storedChunks } from './stored-chunks.ts';

export const POLICY = readPolicy({
  name: 'notes',
  vectorPolicies: [{ name: 'v', path: '/vectors/v/values', dimensions: 8 }],
});
export const MODEL: ChunkEmbedder = {
  provider: 'deterministic-hash',
  modelId: 'deterministic-hash-v1',
  dimensions: 8,
  prefixes: { query: null, passage: null, symmetric: null },
};

export function documentOf(request: object, model: Partial<ChunkEmbedder> = {}): IngestDocument {
  return readDocument(JSON.stringify({ partitionKey: 'p', ...request }), POLICY, { ...MODEL, ...model });
}

export function planOf(
  document: IngestDocument,
  stored: readonly StoredChunk[] = [],
  known = new RequestRecords(),
): IngestPlan {
  const ofDocument = stored.filter(
    ({ metadata, type, partitionKey }) =>
      metadata['documentId'] === document.documentId &&
      type === document.type &&
      partitionKey === document.partitionKey,
  );
  return finish(
    planIngestion(document, finish(cutDocument(document)), storedChunks(stored, ofDocument), known),
  );
}

/** The record of a chunk after a write. */
function storedAs(document: IngestDocument, count: number, chunk: DocumentChunk): StoredChunk {
  const { modelId, dimensions } = document.embedding.embedder;
  return {
    partitionKey: document.partitionKey,
    id: chunk.id,
    type: document.type,
    schemaVersion: document.schemaVersion,
    contentHash: chunk.textHash,
    metadata: Object.fromEntries(chunkFacts(document, count, chunk)),
    vector: { model: modelId, dimensions, sourceField: sourceFieldOf(document) },
    etag: 'rev:1',
    revision: 1,
  };
}

/** The records of the collection after the plan. */
export function storedAfter({ document, chunks }: IngestPlan): StoredChunk[] {
  return chunks
    .filter(({ action }) => action === 'created' || action === 'updated')
    .map((chunk) => storedAs(document, chunks.length, chunk));
}
