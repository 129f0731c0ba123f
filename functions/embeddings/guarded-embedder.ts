import type { ProviderGuard } from '../providers/provider-guard.ts';
import type { Embedder } from './embedder.ts';
import { tokensOf } from './rules/batches.ts';
import { textsUsage } from './rules/texts-usage.ts';

/** Wraps an embedder so that its calls keep to the limits of its provider. */
export function guardedEmbedder(embedder: Embedder, guard: ProviderGuard): Embedder {
  return {
    ...embedder,
    embed: (texts, call) =>
      guard.within({ space: call.space ?? null, tokens: tokensOf(texts) }, (admit, used) => {
        const took = (tokens: number | null) => {
          const { inputTokens, excessTokens } = textsUsage(texts, tokens);
          if (tokens !== null) used(inputTokens, excessTokens);
        };
        return embedder.embed(texts, { ...call, admit, took });
      }),
  };
}
