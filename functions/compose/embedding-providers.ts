import type { Settings } from '../config/table.ts';
import type { EmbeddingProvider, EmbeddingProviders } from '../embeddings/provider.ts';
import { builtInProviders } from '../embeddings/rules/built-in-providers.ts';

/** The embedding providers that the settings name. Pure: opens and calls nothing. */
export function embeddingProvidersOf({ embeddings }: Settings): EmbeddingProviders {
  const { provider, dimensions } = embeddings;
  const all = builtInProviders.map(
    (each): EmbeddingProvider =>
      each.provider === provider && dimensions !== null ? { ...each, dimensions } : each,
  );
  const active = all.find((each) => each.provider === provider);
  // The rules of the configuration have refused every other id.
  if (active === undefined) throw new Error(`no embedding provider is ${provider}`);
  return { all, active };
}
