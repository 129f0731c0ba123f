import { limits } from '../../../contracts/generated/limits.ts';
import type { CollectionPolicy, VectorPolicy } from '../../collections/rules/policy.ts';
import { checkPartitionKey } from '../../collections/rules/record-key.ts';
import type { EmbeddingPrefixes, EmbeddingPurpose } from '../../embeddings/embedder.ts';
import { readPurpose } from '../../embeddings/rules/request.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { checkJsonBytes } from '../../kernel/json-bytes.ts';
import {
  BATCH_CHUNKS_MAX,
  BATCH_COPIED_BYTES_MAX,
  BATCH_DOCUMENTS_MAX,
  CHUNK_LENGTH_MAX,
  CHUNK_TYPE,
  CONTENT_FIELD,
  MANIFEST_TYPE,
  RAG_CHUNKS_MAX,
  TEXT_LENGTH_MAX,
} from './limits.ts';
import { isBlank } from './white-space.ts';

export type ReuseScope = 'request' | 'partition' | 'collection';

/** A request whose members have the types that its schema names. */
export interface IngestRequest {
  readonly documentId?: string | null;
  readonly idPrefix?: string | null;
  readonly partitionKey: string;
  readonly type?: string | null;
  readonly schemaVersion?: string | null;
  readonly text: string;
  readonly contentField?: string | null;
  readonly embedding?: IngestEmbedding | null;
  readonly metadata?: unknown;
  readonly sources?: readonly unknown[] | null;
  readonly sourceUri?: string | null;
  readonly sourceKind?: string | null;
  readonly sourceId?: string | null;
  readonly sourceLabel?: string | null;
  readonly options?: IngestOptionsRequest | null;
}

export interface IngestEmbedding {
  readonly field?: string | null;
  readonly purpose?: string | null;
  readonly queryPrefix?: string | null;
  readonly passagePrefix?: string | null;
  readonly symmetricPrefix?: string | null;
}

export interface IngestOptionsRequest {
  readonly chunkChars?: number | null;
  readonly chunkOverlapChars?: number | null;
  readonly dryRun?: boolean | null;
  readonly replaceDocumentChunks?: boolean | null;
  readonly skipUnchangedChunks?: boolean | null;
  readonly reuseExistingChunkVectors?: boolean | null;
  readonly vectorReuseScope?: ReuseScope | null;
  readonly deduplicateExistingChunks?: boolean | null;
  readonly chunkDedupeScope?: ReuseScope | null;
  readonly persistManifest?: boolean | null;
  readonly manifestId?: string | null;
  readonly expectedPlanHash?: string | null;
  readonly expectedManifestHash?: string | null;
  readonly includeTrace?: boolean | null;
}

/** The options with their defaults. */
export interface IngestRequestOptions {
  readonly chunkChars: number;
  readonly overlapChars: number;
  readonly dryRun: boolean;
  readonly replaceDocumentChunks: boolean;
  readonly skipUnchangedChunks: boolean;
  readonly reuseExistingChunkVectors: boolean;
  readonly vectorReuseScope: ReuseScope;
  readonly deduplicateExistingChunks: boolean;
  readonly chunkDedupeScope: ReuseScope;
  readonly persistManifest: boolean;
  readonly manifestId: string | null;
  readonly expectedPlanHash: string | null;
  readonly expectedManifestHash: string | null;
  readonly includeTrace: boolean;
}

/** The source of the vectors of chunks. */
export interface ChunkEmbedder {
  readonly provider: string;
  readonly modelId: string;
  readonly dimensions: number;
  readonly prefixes: EmbeddingPrefixes;
}

/** The embedding of the chunks of a document. */
export interface ChunkEmbedding {
  readonly policy: VectorPolicy;
  readonly embedder: ChunkEmbedder;
  readonly purpose: EmbeddingPurpose;
  /** The prefixes of the request; `null`: those of the model apply. */
  readonly prefixes: EmbeddingPrefixes;
}

