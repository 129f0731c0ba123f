import { identityParts } from './identity-parts.ts';
import { isPattern, isTenantId, operationFaults } from './policy-texts.ts';
import type { Rule, RuleFault } from './rule.ts';
import {
  type ExecutionIdentityPolicy,
  googleIssuers,
  googleKeySetUrl,
  type IdentityPolicy,
} from './settings/access.ts';
import type { ProductPolicySettings } from './settings/execution.ts';
import { type Settings, table } from './table.ts';

/** Rules of access settings. A policy that cannot be enforced, or that grants less than it seems to, stops the start. */

const builtInModes = ['google-oidc', 'development-header'];
const canonicalOperations = ['read', 'write', 'dispatch', 'export', 'restore', 'admin'];
const executionOperations = ['start_run', 'read_run', 'cancel_run', 'raise_event', 'worker', 'maintenance'];

const parts = identityParts;

/** Whether the service verifies tokens for this part. */
function usesTokens({ authenticationMode, authenticatorType, identityPolicies }: Settings[Part]): boolean {
  return identityPolicies.length > 0 && authenticationMode === 'google-oidc' && authenticatorType === null;
}

type Part = (typeof parts)[number];

/** A rule that is checked for each part alone. */
function ofEachPart(rule: (part: Part, settings: Settings) => readonly RuleFault[]): Rule {
  return (settings) => parts.flatMap((part) => rule(part, settings));
}

const policiesOutsideDevelopment: Rule = ({ service, canonicalStore, canonicalAccess }) => {
  if (!canonicalStore.enabled || service.environment === 'Development') return [];
  if (canonicalAccess.identityPolicies.length > 0) return [];
  const { key } = table.canonicalAccess.identityPolicies;
  const why = `is empty: in the environment ${service.environment} the canonical store does not start without a policy (svc init writes one)`;
  return [
    { key, message: `${why}; set ${table.canonicalStore.enabled.key} to false to run without the store` },
  ];
};

const knownMode = ofEachPart((part, settings) => {
  const { authenticationMode, authenticatorType } = settings[part];
  if (builtInModes.includes(authenticationMode) || authenticatorType !== null) return [];
  const message = `${authenticationMode} is none of ${builtInModes.join(', ')}, and there is no ${table[part].authenticatorType.key}`;
  return [{ key: table[part].authenticationMode.key, message }];
});

const audiences = ofEachPart((part, settings) => {
  if (!usesTokens(settings[part]) || settings[part].allowedAudiences.length > 0) return [];
  const message = 'is empty: the mode google-oidc needs the audience that tokens are made for';
  return [{ key: table[part].allowedAudiences.key, message }];
});

const developmentHeader = ofEachPart((part, settings) => {
  const development = settings.service.environment === 'Development';
  if (development || settings[part].authenticationMode !== 'development-header') return [];
  const message = 'development-header trusts the caller without proof, and is refused outside Development';
  return [{ key: table[part].authenticationMode.key, message }];
});

const issuerAndKeys: Rule = ({ oidc, service, ...settings }, _host, isGiven) => {
  const { issuers, keySetUrl, keySetFile } = table.oidc;
  const faults: RuleFault[] = [];
  const fromFile = oidc.keySetFile !== null;
  if (fromFile && isGiven(keySetUrl.key)) {
    const message = `cannot be set together with ${keySetUrl.key}: keys come from one place`;
    faults.push({ key: keySetFile.key, message });
  }
  // One of Google's two names alone is still Google. Writing out a default counts as setting it.
  const ownIssuers = oidc.issuers.some((issuer) => !googleIssuers.some((known) => known === issuer));
  const ownKeys = fromFile || oidc.keySetUrl !== googleKeySetUrl;
  const missing =
    ownIssuers && !fromFile && !isGiven(keySetUrl.key)
      ? [keySetUrl.key, issuers.key]
      : ownKeys && !isGiven(issuers.key)
        ? [issuers.key, fromFile ? keySetFile.key : keySetUrl.key]
        : null;
  if (missing !== null) {
    const [key = '', given] = missing;
    faults.push({ key, message: `must be set together with ${given}: keys belong to their issuer` });
  }
  if (oidc.issuers.length === 0 && parts.some((part) => usesTokens(settings[part])))
    faults.push({ key: issuers.key, message: 'is empty: no token could be accepted' });
  // On plain HTTP an attacker between service and issuer could replace the keys; loopback has no such place.
  if (
    !oidc.keySetUrl.startsWith('https://') &&
    (!onLoopback(oidc.keySetUrl) || service.cloudService !== null)
  ) {
    faults.push({ key: keySetUrl.key, message: 'must be https, except on loopback of one machine' });
  }
  return faults;
};

