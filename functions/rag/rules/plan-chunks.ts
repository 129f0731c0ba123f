import type { PartitionedKey } from '../../collections/rules/record-key.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { chunkFacts, sourceFieldOf } from './chunk-facts.ts';
import type { DocumentChunk } from './cut-document.ts';
import type { IngestDocument } from './ingest-document.ts';
import type { ReuseScope } from './ingest-request.ts';
import type { StoredChunk, StoredChunks } from './stored-chunks.ts';

export type ChunkAction = 'created' | 'updated' | 'reused' | 'deduplicated';
export type EmbeddingAction = 'generated' | 'reused' | 'unchanged' | 'deduplicated';

/** The action of a plan on a chunk. Only `created` and `updated` write its record. */
export interface PlannedChunk extends DocumentChunk {
  readonly action: ChunkAction;
  readonly embeddingAction: EmbeddingAction;
  /** The record whose vector the chunk reuses: of the collection, or of an earlier chunk of the request. */
  readonly vectorFrom: PartitionedKey | null;
  /** The record that represents the chunk: another record with the same text. */
  readonly duplicateOf: PartitionedKey | null;
}

/** A record of the request, with the document that may remove it. */
interface KnownRecord extends PartitionedKey {
  readonly documentId: string;
}

interface RememberedPlan {
  readonly document: IngestDocument;
  readonly chunks: readonly PlannedChunk[];
  readonly stale: readonly PartitionedKey[];
}

interface DecidedIds {
  /** The ids of the document's chunks after the plan. */
  readonly current: ReadonlySet<string>;
  /** The ids of decided chunks with a record: only these may represent another chunk. */
  readonly standing: ReadonlySet<string>;
}

/** The most candidates that a plan reads, in the order of their keys. */
const DUPLICATES_MAX = 50;
const VECTORS_MAX = 25;
const OWN_NAMES = 'name the documentId under which it was ingested, or give each document names of its own';

/**
 * Records that earlier chunks of one request have or create: a batch of documents shares one instance. Such a record may represent
 * a later chunk, or lend its vector.
 */
export class RequestRecords {
  #byText = new Map<string, KnownRecord[]>();
  #byEmbeddedText = new Map<string, KnownRecord[]>();
  /** Records that the request removes. A dry run still finds them in the collection. */
  #gone = new Set<string>();
  /** The documents of the records that the request creates. A dry run does not find these records in the collection. */
  #owners = new Map<string, string>();

  /** Copies the state for a plan that may be repeated. */
  copy(): RequestRecords {
    const copy = new RequestRecords();
    copy.#byText = copied(this.#byText);
    copy.#byEmbeddedText = copied(this.#byEmbeddedText);
    copy.#gone = new Set(this.#gone);
    copy.#owners = new Map(this.#owners);
    return copy;
  }

  /** Takes over the state of a copy. */
  take(copy: RequestRecords): void {
    this.#byText = copy.#byText;
    this.#byEmbeddedText = copy.#byEmbeddedText;
    this.#gone = copy.#gone;
    this.#owners = copy.#owners;
  }

  /** Takes over a plan from another execution, one chunk a step. */
  *remember({ document, chunks, stale }: RememberedPlan): Generator<void, void> {
    for (const chunk of chunks) {
      if (chunk.action !== 'deduplicated') this.add(document, chunk);
      yield;
    }
    this.lose(stale);
  }

  lose(keys: readonly PartitionedKey[]): void {
    for (const key of keys) {
      this.#gone.add(keyText(key));
      this.#owners.delete(keyText(key));
    }
  }

  /** Assigns the record to the document. Throws `validation_failed` for the member at `pointer` if another document has the record. */
  claim(
    { partitionKey, documentId }: IngestDocument,
    id: string,
    stored: StoredChunks,
    pointer: string,
  ): void {
    const key = { partitionKey, id };
    const before = this.isGone(key) ? undefined : stored.at(key)?.metadata['documentId'];
    const owner = this.#owners.get(keyText(key)) ?? before;
    if (owner !== undefined && owner !== documentId)
      throw invalidMember(pointer, `makes the id of a record of another document: ${OWN_NAMES}`);
    this.#owners.set(keyText(key), documentId);
  }

