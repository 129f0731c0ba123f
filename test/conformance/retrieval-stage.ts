import { builtInEmbedder } from '../../functions/embeddings/built-in.ts';
import type { Embedder } from '../../functions/embeddings/embedder.ts';
import { EMBEDDINGS } from '../../functions/embeddings/store-collections.ts';
import { createEmbeddingParts } from '../../functions/embeddings/text-vectors.ts';
import { parseJson } from '../../functions/kernel/json-text.ts';
import type { RetrievalParts } from '../../functions/retrieval/parts.ts';
import { localRerankers } from '../../functions/retrieval/reranker.fixture.ts';
import type { Rerankers } from '../../functions/retrieval/reranker.ts';
import { type RetrieveCall, retrieve } from '../../functions/retrieval/retrieve.ts';
import type { RetrievalRequest } from '../../functions/retrieval/rules/asked.ts';
import { envelopeJson } from '../../functions/retrieval/rules/envelope.ts';
import { readRetrieval } from '../../functions/retrieval/rules/request.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { traceCollections } from '../../functions/traces/store-collections.ts';
import { writeAll } from './records-search-stage.ts';
import { RecordsStage, recordCollections } from './records-stage.ts';
import { TracesStage } from './traces-stage.ts';

/** The collections that a provider needs when it opens. */
export const retrievalCollections = [...recordCollections, ...traceCollections, EMBEDDINGS];

export const DIMENSIONS = 16;
export const POLICY = {
  vectorPolicies: [
    {
      name: 'contentEmbedding',
      path: '/vectors/contentEmbedding/values',
      dimensions: DIMENSIONS,
      distanceFunction: 'cosine',
    },
    {
      name: 'titleEmbedding',
      path: '/vectors/titleEmbedding/values',
      dimensions: DIMENSIONS,
      distanceFunction: 'dotProduct',
    },
  ],
  indexedMetadata: ['/metadata/year'],
};

export interface Envelope {
  readonly query: string;
  readonly results: readonly {
    readonly rank: number;
    readonly score: number;
    readonly collection: string;
    readonly snippet: string;
    readonly record: { readonly id: string; readonly partitionKey: string };
    readonly diagnostics: Record<string, unknown> | null;
  }[];
  readonly trace: Record<string, unknown> | null;
}

interface Own {
  readonly embedder?: Embedder;
  readonly rerankers?: Rerankers;
  readonly space?: string;
}

/** One process that retrieves from a space of its own. */
export class RetrievalStage {
  readonly records: RecordsStage;
  readonly traces: TracesStage;
  readonly embedder: Embedder;
  readonly parts: RetrievalParts;

  constructor(store: RecordStore, own: Own = {}) {
    this.records = new RecordsStage(store, {}, own.space);
    this.traces = new TracesStage(store, {}, this.records.space);
    const embedder = own.embedder ?? builtInEmbedder('local-token-hash', DIMENSIONS);
    if (embedder === null) throw new Error('the model is part of the service');
    this.embedder = embedder;
    const rerankers = own.rerankers ?? localRerankers(this.records.parts.world.turns);
    const embeddings = createEmbeddingParts({ store: () => Promise.resolve(store), embedder });
    this.parts = { records: this.records.parts, embeddings, traces: this.traces.parts, rerankers };
  }

  get space(): string {
    return this.records.space;
  }

  create(name: string) {
    return this.records.create({ name, ...POLICY });
  }

  /** Writes texts with their vectors. */
  async write(name: string, notes: readonly Note[]): Promise<void> {
    const texts: string[] = [];
    for (const { id, text, title, year = 2026, partitionKey = 'p', ...other } of notes) {
      const vectors = {
        contentEmbedding: { values: await this.#vector(text), distanceFunction: 'cosine' },
        titleEmbedding: { values: await this.#vector(title), distanceFunction: 'dotProduct' },
      };
      texts.push(
        JSON.stringify({
          id,
          partitionKey,
          type: 'note',
          content: { text },
          metadata: { title, year, ...other },
          vectors,
        }),
      );
    }
    await writeAll(this.records, texts, name);
  }

  async #vector(text: string): Promise<readonly number[]> {
    const call = { purpose: 'document', signal: new AbortController().signal } as const;
    const [vector] = await this.embedder.embed([text], call);
    return [...(vector ?? [])];
  }

  /** The answer as a caller gets it. */
  async retrieve(request: Partial<RetrievalRequest>, call: RetrieveCall = {}): Promise<Envelope> {
    return parseJson(await this.envelope(request, call)) as Envelope;
  }

  async envelope(request: Partial<RetrievalRequest>, call: RetrieveCall = {}): Promise<string> {
    const asked = readRetrieval({ query: 'fox', collections: ['notes'], ...request }, 5_000);
    const { results, trace } = await retrieve(this.parts, this.space, asked, call);
    return envelopeJson(asked.query, results, trace);
  }
}

export interface Note {
  readonly id: string;
  readonly text: string;
  readonly title: string;
  readonly year?: number;
  readonly partitionKey?: string;
  readonly [member: string]: unknown;
}

export const placesOf = ({ results }: Envelope): readonly string[] =>
  results.map(({ collection, record: { partitionKey, id } }) => `${collection}/${partitionKey}/${id}`);
