import { preparedTexts } from '../../embeddings/rules/request.ts';
import { sha256 } from '../../kernel/canonical-json.ts';
import { chunkSpans } from './chunks.ts';
import { copiedBytes, tooManyCopies } from './copied-members.ts';
import { chunkIdOf } from './ids.ts';
import type { IngestDocument } from './ingest-document.ts';
import { tooManyChunks } from './ingest-request.ts';
import { COPIED_BYTES_MAX, RAG_CHUNKS_MAX } from './limits.ts';

/** A chunk of a document, independent of the collection. */
export interface DocumentChunk {
  readonly index: number;
  readonly id: string;
  readonly charStart: number;
  readonly charEnd: number;
  readonly text: string;
  readonly textHash: string;
  /** The text in the form that the model receives. */
  readonly embeddingText: string;
  readonly embeddingTextHash: string;
  readonly prefixApplied: boolean;
  readonly prefixLength: number;
}

/** Cuts a document, one chunk a step. Throws `limit_exceeded` if it has too many chunks, or they repeat too many bytes of the request. */
export function* cutDocument(
  document: IngestDocument,
  pointer = '',
): Generator<void, readonly DocumentChunk[]> {
  const chunks: DocumentChunk[] = [];
  const copied = copiedBytes(document);
  for (const { start, end } of chunkSpans(document.text, document.options)) {
    if (chunks.length === RAG_CHUNKS_MAX)
      throw tooManyChunks(`${pointer}/options`, `more than ${RAG_CHUNKS_MAX}`);
    chunks.push(chunkOf(document, chunks.length, start, end));
    if (chunks.length * copied > COPIED_BYTES_MAX) throw tooManyCopies(document, pointer);
    yield;
  }
  return chunks;
}

function chunkOf(document: IngestDocument, index: number, charStart: number, charEnd: number): DocumentChunk {
  const { embedding, idPrefix } = document;
  const text = document.text.slice(charStart, charEnd);
  const textHash = sha256(text);
  const { purpose, prefixes, embedder } = embedding;
  const [prepared] = preparedTexts({ purpose, prefixes, texts: [text] }, embedder.prefixes);
  const { text: embeddingText = text, prefixApplied = false, prefixLength = 0 } = prepared ?? {};
  return {
    index,
    id: chunkIdOf(idPrefix, index, textHash),
    charStart,
    charEnd,
    text,
    textHash,
    embeddingText,
    embeddingTextHash: prefixApplied ? sha256(embeddingText) : textHash,
    prefixApplied,
    prefixLength,
  };
}
