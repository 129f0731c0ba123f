import type { PartitionedKey } from '../../collections/rules/record-key.ts';
import type { Json } from '../../kernel/canonical-json.ts';
import { FACT_NAMES } from './chunk-facts.ts';
import { orderedByKey } from './order.ts';

/** The members of metadata that plans compare: those of a chunk, and those of a manifest. */
const comparedNames = [...FACT_NAMES, 'manifestHash', 'chunkRecordType'];

export type ComparedMetadata = Readonly<Record<string, string | number | boolean>>;

/** What a plan reads of a stored record. It has neither text nor other metadata: a plan may see thousands of large records. */
export interface StoredChunk extends PartitionedKey {
  readonly type: string;
  readonly schemaVersion: string | null;
  /** The hash of the text in the content field of the request; `null` where it holds none. */
  readonly contentHash: string | null;
  readonly metadata: ComparedMetadata;
  /** The vector in the field of the request; `null` where the record has none. */
  readonly vector: StoredVector | null;
  readonly etag: string | null;
  readonly revision: number | null;
}

interface StoredVector {
  readonly dimensions: number;
  readonly model: string | null;
  readonly sourceField: string | null;
}

/** What the collection holds of a document and of texts like its own, found before the plan is made. */
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

/** Of all metadata what plans compare; they compare no lists and objects. */
export function comparedMetadata(metadata: Readonly<Record<string, Json>>): ComparedMetadata {
  const compared: Record<string, string | number | boolean> = {};
  for (const name of comparedNames) {
    const value = Object.hasOwn(metadata, name) ? metadata[name] : null;
    if (value !== undefined && value !== null && typeof value !== 'object') compared[name] = value;
  }
  return compared;
}

/** Over records that are at hand; one record may be found in more than one way. */
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
