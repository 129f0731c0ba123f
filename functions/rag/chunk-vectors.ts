import type { RecordParts } from '../collections/parts.ts';
import type { ReadCall } from '../collections/read-call.ts';
import type { PartitionedKey } from '../collections/rules/record-key.ts';
import { formatUtc } from '../kernel/timestamp.ts';

import { readVectors } from './read-stored.ts';
import type { IngestDocument } from './rules/ingest-document.ts';
import type { ChunkVector } from './rules/ingest-records.ts';
import type { PlannedChunk } from './rules/plan-chunks.ts';

/** The most texts of one call of the model. */
const TEXTS_A_CALL = 64;

/** The vectors of texts in their order. */
type EmbedTexts = (texts: readonly string[]) => Promise<readonly Float32Array[]>;

export interface VectorsCall extends ReadCall {
  readonly embed: EmbedTexts;
}

/** The vectors of one document, by the hash of the text that the model gets. No text is embedded twice. */
export class ChunkVectors {
  readonly #parts: RecordParts;
  readonly #space: string;
  readonly #document: IngestDocument;
  readonly #call: VectorsCall;
  readonly #vectors = new Map<string, ChunkVector>();

  constructor(parts: RecordParts, space: string, document: IngestDocument, call: VectorsCall) {
    this.#parts = parts;
    this.#space = space;
    this.#document = document;
    this.#call = call;
  }

  /** `false`: a record whose vector the plan reuses was removed, or has no vector any more. */
  async complete(chunks: readonly PlannedChunk[]): Promise<boolean> {
    const missing = this.#missing(chunks);
    await this.#embed(missing.filter(({ embeddingAction }) => embeddingAction === 'generated'));
    const lent = this.#missing(missing).flatMap(({ vectorFrom, embeddingTextHash }) =>
      vectorFrom === null ? [] : [{ vectorFrom, embeddingTextHash }],
    );
    return this.#read(lent);
  }

  /** Serves a partly written plan: texts whose vector no record has any more are embedded. */
  async completeRest(chunks: readonly PlannedChunk[]): Promise<void> {
    if (!(await this.complete(chunks))) await this.#embed(this.#missing(chunks));
  }

  get(embeddingTextHash: string): ChunkVector {
    const vector = this.#vectors.get(embeddingTextHash);
    if (vector === undefined) throw new TypeError('a chunk has no vector');
    return vector;
  }

  #missing(chunks: readonly PlannedChunk[]): readonly PlannedChunk[] {
    return chunks.filter(({ embeddingTextHash }) => !this.#vectors.has(embeddingTextHash));
  }

  async #embed(chunks: readonly PlannedChunk[]): Promise<void> {
    const texts = new Map(
      chunks.map(({ embeddingTextHash, embeddingText }) => [embeddingTextHash, embeddingText]),
    );
    const all = [...texts];
    // A short call yields no turn by itself, and a document may need many calls.
    const turns = this.#parts.world.turns.of(this.#space);
    for (let at = 0; at < all.length; at += TEXTS_A_CALL) {
      this.#call.signal?.throwIfAborted();
      const some = all.slice(at, at + TEXTS_A_CALL);
      const values = await this.#call.embed(some.map(([, text]) => text));
      const generatedAt = formatUtc(this.#parts.world.clock.now());
      for (const [index, [hash]] of some.entries()) {
        const own = values[index];
        if (own === undefined) throw new TypeError('the model has given fewer vectors than texts');
        this.#vectors.set(hash, { values: own, generatedAt });
      }
      if (turns.due()) await turns.next();
    }
  }

  async #read(
    lent: readonly { readonly vectorFrom: PartitionedKey; readonly embeddingTextHash: string }[],
  ): Promise<boolean> {
    if (lent.length === 0) return true;
    const keys = lent.map(({ vectorFrom }) => vectorFrom);
    const read = await readVectors(this.#parts, this.#space, this.#document, keys, this.#call);
    let isComplete = true;
    for (const [index, { embeddingTextHash }] of lent.entries()) {
      const vector = read[index] ?? null;
      if (vector?.values.length === this.#document.embedding.embedder.dimensions)
        this.#vectors.set(embeddingTextHash, vector);
      else isComplete = false;
    }
    return isComplete;
  }
}
