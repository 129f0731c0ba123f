import type { ProviderSetting } from '../config/settings/providers.ts';
import type { Settings } from '../config/table.ts';
import { type ProviderGuard, providerGuard } from '../providers/provider-guard.ts';
import type { LimitedProvider } from '../providers/read-quotas.ts';
import type { GuardLimits } from '../providers/rules/guard.ts';
import type { GroupParts } from './group.ts';
import { liveEntriesOf } from './provider-targets.ts';

const SPACE_SHARE_PERCENT_DEFAULT = 50;

/** The guard of a provider over the network. */
export function providerGuardOf(
  { settings, store, world }: Pick<GroupParts, 'settings' | 'store' | 'world'>,
  entry: Partial<ProviderSetting>,
): ProviderGuard {
  const { Id: provider = '' } = entry;
  const limits = providerLimitsOf(settings, entry);
  return providerGuard({ store: store.get, clock: world.clock, provider, limits });
}

/** The limits of a provider over the network, from its entry in the settings. */
function providerLimitsOf(settings: Settings, entry: Partial<ProviderSetting>): GuardLimits {
  const { CallsPerMinute: callsPerMinute = null, TokensPerDayMax: tokensPerDayMax = null } = entry;
  const spaceSharePercent = hasSeveralSpaces(settings)
    ? (entry.SpaceSharePercent ?? SPACE_SHARE_PERCENT_DEFAULT)
    : 100;
  return { callsPerMinute, tokensPerDayMax, spaceSharePercent };
}

/** With a single space, a share for each space would leave the rest unused. */
function hasSeveralSpaces({ recordAccess, providerAccess }: Settings): boolean {
  const policies = [...recordAccess.identityPolicies, ...providerAccess.identityPolicies];
  return new Set(policies.map(({ Space }) => Space)).size > 1;
}

/** The providers over the network with their limits. */
export function limitedProvidersOf(settings: Settings): readonly LimitedProvider[] {
  return liveEntriesOf(settings.providers).map((entry) => ({
    id: entry.Id ?? '',
    limits: providerLimitsOf(settings, entry),
  }));
}