const platformVerification: Rule = ({ oidc, service, ...settings }) => {
  if (oidc.verification !== 'platform' || service.cloudService !== null) return [];
  if (!parts.some((part) => usesTokens(settings[part]))) return [];
  const message = 'platform needs a platform that checks tokens before they come here, and there is none';
  return [{ key: table.oidc.verification.key, message }];
};

const canonicalPolicies: Rule = ({ canonicalAccess }) =>
  canonicalAccess.identityPolicies.flatMap((policy, index) =>
    canonicalPolicyFaults(policy).map((message) => ({
      key: `${table.canonicalAccess.identityPolicies.key}:${index}`,
      message,
    })),
  );

function canonicalPolicyFaults(policy: Partial<IdentityPolicy>): string[] {
  const { Principal, AllowedTenantIds: tenants = [], AllowedOperations: allowed = [] } = policy;
  const faults: string[] = [];
  if (Principal === undefined) faults.push('has no Principal');
  if (tenants.length === 0) faults.push('has no AllowedTenantIds');
  if (tenants.includes('*') && tenants.length > 1) faults.push('combines the tenant * with named tenants');
  if (tenants.some((tenant) => tenant !== '*' && !isTenantId(tenant))) {
    faults.push('names a tenant that is not a single path segment');
  }
  if (tenants.some(isPattern)) faults.push('names a tenant with a * in it: there are no patterns');
  faults.push(...operationFaults(allowed, canonicalOperations));
  if (allowed.includes('admin') && !tenants.includes('*'))
    faults.push('allows admin, which needs the tenant *');
  return faults;
}

/** Tokens name the bare address, so a policy for `serviceAccount:…` would never match. */
const mailboxes = ofEachPart((part, { oidc, ...settings }) => {
  if (!usesTokens(settings[part]) || oidc.principalClaim !== 'email') return [];
  return settings[part].identityPolicies.flatMap(({ Principal = '@' }, index) => {
    if (/^([^@:\s]+@[^@:\s]+|@)$/.test(Principal)) return [];
    const message =
      'has a Principal that is no e-mail address, as tokens name it: name@domain, with nothing before it';
    return [{ key: `${table[part].identityPolicies.key}:${index}`, message }];
  });
});

const executionPolicies: Rule = ({ executionAccess, execution }) => {
  const products = new Map(
    execution.productPolicies.flatMap((policy) =>
      policy.ProductId === undefined ? [] : [[policy.ProductId, policy] as const],
    ),
  );
  const { key } = table.executionAccess.identityPolicies;
  return executionAccess.identityPolicies.flatMap((policy, index) =>
    executionPolicyFaults(policy, products).map((message) => ({ key: `${key}:${index}`, message })),
  );
};

function executionPolicyFaults(
  policy: Partial<ExecutionIdentityPolicy>,
  products: ReadonlyMap<string, Partial<ProductPolicySettings>>,
): string[] {
  const { Principal, ProductId, WorkerId, AllowedTenantIds: tenants = [] } = policy;
  const { AllowedHandlerIds: handlers = [], AllowedOperations: allowed = [] } = policy;
  const faults = operationFaults(allowed, executionOperations);
  if (Principal === undefined) faults.push('has no Principal');
  if (ProductId === undefined) faults.push('has no ProductId');
  if (allowed.includes('worker') && WorkerId === undefined) faults.push('allows worker without a WorkerId');
  // An empty list means all here; `*` would be the name of one tenant or handler.
  if ([...tenants, ...handlers].includes('*')) faults.push('names *: leave the list empty to allow all');
  if ([...tenants, ...handlers].some(isPattern)) {
    faults.push('names a tenant or handler with a * in it: there are no patterns');
  }
  if (ProductId === undefined) return faults;
  const product = products.get(ProductId);
  const { key } = table.execution.productPolicies;
  if (product === undefined) faults.push(`names a product that has no policy in ${key}`);
  const workers = product?.AllowedServiceIdentities ?? [];
  if (WorkerId !== undefined && workers.length > 0 && !workers.includes(WorkerId)) {
    faults.push('names a WorkerId that is none of the AllowedServiceIdentities of its product');
  }
  return faults;
}

const productPolicies: Rule = ({ execution }) => {
  const seen = new Set<string>();
  return execution.productPolicies.flatMap(({ ProductId }, index) => {
    const key = `${table.execution.productPolicies.key}:${index}`;
    if (ProductId === undefined) return [{ key, message: 'has no ProductId' }];
    const repeated = seen.has(ProductId);
    seen.add(ProductId);
    return repeated ? [{ key, message: 'names a product that has a policy already' }] : [];
  });
};

function onLoopback(address: string): boolean {
  return /^http:\/\/(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d{1,5})?(\/|$)/i.test(address);
}

export const accessRules: readonly Rule[] = [
  policiesOutsideDevelopment,
  knownMode,
  audiences,
  developmentHeader,
  issuerAndKeys,
  platformVerification,
  mailboxes,
  canonicalPolicies,
  productPolicies,
  executionPolicies,
];
