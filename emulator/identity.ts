import type { OidcIssuer } from './oidc-issuer.ts';

/** Who is known to the local cloud when it asks for tokens: one identity for each kind of work. */
const people: Readonly<Record<string, readonly string[]>> = {
  'reader@local.example': ['read'],
  'writer@local.example': ['read', 'write'],
  'dispatcher@local.example': ['dispatch'],
  'operator@local.example': ['read', 'export', 'restore', 'admin'],
};

/** What the tokens of the local cloud are made for. */
export const localAudience = 'svc-local';

/**
 * The settings under which the functions ask for tokens of `issuer`, as they would in the cloud. Policies that the
 * environment brings stay as they are: a list of grants comes from one place.
 */
export function localIdentity(
  issuer: OidcIssuer,
  given: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const access = 'Server__CanonicalAccess__';
  const settings: Record<string, string> = {
    SVC_ENVIRONMENT: 'LocalCloud',
    Server__Oidc__Issuers__0: issuer.issuer,
    Server__Oidc__KeySetUrl: issuer.keySetUrl,
  };
  const own = Object.keys(given).some((name) => name.toLowerCase().startsWith(access.toLowerCase()));
  if (own) return settings;
  settings[`${access}AllowedAudiences__0`] = localAudience;
  for (const [index, [principal, operations]] of Object.entries(people).entries()) {
    const policy = `${access}IdentityPolicies__${index}__`;
    settings[`${policy}Principal`] = principal;
    settings[`${policy}AllowedTenantIds__0`] = '*';
    for (const [at, operation] of operations.entries())
      settings[`${policy}AllowedOperations__${at}`] = operation;
  }
  return settings;
}

/** How a person gets a token, for a shell. */
export function tokenHint({ issuer }: OidcIssuer): string {
  const names = Object.keys(people).join(', ');
  const body = `{"email":"writer@local.example","audience":"${localAudience}"}`;
  return [
    `Tokens for ${names}:`,
    `  curl -s ${issuer}/token -H 'content-type: application/json' -d '${body}'`,
  ].join('\n');
}
