import type { CollectionPolicy } from '../../collections/rules/policy.ts';
import { sha256 } from '../../kernel/canonical-json.ts';
import { compactJson, itemsOf, membersOf, objectOf } from '../../kernel/json-slices.ts';
import { parseJson } from '../../kernel/json-text.ts';
import { JsonText } from '../../kernel/json-value-text.ts';
import { type HashValue, hashJson, hashJsonOf } from './hash-json.ts';
import { documentIdOf, idPrefixOf } from './ids.ts';
import {
  blankAsNull,
  type ChunkEmbedder,
  type ChunkEmbedding,
  checkDocument,
  chunkTypeOf,
  contentFieldOf,
  type IngestRequest,
  type IngestRequestOptions,
  readChunkEmbedding,
  readOptions,
} from './ingest-request.ts';

/** A checked document of a request, with all defaults. */
export interface IngestDocument {
  readonly collection: string;
  readonly documentId: string;
  /** The prefix of the ids of its records. */
  readonly idPrefix: string;
  readonly partitionKey: string;
  readonly type: string;
  readonly schemaVersion: string | null;
  readonly text: string;
  readonly textHash: string;
  readonly contentField: string;
  readonly embedding: ChunkEmbedding;
  /** The members of the request's metadata as JSON texts, in its order. */
  readonly metadata: readonly { readonly name: string; readonly value: string }[];
  /** The sources of every chunk as JSON texts of objects. */
  readonly sources: readonly string[];
  readonly metadataHash: string;
  readonly sourceHash: string;
  readonly options: IngestRequestOptions;
}

/**
 * Reads the JSON text of a document that its schema has accepted. Numbers in metadata and sources keep their spelling. Throws
 * `validation_failed` or `limit_exceeded` naming the member below `pointer`.
 */
export function readDocument(
  given: string,
  policy: CollectionPolicy,
  embedder: ChunkEmbedder,
  pointer = '',
): IngestDocument {
  const compact = compactJson(given);
  const request = parseJson(compact) as IngestRequest;
  const texts = new Map(membersOf(compact).map(({ name, value }) => [name, value]));
  checkDocument(request, pointer);
  const { text, partitionKey } = request;
  const textHash = sha256(text);
  const documentId = blankAsNull(request.documentId)?.trim() ?? documentIdOf(textHash);
  const metadata = presentText(texts.get('metadata')) ?? '{}';
  const sources = presentText(texts.get('sources'));
  return {
    collection: policy.name,
    documentId,
    idPrefix: idPrefixOf(blankAsNull(request.idPrefix) ?? documentId),
    partitionKey,
    type: chunkTypeOf(request),
    schemaVersion: request.schemaVersion ?? null,
    text,
    textHash,
    contentField: contentFieldOf(request.contentField, `${pointer}/contentField`),
    embedding: readChunkEmbedding(request.embedding ?? {}, policy, embedder, `${pointer}/embedding`),
    metadata: membersOf(metadata),
    sources: sourcesOf(request, documentId, sources),
    metadataHash: sha256(hashJsonOf(metadata).text),
    sourceHash: sourceHashOf(request, sources),
    options: readOptions(request.options ?? {}, text.length, `${pointer}/options`),
  };
}

function presentText(text: string | undefined): string | null {
  return text === undefined || text === 'null' ? null : text;
}

function trimmedOrNull(text: string | null | undefined): string | null {
  return blankAsNull(text)?.trim() ?? null;
}

/** The given sources, or the single source that the members of the document describe. */
function sourcesOf(request: IngestRequest, documentId: string, sources: string | null): readonly string[] {
  const given = sources === null ? [] : itemsOf(sources);
  if (given.length > 0) return given;
  const uri = trimmedOrNull(request.sourceUri);
  const id = trimmedOrNull(request.sourceId);
  const label = trimmedOrNull(request.sourceLabel);
  if (uri === null && id === null && label === null) return [];
  const kind = trimmedOrNull(request.sourceKind) ?? 'document';
  return [JSON.stringify({ id: id ?? documentId, kind, uri: uri ?? documentId, label })];
}

const sourceMembers = ['id', 'kind', 'uri', 'label', 'span'];
const spanMembers = ['charStart', 'charEnd', 'line', 'column', 'anchor'];

function sourceHashOf(request: IngestRequest, sources: string | null): string {
  const list: HashValue = sources === null ? null : itemsOf(sources).map(sourceJson);
  return sha256(
    hashJson({
      sourceUri: trimmedOrNull(request.sourceUri),
      sourceKind: trimmedOrNull(request.sourceKind),
      sourceId: trimmedOrNull(request.sourceId),
      sourceLabel: trimmedOrNull(request.sourceLabel),
      sources: list,
    }),
  );
}

/** A source with every known member; an absent one is null. */
function sourceJson(source: string): JsonText {
  if (!source.startsWith('{')) return hashJsonOf(source);
  const members = withAbsent(source, sourceMembers).map(({ name, value }) => {
    const isSpan = name === 'span' && value.startsWith('{');
    return { name, value: isSpan ? objectOf(withAbsent(value, spanMembers)) : value };
  });
  return hashJsonOf(objectOf(members));
}

function withAbsent(object: string, names: readonly string[]) {
  const members = membersOf(object);
  const known = new Set(members.map(({ name }) => name));
  return [...members, ...names.filter((name) => !known.has(name)).map((name) => ({ name, value: 'null' }))];
}
