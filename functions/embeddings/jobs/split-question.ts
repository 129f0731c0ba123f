import type { Embedder } from '../embedder.ts';
import { splitBatches } from '../rules/batches.ts';
import { type EmbeddingQuestion, preparedTexts } from '../rules/request.ts';

/** Bytes of the vectors of one part. Base64 adds a third, and a checkpoint holds 1 MiB. */
const PART_BYTES_MAX = 600 * 1024;
const FLOAT_BYTES = 4;

/** Splits the question into consecutive parts. Each part needs one call of the model and one checkpoint. */
export function splitQuestion(
  question: EmbeddingQuestion,
  { prefixes, dimensions, batch }: Pick<Embedder, 'prefixes' | 'dimensions' | 'batch'>,
): readonly EmbeddingQuestion[] {
  const kept = Math.max(1, Math.floor(PART_BYTES_MAX / (dimensions * FLOAT_BYTES)));
  const limits = { ...batch, textsMax: Math.min(batch.textsMax, kept) };
  const prepared = preparedTexts(question, prefixes).map(({ text }) => text);
  let first = 0;
  return splitBatches(prepared, limits).map(({ length }) => {
    const texts = question.texts.slice(first, first + length);
    first += length;
    return { ...question, texts };
  });
}
