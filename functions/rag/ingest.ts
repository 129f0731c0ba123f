import type { RecordParts } from '../collections/parts.ts';
import type { ReadCall } from '../collections/read-call.ts';
import type { RecordKey } from '../collections/rules/record-key.ts';
import { ServiceError } from '../kernel/errors.ts';
import { formatUtc } from '../kernel/timestamp.ts';
import { inTurns, turnsOf } from '../kernel/turns.ts';
import { planWrites } from './plan-writes.ts';
import { readStored, readVectors } from './read-stored.ts';
import { cutDocument } from './rules/cut-document.ts';
import type { IngestDocument } from './rules/ingest-document.ts';
import type { ChunkVector } from './rules/ingest-records.ts';
import { type IngestPlan, planIngestion } from './rules/plan.ts';
import { type PlannedChunk, RequestRecords } from './rules/plan-chunks.ts';
import { type WriteOptions, type WrittenPlan, writePlan } from './write-plan.ts';

/** Texts of one call of the model. */
const TEXTS_A_CALL = 64;
/** Rivals may change the document between plan and commit. So many times it is planned again. */
const TRIES_MAX = 8;

/** The vectors of texts in their order. */
export type EmbedTexts = (texts: readonly string[]) => Promise<readonly Float32Array[]>;

export interface IngestOptions extends Pick<WriteOptions, 'signal'>, ReadCall {
  readonly embed: EmbedTexts;
  /** Records of earlier documents of the request. */
  readonly known?: RequestRecords;
}

export interface Ingested {
  readonly plan: IngestPlan;
  /** `null` for a dry run. */
  readonly written: WrittenPlan | null;
}

/**
 * Cuts a document, plans it against the collection, embeds what has no vector and writes it. No text is embedded twice, also where
 * a rival makes a new plan due. Throws `store_contention` where rivals change the document again and again.
 */
export async function ingestDocument(
  parts: RecordParts,
  space: string,
  document: IngestDocument,
  options: IngestOptions,
): Promise<Ingested> {
  const turns = turnsOf(parts.world.clock);
  const chunks = await inTurns(cutDocument(document), turns);
  const vectors = new Vectors(parts, space, document, options);
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    options.signal?.throwIfAborted();
    const { collection, stored } = await readStored(parts, space, document, chunks, options);
    const known = (options.known ?? new RequestRecords()).copy();
    const plan = await inTurns(planIngestion(document, chunks, stored, known), turns);
    if (document.options.dryRun) return done(null);
    if (!(await vectors.complete(plan.chunks))) continue;
    const writes = planWrites(plan, stored, (hash) => vectors.get(hash));
    const written = await writePlan(parts, space, collection, writes, options);
    if (written !== null) return done(written);

    function done(result: WrittenPlan | null): Ingested {
      options.known?.take(known);
      return { plan, written: result };
    }
  }
  throw new ServiceError(
    'store_contention',
    'Other calls change the document again and again: try again later.',
  );
}

/** The vectors of one document, by the hash of the text that the model gets. */
class Vectors {
  readonly #parts: RecordParts;
  readonly #space: string;
  readonly #document: IngestDocument;
  readonly #options: IngestOptions;
  readonly #vectors = new Map<string, ChunkVector>();

  constructor(parts: RecordParts, space: string, document: IngestDocument, options: IngestOptions) {
    this.#parts = parts;
    this.#space = space;
    this.#document = document;
    this.#options = options;
  }

  /** `false`: a record whose vector the plan takes has gone, or lost it. */
  async complete(chunks: readonly PlannedChunk[]): Promise<boolean> {
    const missing = chunks.filter(({ embeddingTextHash }) => !this.#vectors.has(embeddingTextHash));
    await this.#embed(missing.filter(({ embeddingAction }) => embeddingAction === 'generated'));
    const lent = missing.flatMap(({ vectorFrom, embeddingTextHash }) =>
      vectorFrom === null || this.#vectors.has(embeddingTextHash) ? [] : [{ vectorFrom, embeddingTextHash }],
    );
    return this.#read(lent);
  }

  get(embeddingTextHash: string): ChunkVector {
    const vector = this.#vectors.get(embeddingTextHash);
    if (vector === undefined) throw new TypeError('a chunk has no vector');
    return vector;
  }

  async #embed(chunks: readonly PlannedChunk[]): Promise<void> {
    const texts = new Map(
      chunks.map(({ embeddingTextHash, embeddingText }) => [embeddingTextHash, embeddingText]),
    );
    const all = [...texts];
    for (let at = 0; at < all.length; at += TEXTS_A_CALL) {
      this.#options.signal?.throwIfAborted();
      const some = all.slice(at, at + TEXTS_A_CALL);
      const values = await this.#options.embed(some.map(([, text]) => text));
      const generatedAt = formatUtc(this.#parts.world.clock.now());
      for (const [index, [hash]] of some.entries()) {
        const own = values[index];
        if (own === undefined) throw new TypeError('the model has given fewer vectors than texts');
        this.#vectors.set(hash, { values: own, generatedAt });
      }
    }
  }

  async #read(
    lent: readonly { readonly vectorFrom: RecordKey; readonly embeddingTextHash: string }[],
  ): Promise<boolean> {
    if (lent.length === 0) return true;
    const keys = lent.map(({ vectorFrom }) => vectorFrom);
    const read = await readVectors(this.#parts, this.#space, this.#document, keys, this.#options);
    for (const [index, { embeddingTextHash }] of lent.entries()) {
      const vector = read[index] ?? null;
      if (vector?.values.length !== this.#document.embedding.embedder.dimensions) return false;
      this.#vectors.set(embeddingTextHash, vector);
    }
    return true;
  }
}