/** Throws `validation_failed` or `limit_exceeded` naming the member below `pointer`. */
export function checkDocument({ text, partitionKey, type }: IngestRequest, pointer: string): void {
  if (text.length > TEXT_LENGTH_MAX)
    throw invalidMember(`${pointer}/text`, `must be at most ${TEXT_LENGTH_MAX} characters`, 'limit_exceeded');
  if (isBlank(text)) throw invalidMember(`${pointer}/text`, 'must not be blank');
  if (!text.isWellFormed()) throw invalidMember(`${pointer}/text`, 'must be well-formed Unicode');
  checkPartitionKey(partitionKey, `${pointer}/partitionKey`);
  // A replacement of the chunks of a document would remove its manifest.
  if (type === MANIFEST_TYPE) throw invalidMember(`${pointer}/type`, `must not be ${MANIFEST_TYPE}`);
}

/** Every chunk repeats the metadata and sources, so together they must fit into a record. */
function checkCopiedMembers({ metadata = null, sources }: IngestRequest, pointer: string): void {
  checkJsonBytes(metadata, limits.recordBytesMax, `${pointer}/metadata`);
  for (const [index, source] of (sources ?? []).entries())
    checkJsonBytes(source, limits.recordBytesMax, `${pointer}/sources/${index}`);
}

/** Checks the parts of a request that do not depend on its collection. Throws as `checkDocument` and `readOptions` do. */
export function checkIngestRequest(request: IngestRequest, pointer = ''): IngestRequestOptions {
  checkDocument(request, pointer);
  checkCopiedMembers(request, pointer);
  contentFieldOf(request.contentField, `${pointer}/contentField`);
  const purpose = blankAsNull(request.embedding?.purpose);
  if (purpose !== null) readPurpose(purpose, `${pointer}/embedding/purpose`);
  return readOptions(request.options ?? {}, request.text.length, `${pointer}/options`);
}

/**
 * Refuses a batch that is too large to finish. Each document is checked alone; a refused document has no chunks. Throws
 * `limit_exceeded`.
 */
export function checkBatch(items: readonly IngestRequest[]): void {
  if (items.length > BATCH_DOCUMENTS_MAX)
    throw invalidMember('/items', `must be at most ${BATCH_DOCUMENTS_MAX} documents`, 'limit_exceeded');
  let chunks = 0;
  let copied = 0;
  for (const [index, document] of items.entries()) {
    checkCopiedMembers(document, `/items/${index}`);
    const { text, options, metadata = null, sources = null } = document;
    const estimate = estimateOf(text.length, options ?? {});
    chunks += estimate;
    copied += estimate * Buffer.byteLength(JSON.stringify([metadata, sources]));
  }
  if (chunks > BATCH_CHUNKS_MAX) throw tooLarge(`${chunks} chunks`, BATCH_CHUNKS_MAX);
  if (copied > BATCH_COPIED_BYTES_MAX)
    throw tooLarge(`${copied} bytes of metadata and sources in chunks`, BATCH_COPIED_BYTES_MAX);
}

function tooLarge(found: string, most: number) {
  const detail = `make about ${found}, and a batch has at most ${most}: split it, or use larger chunks`;
  return invalidMember('/items', detail, 'limit_exceeded');
}

/** The estimated number of chunks of a text; 0 if its options are refused. */
function estimateOf(textLength: number, given: IngestOptionsRequest): number {
  const { chunkChars, overlapChars } = sizesOf(given);
  const estimate = Math.ceil(textLength / (chunkChars - overlapChars));
  return estimate > 0 && estimate <= RAG_CHUNKS_MAX ? estimate : 0;
}

export function chunkTypeOf({ type }: IngestRequest): string {
  return type === null || type === undefined || type === '' ? CHUNK_TYPE : type;
}

/** The member of `content` that holds the text. */
export function contentFieldOf(given: string | null | undefined, pointer: string): string {
  const field = given ?? CONTENT_FIELD;
  if (field.trim() === '') throw invalidMember(pointer, 'must not be blank');
  if (/[/\\.]/.test(field)) throw invalidMember(pointer, 'must not hold any of / \\ .');
  if (!field.isWellFormed()) throw invalidMember(pointer, 'must be well-formed Unicode');
  // A chunk has its text under this name. The parser refuses bodies with `__proto__`, so an import could not read the export.
  if (field === '__proto__') throw invalidMember(pointer, 'must not be __proto__');
  return field;
}

