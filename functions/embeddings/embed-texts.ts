import { float32Number } from '../collections/rules/snapshot/float32-text.ts';
import { type EmbeddingQuestion, preparedTexts } from './rules/request.ts';
import { type EmbeddingParts, textVectors } from './text-vectors.ts';

export interface EmbedWork {
  readonly space: string;
  readonly signal: AbortSignal;
  /** Called after each call of the model, with the number of different texts that have their vectors. */
  readonly moved?: (done: number) => Promise<void>;
}

/** The answer of the operation. */
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
  /** Writes each number with the fewest digits of its single precision. */
  readonly values: readonly number[];
}

/**
 * The vectors of the texts of a question. The vectors of a paid model are stored before the next call, so another call for the
 * same texts, such as that of a job after a crash, pays at most for the last call twice. If the store fails, the call still answers.
 * Throws a `ProviderFailure`.
 */
export async function embedTexts(
  parts: EmbeddingParts,
  question: EmbeddingQuestion,
  work: EmbedWork,
): Promise<EmbeddingAnswer> {
  const { purpose } = question;
  const { embedder, turns } = parts;
  const prepared = preparedTexts(question, embedder.prefixes);
  const texts = [...new Set(prepared.map(({ text }) => text))];
  const { space, signal, moved } = work;
  const vectors = await textVectors(parts, texts, { purpose, signal, space, moved });
  const items: EmbeddingItem[] = [];
  for (const [index, { text, textLength, ...prefix }] of prepared.entries()) {
    const values = Array.from(vectors.get(text) ?? [], float32Number);
    // A job that continues from a checkpoint answers its members in the same order.
    items.push({ index, textLength, preparedTextLength: text.length, ...prefix, values });
    // A vector of 3,072 numbers takes some milliseconds.
    await turns?.pause(space);
  }
  const { provider, modelId, dimensions } = embedder;
  return { provider, modelId, dimensions, purpose, items };
}