  isGone(key: PartitionedKey): boolean {
    return this.#gone.has(keyText(key));
  }

  add(document: IngestDocument, chunk: DocumentChunk): void {
    const { partitionKey, documentId } = document;
    const key = { partitionKey, id: chunk.id, documentId };
    this.#gone.delete(keyText(key));
    addTo(this.#byText, duplicateKey(document, chunk), key);
    addTo(this.#byEmbeddedText, vectorKey(document, chunk), key);
  }

  duplicateOf(
    document: IngestDocument,
    chunk: DocumentChunk,
    scope: ReuseScope,
    decided: DecidedIds,
  ): PartitionedKey | null {
    const found = this.#byText.get(duplicateKey(document, chunk)) ?? [];
    const stands = (key: KnownRecord) =>
      isInScope(key, document, scope) && !this.isGone(key) && !isLost(document, key, decided);
    return keyOf(found.find(stands));
  }

  vectorFor(document: IngestDocument, chunk: DocumentChunk, scope: ReuseScope): PartitionedKey | null {
    const found = this.#byEmbeddedText.get(vectorKey(document, chunk)) ?? [];
    return keyOf(found.find((key) => isInScope(key, document, scope) && !this.isGone(key)));
  }
}

/** Whether an earlier item of the request wrote the record for the same document, which removes it now or may remove it. */
function isLost(document: IngestDocument, key: KnownRecord, { current, standing }: DecidedIds): boolean {
  if (key.partitionKey !== document.partitionKey) return false;
  if (current.has(key.id)) return !standing.has(key.id);
  return document.options.replaceDocumentChunks && key.documentId === document.documentId;
}

function keyText({ partitionKey, id }: PartitionedKey): string {
  return JSON.stringify([partitionKey, id]);
}

function keyOf(record: PartitionedKey | undefined): PartitionedKey | null {
  return record === undefined ? null : { partitionKey: record.partitionKey, id: record.id };
}

function copied(map: ReadonlyMap<string, readonly KnownRecord[]>): Map<string, KnownRecord[]> {
  return new Map([...map].map(([name, keys]) => [name, [...keys]]));
}

function addTo(map: Map<string, KnownRecord[]>, name: string, key: KnownRecord): void {
  const keys = map.get(name);
  if (keys === undefined) map.set(name, [key]);
  else keys.push(key);
}

function vectorKey({ collection, embedding }: IngestDocument, { embeddingTextHash }: DocumentChunk): string {
  const { policy, embedder, purpose } = embedding;
  const { provider, modelId } = embedder;
  return JSON.stringify([collection, policy.name, provider, modelId, purpose, embeddingTextHash]);
}

function duplicateKey(document: IngestDocument, chunk: DocumentChunk): string {
  return JSON.stringify([document.type, document.contentField, chunk.textHash, vectorKey(document, chunk)]);
}

function isInScope({ partitionKey }: PartitionedKey, document: IngestDocument, scope: ReuseScope): boolean {
  return scope !== 'partition' || partitionKey === document.partitionKey;
}

/** Decides each chunk in its order, one a step. Adds the records of this document to `known`. */
export function* planChunks(
  document: IngestDocument,
  chunks: readonly DocumentChunk[],
  stored: StoredChunks,
  known: RequestRecords,
  pointer = '',
): Generator<void, readonly PlannedChunk[]> {
  const current = new Set(chunks.map(({ id }) => id));
  const standing = new Set<string>();
  const planned: PlannedChunk[] = [];
  for (const chunk of chunks) {
    const decision = decideChunk({ document, chunks, stored, known, current, standing }, chunk);
    if (decision.action !== 'deduplicated') {
      known.claim(document, chunk.id, stored, `${pointer}/idPrefix`);
      known.add(document, chunk);
      standing.add(chunk.id);
    }
    planned.push({ ...chunk, ...decision });
    yield;
  }
  return planned;
}

interface Planning extends DecidedIds {
  readonly document: IngestDocument;
  readonly chunks: readonly DocumentChunk[];
  readonly stored: StoredChunks;
  readonly known: RequestRecords;
}

type Decision = Pick<PlannedChunk, 'action' | 'embeddingAction' | 'vectorFrom' | 'duplicateOf'>;

function decideChunk(planning: Planning, chunk: DocumentChunk): Decision {
  const { document, chunks, stored } = planning;
  const { options, partitionKey } = document;
  const own = stored.at({ partitionKey, id: chunk.id });
  const none = { vectorFrom: null, duplicateOf: null };
  if (options.skipUnchangedChunks && own !== null && isUnchanged(document, chunks.length, chunk, own))
    return { action: 'reused', embeddingAction: 'unchanged', ...none };
  const duplicateOf = options.deduplicateExistingChunks ? duplicate(planning, chunk) : null;
  if (duplicateOf !== null)
    return { action: 'deduplicated', embeddingAction: 'deduplicated', vectorFrom: null, duplicateOf };
  const vectorFrom = options.reuseExistingChunkVectors ? reusableVector(planning, chunk) : null;
  return {
    action: own === null ? 'created' : 'updated',
    embeddingAction: vectorFrom === null ? 'generated' : 'reused',
    vectorFrom,
    duplicateOf: null,
  };
}

function isUnchanged(
  document: IngestDocument,
  count: number,
  chunk: DocumentChunk,
  own: StoredChunk,
): boolean {
  return (
    own.type === document.type &&
    own.schemaVersion === document.schemaVersion &&
    own.contentHash === chunk.textHash &&
    hasVectorOf(document, own) &&
    own.vector?.sourceField === sourceFieldOf(document) &&
    chunkFacts(document, count, chunk).every(([name, value]) => own.metadata[name] === value)
  );
}

function hasVectorOf({ embedding }: IngestDocument, { vector }: StoredChunk): boolean {
  return vector?.model === embedding.embedder.modelId && vector.dimensions === embedding.embedder.dimensions;
}

/** Whether the record's text was embedded with the model and prefixes of the chunk. */
function isEmbeddedAlike(document: IngestDocument, chunk: DocumentChunk, other: StoredChunk): boolean {
  const { purpose, embedder } = document.embedding;
  return (
    other.metadata['embeddingTextHash'] === chunk.embeddingTextHash &&
    other.metadata['embeddingPurpose'] === purpose &&
    other.metadata['embeddingProvider'] === embedder.provider &&
    other.metadata['embeddingModel'] === embedder.modelId &&
    hasVectorOf(document, other)
  );
}

function duplicate(planning: Planning, chunk: DocumentChunk): PartitionedKey | null {
  const { document, stored, known, current } = planning;
  const scope = document.options.chunkDedupeScope;
  const ofRequest = known.duplicateOf(document, chunk, scope, planning);
  if (ofRequest !== null || scope === 'request') return ofRequest;
  const candidates = stored.withText(chunk.textHash).filter((each) => isInScope(each, document, scope));
  const found = candidates
    .filter(
      ({ type, id, partitionKey }) =>
        type === document.type && (id !== chunk.id || partitionKey !== document.partitionKey),
    )
    .slice(0, DUPLICATES_MAX)
    .filter((each) => !known.isGone(each) && !isLeaving(document, each, current))
    .find((each) => isEmbeddedAlike(document, chunk, each));
  return keyOf(found);
}

/** Whether this request removes or overwrites the record, so that it must not represent a chunk. */
function isLeaving(document: IngestDocument, record: StoredChunk, current: ReadonlySet<string>): boolean {
  if (record.partitionKey !== document.partitionKey) return false;
  const isOfDocument = record.metadata['documentId'] === document.documentId;
  return current.has(record.id) || (document.options.replaceDocumentChunks && isOfDocument);
}

function reusableVector({ document, stored, known }: Planning, chunk: DocumentChunk): PartitionedKey | null {
  const scope = document.options.vectorReuseScope;
  const ofRequest = known.vectorFor(document, chunk, scope);
  if (ofRequest !== null || scope === 'request') return ofRequest;
  const found = stored
    .withEmbeddedText(chunk.embeddingTextHash)
    .filter((each) => isInScope(each, document, scope))
    .slice(0, VECTORS_MAX)
    .find((each) => isEmbeddedAlike(document, chunk, each) && !known.isGone(each));
  return keyOf(found);
}
