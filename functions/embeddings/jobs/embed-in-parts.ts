import { type EmbeddingAnswer, type EmbeddingItem, embedTexts } from '../embed-texts.ts';
import type { EmbeddingQuestion } from '../rules/request.ts';
import type { EmbeddingParts } from '../text-vectors.ts';
import { splitQuestion } from './split-question.ts';

export interface PartsWork {
  readonly space: string;
  readonly signal: AbortSignal;
  /** The items of the first texts, which an earlier execution stored. */
  readonly kept: readonly EmbeddingItem[];
  /** Stores the items of the next texts. The model is called again only after it has settled; an error of it ends the work. */
  readonly keep: (items: readonly EmbeddingItem[]) => Promise<void>;
}

/**
 * Embeds the texts of a question part by part. An execution after a crash continues after the stored parts, and a paid model has
 * its own cache, so at most the call in flight is paid for twice. Throws a `ProviderFailure`.
 */
export async function embedInParts(
  parts: EmbeddingParts,
  question: EmbeddingQuestion,
  work: PartsWork,
): Promise<EmbeddingAnswer> {
  const { space, signal, kept, keep } = work;
  const items = [...kept];
  const rest = { ...question, texts: question.texts.slice(items.length) };
  for (const part of splitQuestion(rest, parts.embedder)) {
    signal.throwIfAborted();
    const answer = await embedTexts(parts, part, { space, signal });
    const own = answer.items.map((item) => ({ ...item, index: items.length + item.index }));
    await keep(own);
    items.push(...own);
  }
  const { provider, modelId, dimensions } = parts.embedder;
  return { provider, modelId, dimensions, purpose: question.purpose, items };
}
