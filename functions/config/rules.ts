import type { Fault } from './fault.ts';
import type { Host } from './setting.ts';
import { type IdentityPolicy, type Settings, table } from './table.ts';

/** What no single setting can say: the rules between settings. Each answers why the service must not start. */
type Rule = (settings: Settings, host: Host) => readonly Pick<Fault, 'key' | 'message'>[];

export type SourceOf = (key: string) => string;

const operations = new Set(['read', 'write', 'dispatch', 'export', 'restore', 'admin']);

/**
 * The ways to prove an identity that this release can check. Policies without a way to prove who asks would be a lock
 * without a keyhole, so the service refuses to start rather than ignore them.
 */
const availableModes: ReadonlySet<string> = new Set();

export function crossFaults(settings: Settings, host: Host, sourceOf: SourceOf): Fault[] {
  return rules
    .flatMap((rule) => rule(settings, host))
    .map((fault) => ({ ...fault, source: sourceOf(fault.key) }));
}

const requiredKey: Rule = ({ security }) => {
  const keys = security.apiKeys.length + (security.apiKey === null ? 0 : 1);
  if (security.requireApiKey !== true || keys > 0) return [];
  return [
    {
      key: table.security.requireApiKey.key,
      message: `is true, but there is no ${table.security.apiKey.key}`,
    },
  ];
};

const ambiguousHeader: Rule = ({ security, canonicalAccess }) => {
  const { key } = table.security.apiKeyHeader;
  const name = security.apiKeyHeader.toLowerCase();
  const taken = [
    'authorization',
    'x-serverless-authorization',
    canonicalAccess.developmentIdentityHeader.toLowerCase(),
  ];
  return taken.includes(name) ? [{ key, message: 'names a header that carries something else' }] : [];
};

const policiesOutsideDevelopment: Rule = ({ service, canonicalStore, canonicalAccess }) => {
  if (!canonicalStore.enabled || service.environment === 'Development') return [];
  if (canonicalAccess.identityPolicies.length > 0) return [];
  const { key } = table.canonicalAccess.identityPolicies;
  const why = `is empty: in the environment ${service.environment} the canonical store does not start without a policy`;
  return [
    { key, message: `${why}; set ${table.canonicalStore.enabled.key} to false to run without the store` },
  ];
};

const availableMode: Rule = ({ canonicalStore, canonicalAccess }) => {
  if (!canonicalStore.enabled || canonicalAccess.identityPolicies.length === 0) return [];
  const mode = canonicalAccess.authenticationMode;
  if (availableModes.has(mode)) return [];
  const { key } = table.canonicalAccess.authenticationMode;
  return [
    { key, message: `${mode} is not available in this release, so no identity policy can be enforced` },
  ];
};

const audiences: Rule = ({ canonicalAccess }) => {
  if (canonicalAccess.authenticationMode !== 'google-oidc' || canonicalAccess.identityPolicies.length === 0)
    return [];
  if (canonicalAccess.allowedAudiences.length > 0) return [];
  const { key } = table.canonicalAccess.allowedAudiences;
  return [{ key, message: 'is empty: the mode google-oidc needs the audience that tokens are made for' }];
};

const developmentHeader: Rule = ({ service, canonicalAccess }) => {
  if (canonicalAccess.authenticationMode !== 'development-header' || service.environment === 'Development')
    return [];
  const { key } = table.canonicalAccess.authenticationMode;
  return [
    { key, message: 'development-header believes whatever it is told, and is refused outside Development' },
  ];
};

const policyShape: Rule = ({ canonicalAccess }) =>
  canonicalAccess.identityPolicies.flatMap((policy, index) => {
    const key = `${table.canonicalAccess.identityPolicies.key}:${index}`;
    return policyFaults(policy).map((message) => ({ key, message }));
  });

function policyFaults(policy: Partial<IdentityPolicy>): string[] {
  const { Principal, AllowedTenantIds: tenants = [], AllowedOperations: allowed = [] } = policy;
  const faults: string[] = [];
  if (Principal === undefined) faults.push('has no Principal');
  if (tenants.length === 0) faults.push('has no AllowedTenantIds');
  if (allowed.length === 0) faults.push('has no AllowedOperations');
  if (tenants.includes('*') && tenants.length > 1) faults.push('combines the tenant * with named tenants');
  if (tenants.some((tenant) => /[/\\%?#]/.test(tenant) || tenant === '.' || tenant === '..')) {
    faults.push('names a tenant that is not a single path segment');
  }
  for (const operation of allowed) {
    if (!operations.has(operation))
      faults.push(`allows ${operation}, which is none of ${[...operations].join(', ')}`);
  }
  if (allowed.includes('admin') && !tenants.includes('*'))
    faults.push('allows admin, which needs the tenant *');
  return faults;
}

/** Whether whoever reaches the service may do everything. */
export function isOpen({ service, security, canonicalAccess }: Settings): boolean {
  const keys = security.apiKeys.length + (security.apiKey === null ? 0 : 1);
  const keyRequired = security.requireApiKey ?? keys > 0;
  return (
    service.environment === 'Development' && !keyRequired && canonicalAccess.identityPolicies.length === 0
  );
}

const openOnLoopbackOnly: Rule = (settings, host) => {
  if (!isOpen(settings) || settings.server.allowRemoteDevelopment) return [];
  const remedy = `set an API key, or ${table.server.allowRemoteDevelopment.key} to true to let everybody in`;
  if (host === 'functions') {
    if (settings.service.cloudService === null) return [];
    return [
      {
        key: table.service.environment.key,
        message: `Development would open the service to everybody; ${remedy}`,
      },
    ];
  }
  if (isLoopback(settings.server.host)) return [];
  return [
    {
      key: table.server.host.key,
      message: `is reachable from other machines, and Development is open; ${remedy}`,
    },
  ];
};

function isLoopback(host: string): boolean {
  return (
    host.toLowerCase() === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
  );
}

const rules: readonly Rule[] = [
  requiredKey,
  ambiguousHeader,
  policiesOutsideDevelopment,
  availableMode,
  audiences,
  developmentHeader,
  policyShape,
  openOnLoopbackOnly,
];
