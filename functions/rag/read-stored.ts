import { candidatesOf, equalInPartition, type RecordReader } from '../collections/candidates.ts';
import type { RecordParts } from '../collections/parts.ts';
import { ReadBudget } from '../collections/read-budget.ts';
import { type AttemptBytes, attemptsOf, type ReadCall } from '../collections/read-call.ts';
import { collectionAt } from '../collections/read-policy.ts';
import { indexValue } from '../collections/rules/index-value.ts';
import type { PartitionedKey } from '../collections/rules/record-key.ts';
import { etagOf } from '../collections/rules/record-stamp.ts';
import { recordValue, vectorIn } from '../collections/rules/stored-text.ts';
import { recordKey, spaceScope } from '../collections/store-collections.ts';
import type { StoredCollection } from '../collections/stored-collection.ts';
import { factsIn, storedText } from '../collections/stored-content.ts';
import { sha256 } from '../kernel/canonical-json.ts';
import { objectOrEmpty } from '../kernel/json-kinds.ts';

import type { RecordData } from '../store/port.ts';
import type { DocumentChunk } from './rules/cut-document.ts';
import { manifestIdOf } from './rules/ids.ts';
import type { IngestDocument } from './rules/ingest-document.ts';
import type { ChunkVector } from './rules/ingest-records.ts';
import { KeptChunks } from './rules/kept-chunks.ts';
import {
  comparedMetadata,
  type StoredChunk,
  type StoredChunks,
  storedChunks,
} from './rules/stored-chunks.ts';

const KEYS_A_READ = 100;
/** Records of the first read, before their size is known: the largest records make 27 MB. */
const KEYS_FIRST = 30;
/** The target size of the bodies of one read, in characters. */
const READ_CHARACTERS = 4 * 1024 * 1024;
/** The most records with one hash that are read; a plan uses 50. */
const SAME_HASH_MAX = 50;
const ADVICE = 'Use a narrower scope for duplicates and reusable vectors, or larger chunks.';

export interface StoredDocument {
  readonly collection: StoredCollection;
  readonly stored: StoredChunks;
}

/**
 * Reads the input of a plan from the collection as of one moment: the records under the keys of its chunks, and by index the records
 * with the same hashes and those of the document. Throws the refusal of an absent collection, or of its cost.
 */
export async function readStored(
  parts: RecordParts,
  space: string,
  document: IngestDocument,
  chunks: readonly DocumentChunk[],
  call: ReadCall = {},
): Promise<StoredDocument> {
  return atOneMoment(parts, space, document, call, async (reader, collection) => {
    const finder = new ChunkFinder(reader, document);
    const { options, idPrefix, partitionKey } = document;
    const ids = [...chunks.map(({ id }) => id), manifestIdOf(idPrefix, options.manifestId)];
    await finder.byKeys(ids.map((id) => ({ partitionKey, id })));
    if (options.deduplicateExistingChunks && options.chunkDedupeScope !== 'request') {
      const hashes = chunks.map(({ textHash }) => textHash);
      await finder.having('textHash', hashes, options.chunkDedupeScope);
    }
    if (options.reuseExistingChunkVectors && options.vectorReuseScope !== 'request') {
      const hashes = chunks.map(({ embeddingTextHash }) => embeddingTextHash);
      await finder.having('embeddingTextHash', hashes, options.vectorReuseScope);
    }
    const ofDocument = options.replaceDocumentChunks ? await finder.ofDocument() : [];
    return { collection, stored: storedChunks(finder.found, ofDocument) };
  });
}

/** The vectors of records in the field of the document, in the order of the keys; `null` for a record without one. */
export async function readVectors(
  parts: RecordParts,
  space: string,
  document: IngestDocument,
  keys: readonly PartitionedKey[],
  call: ReadCall = {},
): Promise<readonly (ChunkVector | null)[]> {
  return atOneMoment(parts, space, document, call, async (reader) => {
    const found = new Map<string, ChunkVector | null>();
    for await (const record of recordsAt(reader, keys)) {
      const vector = vectorOf(record, document.embedding.policy.name);
      reader.bytes.add(vector?.values.byteLength ?? 0);
      found.set(record.key.id, vector);
    }
    return keys.map((key) => found.get(recordKey(reader.incarnation, key).id) ?? null);
  });
}

function vectorOf(record: RecordData, field: string): ChunkVector | null {
  const stored = storedText(record);
  const values = vectorIn(stored, field);
  if (values === null) return null;
  const { vectors } = recordValue(stored, { vectors: false });
  const { generatedAt = null } = objectOrEmpty(objectOrEmpty(vectors)[field]);
  return { values, generatedAt: typeof generatedAt === 'string' ? generatedAt : null };
}

