import type { DocumentChunk } from './cut-document.ts';
import type { IngestDocument } from './ingest-document.ts';

/** The names of the metadata members that the service sets in a chunk, in the order of the record. */
export const FACT_NAMES = [
  'documentId',
  'documentTextHash',
  'ingestionMetadataHash',
  'ingestionSourceHash',
  'chunkIndex',
  'chunkCount',
  'charStart',
  'charEnd',
  'textHash',
  'embeddingPurpose',
  'embeddingTextHash',
  'embeddingPrefixApplied',
  'embeddingPrefixLength',
  'embeddingProvider',
  'embeddingModel',
] as const;
type FactName = (typeof FACT_NAMES)[number];
export type Fact = readonly [name: FactName, value: string | number | boolean];

/** The metadata members that the service sets in a chunk. */
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

/** The path of the text of a chunk, for the vector of the record. */
export function sourceFieldOf({ contentField }: IngestDocument): string {
  return `content.${contentField}`;
}
