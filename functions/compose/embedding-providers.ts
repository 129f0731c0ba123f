import { capabilitiesOf, type ProviderSetting } from '../config/settings/providers.ts';
import type { Settings } from '../config/table.ts';
import type { EmbeddingPrefixes } from '../embeddings/embedder.ts';
import type { EmbeddingProvider, EmbeddingProviders } from '../embeddings/provider.ts';
import { builtInProviders } from '../embeddings/rules/built-in-providers.ts';
import { remoteProvider } from '../embeddings/rules/remote-provider.ts';
import { configHashOf } from './provider-config-hash.ts';

/** The embedding providers that the settings name. Pure: opens and calls nothing. */
export function embeddingProvidersOf({ embeddings, providers }: Settings): EmbeddingProviders {
  const { provider, dimensions } = embeddings;
  const own = builtInProviders.map((each) =>
    each.provider === provider && dimensions !== null ? { ...each, dimensions } : each,
  );
  const others = providers.list
    .filter((entry) => capabilitiesOf(entry).includes('ai.embedding'))
    .map((entry) => providerOf(entry, providers.enableLiveTargets));
  const all = [...own, ...others].sort(byId);
  const active = all.find((each) => each.provider === provider);
  // The rules of the configuration have refused every other id.
  if (active === undefined) throw new Error(`no embedding provider is ${provider}`);
  return { all, active };
}

/** The rules of the configuration have refused entries that lack a member. */
function providerOf(entry: Partial<ProviderSetting>, isLive: boolean): EmbeddingProvider {
  const { Id: provider = '', Model: modelId = '', Dimensions: dimensions = 1 } = entry;
  const displayName = entry.DisplayName ?? provider;
  const named = { provider, modelId, dimensions, displayName, configHash: configHashOf(entry) };
  const model = builtInProviders.find((each) => each.modelId === modelId);
  if (entry.Kind === 'deterministic' && model !== undefined) return { ...model, ...named };
  const kind = entry.Kind === 'vertex' ? 'vertex' : 'openai';
  return remoteProvider({ ...named, kind, prefixes: prefixesOf(entry), isLive });
}

export function prefixesOf(entry: Partial<ProviderSetting>): EmbeddingPrefixes {
  return {
    query: entry.QueryPrefix ?? null,
    passage: entry.PassagePrefix ?? null,
    symmetric: entry.SymmetricPrefix ?? null,
  };
}

function byId(left: EmbeddingProvider, right: EmbeddingProvider): number {
  return left.provider < right.provider ? -1 : 1;
}
