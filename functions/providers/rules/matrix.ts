import type { JsonObject } from '../../kernel/canonical-json.ts';
import { formatUtc } from '../../kernel/timestamp.ts';
import {
  CAPABILITY_IDS,
  type CapabilityId,
  RUN_FAILURE_CLASSES,
  RUN_OPERATION,
  UNSUPPORTED_FEATURES,
} from './capabilities.ts';
import { modePolicies, TOOL_POLICY } from './modes.ts';
import type { ProviderTarget } from './target.ts';

/** The word for a provider that the settings do not let the service call. */
const DISABLED = 'provider_disabled_by_configuration';
const NOT_ADVERTISED = 'capability_not_advertised';
const HINT = 'Set Providers:EnableLiveTargets to call providers over the network.';

export interface DisabledProvider {
  readonly providerId: string;
  readonly registrationStatus: string;
  readonly enableLiveTargets: boolean;
  readonly hint: string;
}

/** The targets that may not be called, in the order of their ids. */
export function disabledAmong(targets: readonly ProviderTarget[]): DisabledProvider[] {
  return inOrder(targets)
    .filter(({ isEnabled }) => !isEnabled)
    .map(({ id }) => ({
      providerId: id,
      registrationStatus: 'disabled',
      enableLiveTargets: false,
      hint: HINT,
    }));
}

/** Which provider has which capability. `now`: milliseconds since 1970. */
export function capabilityMatrix(targets: readonly ProviderTarget[], limits: JsonObject, now: number) {
  return {
    generatedAt: formatUtc(now),
    capabilityIds: [...CAPABILITY_IDS],
    items: inOrder(targets).map(itemOf),
    disabledProviders: disabledAmong(targets),
    failureClasses: [...RUN_FAILURE_CLASSES],
    operationalLimits: limits,
    notes: [
      'A capability that is supported may still lack a qualification: see the readiness of the provider.',
      'Every run is a job, and leaves a trace without its payload.',
    ],
  };
}

function itemOf(target: ProviderTarget) {
  const { id, displayName, kind, isLocal, auth, isEnabled, capabilities } = target;
  return {
    provider: id,
    displayName,
    family: isLocal ? 'local' : kind,
    registered: isEnabled,
    enabled: isEnabled,
    registrationStatus: registrationOf(target),
    registrationHint: registrationHintOf(target),
    local: isLocal,
    requiresNetwork: !isLocal,
    auth,
    capabilityIds: [...capabilities],
    capabilities: Object.fromEntries(CAPABILITY_IDS.map((each) => [each, supportOf(target, each)])),
    supportsModelListing: true,
    supportsQuota: !isLocal,
    supportsAsyncJobs: isEnabled,
    supportsArtifacts: isEnabled && capabilities.includes('ai.scaffold'),
    artifactPolicy: 'caller-owned',
    failureSemantics: ['run_failures_are_results', 'rejections_are_results'],
  };
}

function supportOf({ isLocal, isEnabled, capabilities }: ProviderTarget, id: CapabilityId) {
  const isAdvertised = (capabilities as readonly string[]).includes(id);
  const supported = isAdvertised && isEnabled;
  return {
    supported,
    operations: isAdvertised ? [RUN_OPERATION] : [],
    modes: isAdvertised ? modePolicies(isLocal).map((policy) => policy.id) : [],
    toolPolicy: isAdvertised ? TOOL_POLICY : 'none',
    unsupportedFeatures: [
      ...(isAdvertised ? UNSUPPORTED_FEATURES : [NOT_ADVERTISED]),
      ...(isEnabled ? [] : [DISABLED]),
    ],
  };
}

export function registrationOf({ isEnabled }: Pick<ProviderTarget, 'isEnabled'>): string {
  return isEnabled ? 'registered' : 'disabled';
}

export function registrationHintOf({ isEnabled }: Pick<ProviderTarget, 'isEnabled'>): string | null {
  return isEnabled ? null : HINT;
}

/** The targets in the order of their ids. */
export function inOrder(targets: readonly ProviderTarget[]): readonly ProviderTarget[] {
  return [...targets].sort((left, right) => (left.id < right.id ? -1 : 1));
}
