/** Lengths are in UTF-16 units, as offsets are. */
export const TEXT_LENGTH_MAX = 2_000_000;
export const CHUNK_LENGTH_MAX = 50_000;
export const CHUNKS_MAX = 2_000;

export const CHUNK_TYPE = 'rag.chunk';
export const MANIFEST_TYPE = 'rag.manifest';
export const CONTENT_FIELD = 'text';
