import type { PartitionedKey } from '../../collections/rules/record-key.ts';
import { sha256 } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { JsonText } from '../../kernel/json-value-text.ts';
import type { DocumentChunk } from './cut-document.ts';
import { hashJson } from './hash-json.ts';
import { manifestIdOf } from './ids.ts';
import type { IngestDocument } from './ingest-document.ts';
import { MANIFEST_TYPE } from './limits.ts';
import { hashedChunk, hashHeader, makeManifest } from './manifest.ts';
import { orderedByKey } from './order.ts';
import { type PlannedChunk, planChunks, type RequestRecords } from './plan-chunks.ts';
import type { StoredChunk, StoredChunks } from './stored-chunks.ts';

const PLAN_VERSION = 'rag.ingest.plan.v1';

export interface PlannedManifest {
  readonly id: string;
  readonly hash: string;
  /** The input of the hash, which the record keeps. */
  readonly json: string;
  readonly action: 'created' | 'updated' | 'reused';
}

export interface StaleChunk extends PartitionedKey {
  readonly chunkIndex: number | null;
  readonly textHash: string | null;
  readonly etag: string | null;
  readonly revision: number | null;
}

export interface IngestCounts {
  readonly chunkCount: number;
  readonly deletedStaleCount: number;
  readonly createdCount: number;
  readonly updatedCount: number;
  readonly reusedCount: number;
  readonly vectorGeneratedCount: number;
  readonly vectorReusedCount: number;
  readonly deduplicatedCount: number;
}

/** All changes of an ingestion to the collection. A dry run has the same plan. */
export interface IngestPlan {
  readonly document: IngestDocument;
  readonly chunks: readonly PlannedChunk[];
  readonly stale: readonly StaleChunk[];
  /** `null` if the request wants no manifest. */
  readonly manifest: PlannedManifest | null;
  readonly counts: IngestCounts;
  readonly hash: string;
}

/**
 * Plans an ingestion against the records of the collection, in short steps. The same document over the same records has the same plan
 * and hash. Throws `validation_failed` if the manifest would take the id of a chunk, or a record the id of another document's record.
 */
export function* planIngestion(
  document: IngestDocument,
  cut: readonly DocumentChunk[],
  stored: StoredChunks,
  known: RequestRecords,
  pointer = '',
): Generator<void, IngestPlan> {
  const chunks = yield* planChunks(document, cut, stored, known, pointer);
  const stale = document.options.replaceDocumentChunks ? staleIn(stored, chunks) : [];
  known.lose(stale);
  const manifest = yield* planManifest(document, chunks, stored, pointer);
  if (manifest !== null) known.claim(document, manifest.id, stored, `${pointer}/options/manifestId`);
  // Each of these reads all chunks, so each is a step of its own.
  yield;
  const counts = countsOf(chunks, stale);
  const plan = { document, chunks, stale, manifest, counts };
  return { ...plan, hash: yield* planHash(plan) };
}

/** The outcome of the writes of a plan. */
export interface PlanOutcome {
  /** The revisions of the written records. */
  readonly revisions: ReadonlyMap<string, number>;
  /** Records whose removal was skipped. */
  readonly spared: ReadonlySet<string>;
}

/** The plan with its actual outcome and its hash, if other calls changed records meanwhile; otherwise the plan itself. */
export function* planAsDone(
  plan: IngestPlan,
  { revisions, spared }: PlanOutcome,
): Generator<void, IngestPlan> {
  const asDone = <Each extends { readonly id: string; readonly action: string }>(each: Each): Each => {
    const revision = revisions.get(each.id);
    if (revision === undefined) return each;
    const action = revision === 1 ? 'created' : 'updated';
    return action === each.action ? each : { ...each, action };
  };
  const chunks = plan.chunks.map(asDone);
  const stale = plan.stale.filter(({ id }) => !spared.has(id));
  const manifest = plan.manifest === null ? null : asDone(plan.manifest);
  const isSame = manifest === plan.manifest && chunks.every((chunk, at) => chunk === plan.chunks[at]);
  if (isSame && stale.length === plan.stale.length) return plan;
  yield;
  const done = { document: plan.document, chunks, stale, manifest, counts: countsOf(chunks, stale) };
  return { ...done, hash: yield* planHash(done) };
}

