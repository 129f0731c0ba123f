import type { RecordKey } from '../../collections/rules/record-key.ts';
import type { JsonObject } from '../../kernel/canonical-json.ts';
import { orderedByKey } from './order.ts';

/** What a plan reads of a stored record. */
export interface StoredChunk extends RecordKey {
  readonly type: string;
  readonly schemaVersion: string | null;
  /** The text in the content field of the request; `null` where it holds none. */
  readonly text: string | null;
  readonly metadata: JsonObject;
  /** The vector in the field of the request; `null` where the record has none. */
  readonly vector: StoredVector | null;
  readonly etag: string | null;
  readonly revision: number | null;
}

export interface StoredVector {
  readonly dimensions: number;
  readonly model: string | null;
  readonly sourceField: string | null;
}

/** What the collection holds of a document and of texts like its own, found before the plan is made. */
export interface StoredChunks {
  /** The record under the key of a chunk or of the manifest. */
  readonly at: (key: RecordKey) => StoredChunk | null;
  /** Records with the hash as `metadata.textHash`, in the order of partition key and id. */
  readonly withText: (textHash: string) => readonly StoredChunk[];
  /** Records with the hash as `metadata.embeddingTextHash`, in the same order. */
  readonly withEmbeddedText: (embeddingTextHash: string) => readonly StoredChunk[];
  /** All chunks of the document in its partition. */
  readonly ofDocument: readonly StoredChunk[];
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

function textOf({ partitionKey, id }: RecordKey): string {
  return JSON.stringify([partitionKey, id]);
}
