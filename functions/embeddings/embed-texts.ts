import { float32Text } from '../collections/rules/snapshot/float32-text.ts';
import { nextTurn } from '../kernel/turns.ts';
import type { RecordKey, RecordStore } from '../store/port.ts';
import type { EmbedCall, Embedder } from './embedder.ts';
import { keepPaid, readPaid } from './paid-vectors.ts';
import { splitBatches } from './rules/batches.ts';
import { type EmbeddingQuestion, preparedTexts } from './rules/request.ts';
import { embeddingKey } from './store-collections.ts';

export interface EmbeddingParts {
  readonly store: () => Promise<RecordStore>;
  readonly embedder: Embedder;
}

export interface EmbedWork {
  readonly space: string;
  readonly signal: AbortSignal;
  /** Called after each call of the model with how many different texts have their vectors. */
  readonly moved?: (done: number) => Promise<void>;
}

/** The answer of the contract. */
export interface EmbeddingAnswer {
  readonly provider: string;
  readonly modelId: string;
  readonly dimensions: number;
  readonly purpose: string;
  readonly items: readonly EmbeddingItem[];
}

export interface EmbeddingItem {
  readonly index: number;
  readonly textLength: number;
  readonly preparedTextLength: number;
  readonly prefixApplied: boolean;
  readonly prefixLength: number;
  /** Each has the fewest digits that give the same number in single precision. */
  readonly values: readonly number[];
}

/**
 * The vectors of the texts of a question. What a paid model answers is kept before the next call, so another call for the same
 * texts, such as that of a job after a crash, pays at most for the last call once more. Throws a `ProviderFailure`.
 */
export async function embedTexts(
  { store, embedder }: EmbeddingParts,
  question: EmbeddingQuestion,
  work: EmbedWork,
): Promise<EmbeddingAnswer> {
  const { purpose } = question;
  const prepared = preparedTexts(question, embedder.prefixes);
  const texts = [...new Set(prepared.map(({ text }) => text))];
  const call = { purpose, signal: work.signal, space: work.space };
  const vectors = embedder.isPaid
    ? await paidVectors(await store(), embedder, texts, call, work)
    : await newVectors(embedder, texts, call, ({ size }) => work.moved?.(size));
  const items: EmbeddingItem[] = [];
  for (const [index, { text, ...facts }] of prepared.entries()) {
    const values = Array.from(vectors.get(text) ?? [], (value) => Number(float32Text(value)));
    items.push({ index, ...facts, preparedTextLength: text.length, values });
    // A vector of 3,072 numbers takes some milliseconds.
    await nextTurn();
  }
  const { provider, modelId, dimensions } = embedder;
  return { provider, modelId, dimensions, purpose, items };
}

type Vectors = ReadonlyMap<string, Float32Array>;

async function paidVectors(
  store: RecordStore,
  embedder: Embedder,
  texts: readonly string[],
  call: EmbedCall,
  { space, moved }: EmbedWork,
): Promise<Vectors> {
  const keyOf = (text: string): RecordKey => embeddingKey(embedder, call.purpose, text);
  const kept = await readPaid(store, space, texts.map(keyOf));
  const known = texts.flatMap((text) => {
    const vector = kept.get(keyOf(text).id);
    return vector === undefined ? [] : [[text, vector] as const];
  });
  const missing = texts.filter((text) => !kept.has(keyOf(text).id));
  const bought = await newVectors(embedder, missing, call, async (done, batch) => {
    await keepPaid(
      store,
      space,
      batch.map(([text, vector]) => ({ key: keyOf(text), vector })),
    );
    await moved?.(known.length + done.size);
  });
  return new Map([...known, ...bought]);
}

/** Calls the model batch by batch; `after` is awaited before the next call. */
async function newVectors(
  embedder: Embedder,
  texts: readonly string[],
  call: EmbedCall,
  after: (done: Vectors, batch: readonly (readonly [string, Float32Array])[]) => Promise<void> | undefined,
): Promise<Vectors> {
  const done = new Map<string, Float32Array>();
  for (const batch of splitBatches(texts, embedder.batch)) {
    call.signal.throwIfAborted();
    const vectors = await embedder.embed(batch, call);
    const pairs = batch.map((text, at) => [text, vectors[at] ?? new Float32Array()] as const);
    for (const [text, vector] of pairs) done.set(text, vector);
    await after(done, pairs);
  }
  return done;
}
