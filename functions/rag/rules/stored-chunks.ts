import type { PartitionedKey } from '../../collections/rules/record-key.ts';
import type { Json } from '../../kernel/canonical-json.ts';
import { FACT_NAMES } from './chunk-facts.ts';
import { orderedByKey } from './order.ts';

/** The members of metadata that plans compare: those of a chunk, and those of a manifest. */
const comparedNames = [...FACT_NAMES, 'manifestHash', 'chunkRecordType'];

export type ComparedMetadata = Readonly<Record<string, string | number | boolean>>;

/** The members of a stored record that a plan needs. It has no text and no other metadata: a plan may read thousands of large records. */
export interface StoredChunk extends PartitionedKey {
  readonly type: string;
  readonly schemaVersion: string | null;
  /** The hash of the text in the content field of the request; `null` if the field has no text. */
  readonly contentHash: string | null;
  readonly metadata: ComparedMetadata;
  /** The vector in the field of the request; `null` if the record has none. */
  readonly vector: StoredVector | null;
  readonly etag: string | null;
  readonly revision: number | null;
}

interface StoredVector {
  readonly dimensions: number;
  readonly model: string | null;
  readonly sourceField: string | null;
}

/** The stored records of a document and those with the same texts, read before the plan. */
export interface StoredChunks {
  /** The record under the key of a chunk or of the manifest. */
  readonly at: (key: PartitionedKey) => StoredChunk | null;
  /** Records with the hash as `metadata.textHash`, in the order of partition key and id. */
  readonly withText: (textHash: string) => readonly StoredChunk[];
  /** Records with the hash as `metadata.embeddingTextHash`, in the same order. */
  readonly withEmbeddedText: (embeddingTextHash: string) => readonly StoredChunk[];
  /** All chunks of the document in its partition. */
  readonly ofDocument: readonly StoredChunk[];
}

/** The metadata that plans compare; they compare no lists and objects. */
export function comparedMetadata(metadata: Readonly<Record<string, Json>>): ComparedMetadata {
  const compared: Record<string, string | number | boolean> = {};
  for (const name of comparedNames) {
    const value = Object.hasOwn(metadata, name) ? metadata[name] : null;
    if (value !== undefined && value !== null && typeof value !== 'object') compared[name] = value;
  }
  return compared;
}

/** Looks up records in memory; several lookups may find the same record. */
export function storedChunks(
  records: Iterable<StoredChunk>,
  ofDocument: readonly StoredChunk[],
): StoredChunks {
  const all = new Map([...records, ...ofDocument].map((record) => [textOf(record), record]));
  const sorted = orderedByKey([...all.values()]);
  const byText = Map.groupBy(sorted, ({ metadata }) => metadata['textHash']);
  const byEmbeddedText = Map.groupBy(sorted, ({ metadata }) => metadata['embeddingTextHash']);
  return {
    at: (key) => all.get(textOf(key)) ?? null,
    withText: (hash) => byText.get(hash) ?? [],
    withEmbeddedText: (hash) => byEmbeddedText.get(hash) ?? [],
    ofDocument: orderedByKey(ofDocument),
  };
}

function textOf({ partitionKey, id }: PartitionedKey): string {
  return JSON.stringify([partitionKey, id]);
}
