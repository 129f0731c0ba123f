import { RUN_OPERATION, UNSUPPORTED_FEATURES } from './capabilities.ts';
import { modePolicies, TOOL_POLICY } from './modes.ts';
import { IMPLEMENTATION_VERSION, type ProviderTarget } from './target.ts';

const PROFILE_VERSION = '1';
const CAPABILITY_VERSION = '1';

/** The profile of a provider. Names no address and no secret: callers of the service need neither. */
export function profileOf(target: ProviderTarget) {
  const { id, displayName, kind, isLocal, auth, configHash, capabilities } = target;
  return {
    id,
    displayName,
    family: isLocal ? 'local' : kind,
    profileVersion: PROFILE_VERSION,
    implementationVersion: IMPLEMENTATION_VERSION,
    local: isLocal,
    requiresNetwork: !isLocal,
    auth,
    configHash,
    capabilities: [...capabilities],
  };
}

/** The profile with the bounds of each capability. */
export function descriptorOf(target: ProviderTarget) {
  const policies = modePolicies(target.isLocal);
  const maxInputBytes = Math.max(...policies.map((policy) => policy.maxInputBytes));
  const maxOutputBytes = Math.max(...policies.map((policy) => policy.maxOutputBytes));
  return {
    profile: profileOf(target),
    capabilities: target.capabilities.map((id) => ({
      id,
      version: CAPABILITY_VERSION,
      operations: [RUN_OPERATION],
      inputLimits: { maxInputBytes },
      outputLimits: { maxOutputBytes },
      toolPolicy: TOOL_POLICY,
      modePolicies: [...policies],
      unsupportedFeatures: [...UNSUPPORTED_FEATURES],
    })),
  };
}
