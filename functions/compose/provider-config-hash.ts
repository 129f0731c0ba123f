import type { ProviderSetting } from '../config/settings/providers.ts';
import { configHash } from '../providers/rules/config-hash.ts';

/** The hash of a provider's entry in the settings. */
export function configHashOf(entry: Partial<ProviderSetting>): string {
  const { Kind: kind = '', BaseAddress, ProjectId = '', LocationId = '' } = entry;
  const address = kind === 'vertex' ? `vertex:${ProjectId}/${LocationId}` : (BaseAddress ?? null);
  return configHash({
    kind,
    address,
    models: {
      model: entry.Model ?? null,
      dimensions: entry.Dimensions ?? null,
      sendsDimensions: entry.SendsDimensions ?? false,
      queryPrefix: entry.QueryPrefix ?? null,
      passagePrefix: entry.PassagePrefix ?? null,
      symmetricPrefix: entry.SymmetricPrefix ?? null,
      // Absent members are left out, so that older settings keep their hash.
      ...(entry.Capabilities === undefined ? {} : { capabilities: [...entry.Capabilities] }),
      ...(entry.OutputTokensMax === undefined ? {} : { outputTokensMax: entry.OutputTokensMax }),
      ...(entry.TokenParameter === undefined ? {} : { tokenParameter: entry.TokenParameter }),
    },
    limits: {
      timeoutSeconds: entry.TimeoutSeconds ?? null,
      callsPerMinute: entry.CallsPerMinute ?? null,
      tokensPerDayMax: entry.TokensPerDayMax ?? null,
      spaceSharePercent: entry.SpaceSharePercent ?? null,
    },
    secretName: secretNameOf(entry),
  });
}

function secretNameOf({ Kind, ApiKey, ApiKeyFile }: Partial<ProviderSetting>): string | null {
  if (Kind === 'vertex') return 'google-credentials';
  return ApiKeyFile ?? (ApiKey === undefined ? null : 'ApiKey');
}
