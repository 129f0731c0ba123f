import type { ProviderSetting } from '../config/settings/providers.ts';
import type { Settings } from '../config/table.ts';
import type { CountedProvider } from '../providers/rules/provider-counts.ts';
import { currentQualification, type StoredQualification } from '../providers/rules/qualification.ts';
import type { ProviderTarget } from '../providers/rules/target.ts';
import { liveEntriesOf, providerTargetsOf } from './provider-targets.ts';

/** The providers of capabilities as readiness counts them: each with its proven state, in the order of the targets. */
export function countedProvidersOf(
  settings: Settings,
  qualifications: readonly (readonly StoredQualification[])[],
): readonly CountedProvider[] {
  const entries = new Map(liveEntriesOf(settings.providers).map((entry) => [entry.Id, entry]));
  return providerTargetsOf(settings).map((target, at) =>
    countedProvider(target, entries.get(target.id) ?? {}, qualifications[at] ?? []),
  );
}

function countedProvider(
  target: ProviderTarget,
  entry: Partial<ProviderSetting>,
  stored: readonly StoredQualification[],
): CountedProvider {
  const { isLocal, isEnabled, auth, capabilities } = target;
  return {
    isLocal,
    needsCredential: auth !== 'none',
    isEnabled,
    isLimited: isLocal || entry.CallsPerMinute !== undefined || entry.TokensPerDayMax !== undefined,
    capabilities: capabilities.length,
    validated: capabilities.filter(
      (each) => currentQualification(target, each, stored)?.status === 'validated',
    ).length,
  };
}
