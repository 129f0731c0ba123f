import type { DocumentChunk } from './cut-document.ts';
import type { IngestDocument } from './ingest-document.ts';

export type Fact = readonly [name: string, value: string | number | boolean];

/** What the metadata of a chunk says of it beside the metadata of the request, in the order of the record. */
export function chunkFacts(
  document: IngestDocument,
  chunkCount: number,
  chunk: DocumentChunk,
): readonly Fact[] {
  const { purpose, embedder } = document.embedding;
  return [
    ['documentId', document.documentId],
    ['documentTextHash', document.textHash],
    ['ingestionMetadataHash', document.metadataHash],
    ['ingestionSourceHash', document.sourceHash],
    ['chunkIndex', chunk.index],
    ['chunkCount', chunkCount],
    ['charStart', chunk.charStart],
    ['charEnd', chunk.charEnd],
    ['textHash', chunk.textHash],
    ['embeddingPurpose', purpose],
    ['embeddingTextHash', chunk.embeddingTextHash],
    ['embeddingPrefixApplied', chunk.prefixApplied],
    ['embeddingPrefixLength', chunk.prefixLength],
    ['embeddingProvider', embedder.provider],
    ['embeddingModel', embedder.modelId],
  ];
}

/** Where the text of a chunk lies, as the vector of the record names it. */
export function sourceFieldOf({ contentField }: IngestDocument): string {
  return `content.${contentField}`;
}
