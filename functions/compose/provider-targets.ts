import { capabilitiesOf, type ProviderSetting } from '../config/settings/providers.ts';
import type { Settings } from '../config/table.ts';
import { CAPABILITY_IDS, type OfferedCapability } from '../providers/rules/capabilities.ts';
import { localTargets, type ProviderTarget } from '../providers/rules/target.ts';
import { configHashOf } from './provider-config-hash.ts';

/** The providers of capabilities: those of the service, and those over the network that the settings name. Pure: opens nothing. */
export function providerTargetsOf({ providers }: Settings): readonly ProviderTarget[] {
  return [...localTargets, ...liveEntriesOf(providers).map((entry) => targetOf(entry, providers))];
}

/** The entries of network providers; the other entries name models of the service under another id. */
export function liveEntriesOf({ list }: Settings['providers']): readonly Partial<ProviderSetting>[] {
  return list.filter(({ Kind }) => Kind !== undefined && Kind !== 'deterministic');
}

/** The rules of the configuration have refused entries that lack a member. */
function targetOf(
  entry: Partial<ProviderSetting>,
  { enableLiveTargets }: Settings['providers'],
): ProviderTarget {
  const { Id: id = '', Model: modelId = '', DisplayName: displayName = id } = entry;
  const offered: readonly string[] = capabilitiesOf(entry);
  const hasKey = entry.ApiKey !== undefined || entry.ApiKeyFile !== undefined;
  const isVertex = entry.Kind === 'vertex';
  return {
    id,
    displayName,
    kind: isVertex ? 'vertex' : 'openai-compatible',
    isLocal: false,
    auth: isVertex ? 'google-credentials' : hasKey ? 'api-key' : 'none',
    capabilities: CAPABILITY_IDS.filter((each): each is OfferedCapability => offered.includes(each)),
    modelId,
    configHash: configHashOf(entry),
    isEnabled: enableLiveTargets,
  };
}