async function atOneMoment<Result>(
  parts: RecordParts,
  space: string,
  { collection: name }: IngestDocument,
  call: ReadCall,
  read: (reader: RecordReader, collection: StoredCollection) => Promise<Result>,
): Promise<Result> {
  const store = await parts.store();
  const attempt = attemptsOf(call);
  return parts.lanes.run(
    space,
    (lane) =>
      store.snapshot(spaceScope(space), async (moment) => {
        const collection = await collectionAt(moment, name);
        const budget = new ReadBudget(parts.limits.readsPerCallMax, ADVICE, lane);
        const turns = parts.world.turns.of(space);
        const { incarnation } = collection;
        const pageMax = parts.limits.readPageMax;
        return read({ moment, incarnation, budget, turns, bytes: attempt(), pageMax }, collection);
      }),
    call,
  );
}

/** The existing records under the keys. Only the bodies of one read are in memory at a time. */
async function* recordsAt(
  { moment, incarnation, budget, turns, bytes }: RecordReader,
  keys: readonly PartitionedKey[],
): AsyncGenerator<RecordData, void> {
  let size = KEYS_FIRST;
  for (let at = 0; at < keys.length; ) {
    const some = keys.slice(at, at + size);
    const wanted = some.map((key) => ({ key: recordKey(incarnation, key), view: 'body' }) as const);
    budget.room();
    const read = (await moment.query({ by: 'keys', keys: wanted })).records;
    const characters = read.reduce((sum, { body }) => sum + (body?.length ?? 0), 0);
    budget.spend(read.length, characters);
    bytes.add(characters);
    yield* read;
    bytes.drop(characters);
    at += some.length;
    const fitting = Math.floor((READ_CHARACTERS * some.length) / Math.max(1, characters));
    size = Math.max(1, Math.min(KEYS_A_READ, fitting));
    if (turns.due()) await turns.next();
  }
}

/** Counts the bytes of one walk, so that the rest can be released at its end. */
function heldBytes(bytes: AttemptBytes): AttemptBytes & { readonly release: () => void } {
  let held = 0;
  return {
    add(size) {
      bytes.add(size);
      held += size;
    },
    drop(size) {
      bytes.drop(size);
      held -= size;
    },
    release() {
      bytes.drop(held);
      held = 0;
    },
  };
}

class ChunkFinder {
  readonly #reader: RecordReader;
  readonly #document: IngestDocument;
  readonly #kept: KeptChunks;

  constructor(reader: RecordReader, document: IngestDocument) {
    this.#reader = reader;
    this.#document = document;
    this.#kept = new KeptChunks(reader.bytes.add, ADVICE);
  }

  get found(): Iterable<StoredChunk> {
    return this.#kept.all;
  }

  async byKeys(keys: readonly PartitionedKey[]): Promise<void> {
    for await (const record of recordsAt(this.#reader, keys)) this.#kept.keep(this.#chunkOf(record));
  }

  /** The first records with each of the hashes. */
  async having(
    member: 'textHash' | 'embeddingTextHash',
    hashes: readonly string[],
    scope: 'partition' | 'collection',
  ): Promise<void> {
    for (const hash of new Set(hashes)) {
      let count = 0;
      for await (const chunk of this.#withFact(member, hash, scope)) {
        this.#kept.keep(chunk);
        count += 1;
        if (count === SAME_HASH_MAX) break;
      }
    }
  }

  async ofDocument(): Promise<StoredChunk[]> {
    const { documentId, type } = this.#document;
    const found: StoredChunk[] = [];
    for await (const chunk of this.#withFact('documentId', documentId, 'partition'))
      if (chunk.type === type) found.push(this.#kept.keep(chunk));
    return found;
  }

  async *#withFact(
    member: string,
    value: string,
    scope: 'partition' | 'collection',
  ): AsyncGenerator<StoredChunk, void> {
    const driver = { by: 'equal', index: `/metadata/${member}`, value: indexValue(value) ?? '' } as const;
    const held = heldBytes(this.#reader.bytes);
    const reader = { ...this.#reader, bytes: held };
    const found =
      scope === 'partition'
        ? equalInPartition(reader, driver, this.#document.partitionKey, null)
        : candidatesOf(reader, driver, null, SAME_HASH_MAX);
    try {
      for await (const record of found) {
        const chunk = this.#chunkOf(record);
        // An index holds only the beginning of a long value.
        if (chunk.metadata[member] === value) yield chunk;
      }
    } finally {
      // A walk that ends within a page has not released the page.
      held.release();
    }
  }

  #chunkOf(record: RecordData): StoredChunk {
    const { contentField, embedding } = this.#document;
    const value = recordValue(storedText(record), { vectors: false });
    const { type, schemaVersion = null } = value;
    const content = objectOrEmpty(value['content']);
    const text = Object.hasOwn(content, contentField) ? content[contentField] : null;
    const vector = factsIn(record.head).vectors.find(({ name }) => name === embedding.policy.name);
    const revision = Number(record.head['revision']);
    return {
      partitionKey: value.partitionKey,
      id: value.id,
      type: typeof type === 'string' ? type : '',
      schemaVersion: typeof schemaVersion === 'string' ? schemaVersion : null,
      // Half a code point is hashed as the replacement character.
      contentHash: typeof text === 'string' && text.isWellFormed() ? sha256(text) : null,
      metadata: comparedMetadata(objectOrEmpty(value['metadata'])),
      vector: vector ?? null,
      etag: etagOf(revision),
      revision,
    };
  }
}