/** A chunk that another record represents has no record of its own: an older one of the document is stale. */
function staleIn({ ofDocument }: StoredChunks, chunks: readonly PlannedChunk[]): readonly StaleChunk[] {
  const own = chunks.filter(({ action }) => action !== 'deduplicated');
  const current = new Set(own.map(({ id }) => id));
  const stale = ofDocument.filter(({ id }) => !current.has(id));
  return orderedByKey(stale.map(staleChunk));
}

function staleChunk({ id, partitionKey, metadata, etag, revision }: StoredChunk): StaleChunk {
  const { chunkIndex, textHash } = metadata;
  return {
    id,
    partitionKey,
    // A caller may have written the metadata of a record.
    chunkIndex: Number.isSafeInteger(chunkIndex) ? (chunkIndex as number) : null,
    textHash: typeof textHash === 'string' ? textHash : null,
    etag,
    revision,
  };
}

function* planManifest(
  document: IngestDocument,
  chunks: readonly PlannedChunk[],
  stored: StoredChunks,
  pointer: string,
): Generator<void, PlannedManifest | null> {
  const { options, idPrefix, partitionKey } = document;
  if (!options.persistManifest) return null;
  const id = manifestIdOf(idPrefix, options.manifestId);
  if (chunks.some((chunk) => chunk.id === id))
    throw invalidMember(`${pointer}/options/manifestId`, 'must not be the id of a chunk');
  const { json, hash } = yield* makeManifest(document, chunks);
  const before = stored.at({ partitionKey, id });
  const isSame = before !== null && options.skipUnchangedChunks && isManifestOf(document, hash, before);
  const written = before === null ? 'created' : 'updated';
  return { id, hash, json, action: isSame ? 'reused' : written };
}

function isManifestOf(document: IngestDocument, hash: string, { type, metadata }: StoredChunk): boolean {
  return (
    type === MANIFEST_TYPE &&
    metadata['manifestHash'] === hash &&
    metadata['documentId'] === document.documentId &&
    metadata['chunkRecordType'] === document.type &&
    metadata['embeddingModel'] === document.embedding.embedder.modelId
  );
}

export function countsOf(chunks: readonly PlannedChunk[], stale: readonly StaleChunk[]): IngestCounts {
  const acted = (action: PlannedChunk['action']) => chunks.filter((chunk) => chunk.action === action).length;
  const embedded = (action: PlannedChunk['embeddingAction']) =>
    chunks.filter((chunk) => chunk.embeddingAction === action).length;
  return {
    chunkCount: chunks.length,
    deletedStaleCount: stale.length,
    createdCount: acted('created'),
    updatedCount: acted('updated'),
    reusedCount: acted('reused'),
    vectorGeneratedCount: embedded('generated'),
    vectorReusedCount: embedded('reused'),
    deduplicatedCount: acted('deduplicated'),
  };
}

function* planHash(plan: Omit<IngestPlan, 'hash'>): Generator<void, string> {
  const { document, chunks, stale, manifest, counts } = plan;
  const { options, idPrefix } = document;
  const texts: JsonText[] = [];
  for (const chunk of chunks) {
    texts.push(new JsonText(hashJson({ ...hashedChunk(document, chunk), ...hashedAction(chunk) })));
    yield;
  }
  const json = hashJson({
    version: PLAN_VERSION,
    ...hashHeader(document),
    idPrefix,
    replaceDocumentChunks: options.replaceDocumentChunks,
    skipUnchangedChunks: options.skipUnchangedChunks,
    reuseExistingChunkVectors: options.reuseExistingChunkVectors,
    vectorReuseScope: options.vectorReuseScope,
    persistManifest: options.persistManifest,
    manifestId: manifest?.id ?? null,
    manifestHash: manifest?.hash ?? null,
    manifestAction: manifest?.action ?? null,
    ...counts,
    staleDeletes: stale.map(({ id, partitionKey, chunkIndex, textHash }) => ({
      id,
      partitionKey,
      chunkIndex,
      textHash,
    })),
    chunks: texts,
  });
  yield;
  return sha256(json);
}

function hashedAction({ action, embeddingAction, vectorFrom, duplicateOf }: PlannedChunk) {
  return {
    action,
    embeddingAction,
    reusedVectorFromId: vectorFrom?.id ?? null,
    reusedVectorFromPartitionKey: vectorFrom?.partitionKey ?? null,
    deduplicatedFromId: duplicateOf?.id ?? null,
    deduplicatedFromPartitionKey: duplicateOf?.partitionKey ?? null,
  };
}
