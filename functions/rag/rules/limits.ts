import { limits } from '../../../contracts/generated/limits.ts';

/** Lengths are in UTF-16 units, as offsets are. */
export const TEXT_LENGTH_MAX = limits.ragTextLengthMax;
export const CHUNK_LENGTH_MAX = limits.ragChunkCharsMax;
export const RAG_CHUNKS_MAX = limits.ragChunksMax;
export const BATCH_DOCUMENTS_MAX = limits.ragBatchDocumentsMax;
export const BATCH_CHUNKS_MAX = limits.ragBatchChunksMax;

export const CHUNK_TYPE = 'rag.chunk';
export const MANIFEST_TYPE = 'rag.manifest';
export const CONTENT_FIELD = 'text';
/** The most bytes of metadata and sources that all chunks of one document repeat, and all chunks of one batch. */
export const COPIED_BYTES_MAX = 64 * 1024 * 1024;
export const BATCH_COPIED_BYTES_MAX = 4 * COPIED_BYTES_MAX;
