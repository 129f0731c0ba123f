import type { ProviderSetting } from '../config/settings/providers.ts';
import type { Settings } from '../config/table.ts';
import type { CountedProvider } from '../providers/rules/provider-counts.ts';
import { embeddingProvidersOf } from './embedding-providers.ts';

/** The providers of embeddings as readiness counts them: each has the one capability of embedding texts. */
export function countedProvidersOf(settings: Settings): readonly CountedProvider[] {
  const entries = new Map(settings.providers.list.map((entry) => [entry.Id, entry]));
  return embeddingProvidersOf(settings).all.map(({ provider, isLocal, disabledReason }) => {
    const entry = entries.get(provider) ?? {};
    return {
      isLocal,
      needsCredential: needsCredential(entry),
      isEnabled: disabledReason === null,
      isLimited: isLocal || entry.CallsPerMinute !== undefined || entry.TokensPerDayMax !== undefined,
      capabilities: 1,
      validated: 0,
    };
  });
}

function needsCredential({ Kind, ApiKey, ApiKeyFile }: Partial<ProviderSetting>): boolean {
  return Kind === 'vertex' || ApiKey !== undefined || ApiKeyFile !== undefined;
}
