import type { ProviderSetting } from '../config/settings/providers.ts';
import type { Settings } from '../config/table.ts';
import { type ProviderGuard, providerGuard } from '../providers/provider-guard.ts';
import type { GroupParts } from './group.ts';

const SPACE_SHARE_PERCENT_DEFAULT = 50;

/** The limits of a provider over the network, as its entry of the settings says them. */
export function providerGuardOf(
  { settings, store, world }: Pick<GroupParts, 'settings' | 'store' | 'world'>,
  entry: Partial<ProviderSetting>,
): ProviderGuard {
  const { Id: provider = '', CallsPerMinute: callsPerMinute = null } = entry;
  const { TokensPerDayMax: tokensPerDayMax = null } = entry;
  const spaceSharePercent = hasSeveralSpaces(settings)
    ? (entry.SpaceSharePercent ?? SPACE_SHARE_PERCENT_DEFAULT)
    : 100;
  const limits = { callsPerMinute, tokensPerDayMax, spaceSharePercent };
  return providerGuard({ store: store.get, clock: world.clock, provider, limits });
}

/** A share of one space alone would leave the rest to nobody. */
function hasSeveralSpaces({ recordAccess }: Settings): boolean {
  return new Set(recordAccess.identityPolicies.map(({ Space }) => Space)).size > 1;
}
