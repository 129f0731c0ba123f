import type { OidcIssuer } from './oidc-issuer.ts';

/** The callers inside the local cloud, with or without authentication of external callers. */
export const localCallers = {
  tasks: 'tasks-invoker@local.example',
  scheduler: 'scheduler@local.example',
} as const;

/** The identities of the local cloud, one for each kind of work. */
const apiGrants: Readonly<Record<string, readonly string[]>> = {
  'reader@local.example': ['read'],
  'writer@local.example': ['read', 'write'],
  'dispatcher@local.example': ['dispatch'],
  'operator@local.example': ['read', 'export', 'restore', 'admin'],
};

/** The identities for the runs of the local product. */
const runGrants: Readonly<Record<string, readonly string[]>> = {
  'reader@local.example': ['read_run'],
  'writer@local.example': ['start_run', 'read_run', 'cancel_run', 'raise_event'],
  'worker@local.example': ['worker'],
  'operator@local.example': ['read_run', 'maintenance'],
  [localCallers.scheduler]: ['maintenance'],
};

/** The identities for collections and records, all of one space. */
const recordGrants: Readonly<Record<string, readonly string[]>> = {
  'reader@local.example': ['read'],
  'writer@local.example': ['read', 'write', 'delete'],
  'operator@local.example': ['read', 'maintain'],
};

/** The identities for providers, in the space of those for records. */
const providerGrants: typeof recordGrants = {
  'reader@local.example': ['read'],
  'writer@local.example': ['read', 'run'],
  'operator@local.example': ['read', 'qualify'],
};
const localSpace = 'local';
const localProduct = 'local';
const localWorker = 'local-worker';

/** The audience of local tokens. */
export const localAudience = 'svc-local';

type Given = Readonly<Record<string, string | undefined>>;

/** The settings that make the functions trust `issuer`, unless the environment names another issuer. */
export function localIssuer(
  { issuer, keySetUrl }: Pick<OidcIssuer, 'issuer' | 'keySetUrl'>,
  given: Given,
): Record<string, string> {
  return isConfigured(given, 'Server__Oidc__')
    ? {}
    : { Server__Oidc__Issuers__0: issuer, Server__Oidc__KeySetUrl: keySetUrl };
}

/**
 * The settings that make the functions require tokens, as in the cloud. Policies from the environment stay unchanged:
 * a list of grants comes from one source.
 */
export function localIdentity(given: Given): Record<string, string> {
  return {
    SVC_ENVIRONMENT: 'LocalCloud',
    ...(isConfigured(given, canonicalAccess) ? {} : canonicalSettings()),
    ...(isConfigured(given, executionAccess) || isConfigured(given, productPolicies)
      ? {}
      : executionSettings()),
    ...(isConfigured(given, recordAccess) ? {} : spaceSettings(recordAccess, recordGrants, given)),
    ...(isConfigured(given, providerAccess) ? {} : spaceSettings(providerAccess, providerGrants, given)),
  };
}

const canonicalAccess = 'Server__CanonicalAccess__';
const executionAccess = 'Server__ExecutionAccess__';
const recordAccess = 'Server__RecordAccess__';
const providerAccess = 'Server__ProviderAccess__';
const productPolicies = 'ExecutionRuntime__ProductPolicies__';

function isConfigured(given: Given, prefix: string): boolean {
  return Object.keys(given).some((name) => name.toLowerCase().startsWith(prefix.toLowerCase()));
}

function canonicalSettings(): Record<string, string> {
  return grantSettings(canonicalAccess, apiGrants, { AllowedTenantIds__0: '*' });
}

function executionSettings(): Record<string, string> {
  return {
    ...grantSettings(executionAccess, runGrants, { ProductId: localProduct, WorkerId: localWorker }),
    [`${productPolicies}0__ProductId`]: localProduct,
  };
}

function spaceSettings(access: string, grants: typeof recordGrants, given: Given): Record<string, string> {
  // A product of the user may be another than the local one.
  const product = isConfigured(given, productPolicies) ? {} : { ProductId: localProduct };
  return grantSettings(access, grants, { Space: localSpace, ...product });
}

function grantSettings(
  access: string,
  grants: Readonly<Record<string, readonly string[]>>,
  members: Readonly<Record<string, string>>,
): Record<string, string> {
  const settings: Record<string, string> = { [`${access}AllowedAudiences__0`]: localAudience };
  for (const [index, [principal, operations]] of Object.entries(grants).entries()) {
    const policy = `${access}IdentityPolicies__${index}__`;
    settings[`${policy}Principal`] = principal;
    for (const [name, value] of Object.entries(members)) settings[`${policy}${name}`] = value;
    for (const [at, operation] of operations.entries())
      settings[`${policy}AllowedOperations__${at}`] = operation;
  }
  return settings;
}

/** All identities as text for the terminal. */
export function localNames(): string {
  return [...new Set([...Object.keys(apiGrants), ...Object.keys(runGrants)])].join(', ');
}

/** The shell command that fetches a token. */
export function tokenCommand({ issuer }: Pick<OidcIssuer, 'issuer'>): string {
  const body = `{"email":"writer@local.example","audience":"${localAudience}"}`;
  return `curl -s ${issuer}/token -H 'content-type: application/json' -d '${body}'`;
}
