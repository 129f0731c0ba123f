import { sha256 } from '../../kernel/canonical-json.ts';
import { JsonText } from '../../kernel/json-value-text.ts';
import type { DocumentChunk } from './cut-document.ts';
import { type HashObject, hashJson } from './hash-json.ts';
import type { IngestDocument } from './ingest-document.ts';

export const MANIFEST_VERSION = 'v1';

/** The members that plan and manifest hashes begin with. */
export function hashHeader(document: IngestDocument): HashObject {
  const { embedding, options } = document;
  const { policy, embedder, purpose } = embedding;
  return {
    collection: document.collection,
    documentId: document.documentId,
    partitionKey: document.partitionKey,
    chunkRecordType: document.type,
    schemaVersion: document.schemaVersion,
    contentField: document.contentField,
    embeddingField: policy.name,
    embeddingProvider: embedder.provider,
    embeddingModel: embedder.modelId,
    embeddingPurpose: purpose,
    embeddingDimensions: embedder.dimensions,
    vectorPath: policy.path,
    vectorDatatype: policy.datatype,
    vectorDistanceFunction: policy.distanceFunction,
    vectorIndexType: policy.indexType,
    textLength: document.text.length,
    documentTextHash: document.textHash,
    chunkChars: options.chunkChars,
    chunkOverlapChars: options.overlapChars,
    deduplicateExistingChunks: options.deduplicateExistingChunks,
    chunkDedupeScope: options.deduplicateExistingChunks ? options.chunkDedupeScope : null,
    metadataHash: document.metadataHash,
    sourceHash: document.sourceHash,
  };
}

/** The members of a chunk in both hashes. */
export function hashedChunk({ partitionKey }: IngestDocument, chunk: DocumentChunk): HashObject {
  const { index, id, charStart, charEnd, textHash, embeddingTextHash } = chunk;
  const textLength = charEnd - charStart;
  return { index, id, partitionKey, charStart, charEnd, textLength, textHash, embeddingTextHash };
}

/** The manifest of a document: the input of its hash, and the hash. */
export interface Manifest {
  readonly json: string;
  readonly hash: string;
}

/** Makes the manifest one chunk a step. It does not depend on the collection. */
export function* makeManifest(
  document: IngestDocument,
  chunks: readonly DocumentChunk[],
): Generator<void, Manifest> {
  const texts: JsonText[] = [];
  for (const chunk of chunks) {
    texts.push(new JsonText(hashJson(hashedChunk(document, chunk))));
    yield;
  }
  const json = hashJson({ version: MANIFEST_VERSION, ...hashHeader(document), chunks: texts });
  yield;
  return { json, hash: sha256(json) };
}
