import { float32Texts } from '../../collections/rules/snapshot/float32-text.ts';
import { membersOf, objectOf } from '../../kernel/json-slices.ts';
import { chunkFacts, sourceFieldOf } from './chunk-facts.ts';
import type { IngestDocument } from './ingest-document.ts';
import { MANIFEST_TYPE } from './limits.ts';
import { MANIFEST_VERSION } from './manifest.ts';
import type { IngestPlan, PlannedManifest } from './plan.ts';
import type { PlannedChunk } from './plan-chunks.ts';

export interface ChunkVector {
  readonly values: Float32Array;
  /** The time of the embedding, as text. */
  readonly generatedAt: string | null;
}

interface Member {
  readonly name: string;
  readonly value: string;
}

/** The JSON text of a chunk's record for a write. */
export function chunkRecord(
  { document, chunks }: IngestPlan,
  chunk: PlannedChunk,
  vector: ChunkVector,
): string {
  const { vectorFrom } = chunk;
  const facts = [
    ...chunkFacts(document, chunks.length, chunk),
    ...(vectorFrom === null
      ? []
      : [
          ['vectorReusedFromId', vectorFrom.id] as const,
          ['vectorReusedFromPartitionKey', vectorFrom.partitionKey] as const,
        ]),
  ];
  return objectOf([
    ...recordHead(document, chunk.id, document.type, document.schemaVersion),
    { name: 'metadata', value: metadataText(document, facts) },
    {
      name: 'content',
      value: objectOf([{ name: document.contentField, value: JSON.stringify(chunk.text) }]),
    },
    { name: 'sources', value: `[${document.sources.map((each) => sourceOf(each, chunk)).join(',')}]` },
    { name: 'vectors', value: vectorsText(document, vector) },
  ]);
}

function recordHead(
  { partitionKey }: IngestDocument,
  id: string,
  type: string,
  schemaVersion: string | null,
): readonly Member[] {
  return Object.entries({ id, partitionKey, type, schemaVersion }).map(([name, value]) => ({
    name,
    value: JSON.stringify(value),
  }));
}

/** The metadata of the request; the members that the service sets override it. */
function metadataText({ metadata }: IngestDocument, facts: readonly (readonly [string, unknown])[]): string {
  const names = new Set(facts.map(([name]) => name));
  // A chunk without a reused vector must not have the members of one.
  for (const name of ['vectorReusedFromId', 'vectorReusedFromPartitionKey']) names.add(name);
  const derived = facts.map(([name, value]) => ({ name, value: JSON.stringify(value) }));
  return objectOf([...metadata.filter(({ name }) => !names.has(name)), ...derived]);
}

/** A source with the span of the chunk; other members of its span stay. */
function sourceOf(source: string, { charStart, charEnd, index }: PlannedChunk): string {
  if (!source.startsWith('{')) return source;
  const members = membersOf(source);
  const given = members.find(({ name }) => name === 'span')?.value ?? 'null';
  const kept = given.startsWith('{') ? membersOf(given) : [];
  const own = Object.entries({ charStart, charEnd, chunkIndex: index }).map(([name, value]) => ({
    name,
    value: String(value),
  }));
  const names = new Set(own.map(({ name }) => name));
  const span = objectOf([...own, ...kept.filter(({ name }) => !names.has(name))]);
  return objectOf([...members.filter(({ name }) => name !== 'span'), { name: 'span', value: span }]);
}

function vectorsText(document: IngestDocument, { values, generatedAt }: ChunkVector): string {
  const { policy, embedder } = document.embedding;
  const { datatype, distanceFunction } = policy;
  const { modelId: model, dimensions } = embedder;
  const sourceField = sourceFieldOf(document);
  const facts = JSON.stringify({ dimensions, model, datatype, distanceFunction, generatedAt, sourceField });
  const value = `{"values":[${float32Texts(values)}],${facts.slice(1)}`;
  return objectOf([{ name: policy.name, value }]);
}

/** The JSON text of the manifest, which describes how the document was cut. It has no vector and no text of the document. */
export function manifestRecord({ document, chunks }: IngestPlan, manifest: PlannedManifest): string {
  const { embedder, policy, purpose } = document.embedding;
  const metadata = JSON.stringify({
    documentId: document.documentId,
    documentTextHash: document.textHash,
    manifestHash: manifest.hash,
    manifestVersion: MANIFEST_VERSION,
    chunkRecordType: document.type,
    chunkCount: chunks.length,
    textLength: document.text.length,
    ingestionMetadataHash: document.metadataHash,
    ingestionSourceHash: document.sourceHash,
    embeddingField: policy.name,
    embeddingProvider: embedder.provider,
    embeddingModel: embedder.modelId,
    embeddingPurpose: purpose,
    embeddingDimensions: embedder.dimensions,
  });
  const spans = chunks.map(({ index, charStart, charEnd, embeddingTextHash }) => {
    return { index, charStart, charEnd, textLength: charEnd - charStart, embeddingTextHash };
  });
  const content = objectOf([
    { name: 'version', value: JSON.stringify(MANIFEST_VERSION) },
    { name: 'manifestHash', value: JSON.stringify(manifest.hash) },
    { name: 'rawTextIncluded', value: 'false' },
    { name: 'sourceTextHash', value: JSON.stringify(document.textHash) },
    { name: 'ingestionPlan', value: manifest.json },
    { name: 'chunkSpans', value: JSON.stringify(spans) },
  ]);
  return objectOf([
    ...recordHead(document, manifest.id, MANIFEST_TYPE, MANIFEST_VERSION),
    { name: 'metadata', value: metadata },
    { name: 'content', value: objectOf([{ name: 'manifest', value: content }]) },
    { name: 'sources', value: `[${document.sources.join(',')}]` },
    { name: 'vectors', value: 'null' },
  ]);
}