/** The options with their defaults, checked against the length of the text. */
export function readOptions(
  given: IngestOptionsRequest,
  textLength: number,
  pointer: string,
): IngestRequestOptions {
  const { chunkChars, overlapChars } = shapeOf(given, pointer);
  const estimate = Math.ceil(textLength / (chunkChars - overlapChars));
  if (estimate > RAG_CHUNKS_MAX) throw tooManyChunks(pointer, `about ${estimate}`);
  return {
    chunkChars,
    overlapChars,
    dryRun: given.dryRun ?? false,
    replaceDocumentChunks: given.replaceDocumentChunks ?? false,
    skipUnchangedChunks: given.skipUnchangedChunks ?? false,
    reuseExistingChunkVectors: given.reuseExistingChunkVectors ?? false,
    vectorReuseScope: given.vectorReuseScope ?? 'partition',
    deduplicateExistingChunks: given.deduplicateExistingChunks ?? false,
    chunkDedupeScope: given.chunkDedupeScope ?? 'partition',
    persistManifest: given.persistManifest ?? false,
    manifestId: blankAsNull(given.manifestId),
    expectedPlanHash: given.expectedPlanHash ?? null,
    expectedManifestHash: given.expectedManifestHash ?? null,
    includeTrace: given.includeTrace ?? false,
  };
}

function sizesOf({ chunkChars, chunkOverlapChars }: IngestOptionsRequest) {
  return { chunkChars: chunkChars ?? 1_200, overlapChars: chunkOverlapChars ?? 150 };
}

function shapeOf(given: IngestOptionsRequest, pointer: string) {
  const { chunkChars, overlapChars } = sizesOf(given);
  if (!Number.isSafeInteger(chunkChars) || chunkChars < 1 || chunkChars > CHUNK_LENGTH_MAX)
    throw invalidMember(`${pointer}/chunkChars`, `must be a whole number from 1 to ${CHUNK_LENGTH_MAX}`);
  if (!Number.isSafeInteger(overlapChars) || overlapChars < 0 || overlapChars >= chunkChars)
    throw invalidMember(
      `${pointer}/chunkOverlapChars`,
      'must be a whole number from 0 to less than chunkChars',
    );
  return { chunkChars, overlapChars };
}

export function tooManyChunks(pointer: string, found: string) {
  const detail = `makes ${found} chunks, and a document has at most ${RAG_CHUNKS_MAX}: use larger chunks or less overlap`;
  return invalidMember(`${pointer}/chunkChars`, detail, 'limit_exceeded');
}

/** Throws `validation_failed` if the collection has no such vector, or the model makes vectors of another size. */
export function readChunkEmbedding(
  given: IngestEmbedding,
  { vectorPolicies }: CollectionPolicy,
  embedder: ChunkEmbedder,
  pointer: string,
): ChunkEmbedding {
  const field = blankAsNull(given.field);
  const policy = field === null ? vectorPolicies[0] : vectorPolicies.find(({ name }) => name === field);
  if (policy === undefined) {
    const detail =
      field === null ? 'needs a collection with a vector policy' : 'has no vector policy in the collection';
    throw invalidMember(`${pointer}/field`, detail);
  }
  if (policy.dimensions !== embedder.dimensions) {
    const detail = `has ${policy.dimensions} dimensions, and the model makes ${embedder.dimensions}`;
    throw invalidMember(`${pointer}/field`, detail);
  }
  const { queryPrefix = null, passagePrefix = null, symmetricPrefix = null } = given;
  const prefixes = { query: queryPrefix, passage: passagePrefix, symmetric: symmetricPrefix };
  for (const [name, prefix] of Object.entries({ queryPrefix, passagePrefix, symmetricPrefix }))
    if (prefix?.isWellFormed() === false)
      throw invalidMember(`${pointer}/${name}`, 'must be well-formed Unicode');
  const purpose = readPurpose(blankAsNull(given.purpose) ?? 'passage', `${pointer}/purpose`);
  return { policy, embedder, purpose, prefixes };
}

export function blankAsNull(text: string | null | undefined): string | null {
  return text === null || text === undefined || text.trim() === '' ? null : text;
}

/** An ingestion removes stale chunks, which needs the right to delete; a dry run removes nothing. */
export function removesRecords(options: IngestRequest['options']): boolean {
  return options?.replaceDocumentChunks === true && options.dryRun !== true;
}
