import type { JsonObject } from '../../kernel/canonical-json.ts';
import { formatUtc } from '../../kernel/timestamp.ts';
import { type OfferedCapability, RUN_OPERATION, UNSUPPORTED_FEATURES } from './capabilities.ts';
import { disabledAmong, inOrder, registrationHintOf, registrationOf } from './matrix.ts';
import { modePolicies } from './modes.ts';
import { currentQualification, qualificationView, type StoredQualification } from './qualification.ts';
import type { ProviderTarget } from './target.ts';

/** Facts beside the target that its readiness depends on. */
export interface ReadinessFacts {
  readonly qualifications: readonly StoredQualification[];
  /** Whether a check of the target itself has failed, such as a key file that cannot be read. */
  readonly hasFailedCheck: boolean;
  /** Whether callers of the service need an API key. */
  readonly authRequired: boolean;
  readonly limits: JsonObject;
}

export interface TargetFacts {
  readonly target: ProviderTarget;
  readonly facts: ReadinessFacts;
}

/** The readiness of the capabilities of these providers. `now`: milliseconds since 1970. */
export function readinessOf(all: readonly TargetFacts[], now: number) {
  const byId = new Map(all.map((each) => [each.target.id, each]));
  const targets = inOrder(all.map(({ target }) => target));
  const items = targets.flatMap((target) => {
    const facts = byId.get(target.id)?.facts;
    return facts === undefined ? [] : target.capabilities.map((each) => readinessItem(target, each, facts));
  });
  return { generatedAt: formatUtc(now), items, disabledProviders: disabledAmong(targets) };
}

export function readinessItem(target: ProviderTarget, capability: OfferedCapability, facts: ReadinessFacts) {
  const stored = currentQualification(target, capability, facts.qualifications);
  const seen = qualificationView(target, capability, stored);
  const { callable, reason } = verdictOf(target, seen.status, facts.hasFailedCheck);
  return {
    provider: target.id,
    capability,
    registrationStatus: registrationOf(target),
    registrationHint: registrationHintOf(target),
    operations: [RUN_OPERATION],
    modes: modePolicies(target.isLocal).map(({ id }) => id),
    configHash: target.configHash,
    qualificationStatus: seen.status,
    lastValidatedAt: seen.lastValidatedAt,
    callable,
    ready: callable && seen.status === 'validated',
    canRunUnvalidated: callable && seen.status === 'unvalidated',
    reason,
    evidenceRefs: seen.evidenceRefs,
    driftTriggers: seen.driftTriggers,
    unsupportedFeatures: [...UNSUPPORTED_FEATURES],
    local: target.isLocal,
    requiresNetwork: !target.isLocal,
    auth: target.auth,
    authRequired: facts.authRequired,
    operationalLimits: facts.limits,
  };
}

const reasons = {
  validated: 'validated',
  unvalidated: 'unvalidated',
  failed: 'qualification_failed',
  unsupported: 'unsupported',
} as const;

/** A capability with a failed qualification stays callable: the next run may show that the provider works again. */
function verdictOf(target: ProviderTarget, status: keyof typeof reasons, hasFailedCheck: boolean) {
  if (!target.isEnabled) return { callable: false, reason: 'provider_disabled' };
  if (hasFailedCheck) return { callable: false, reason: 'provider_doctor_failed' };
  return { callable: status !== 'unsupported', reason: reasons[status] };
}
