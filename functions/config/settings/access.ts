import { choice, integer, list, members, text } from '../kinds.ts';
import { setting } from '../setting.ts';
import { anyText, headerName, identifier, tokenIssuer, url } from './texts.ts';

/** One grant: the operations that a principal may use for some tenants. */
export interface IdentityPolicy {
  readonly Principal: string;
  readonly AllowedTenantIds: readonly string[];
  readonly AllowedOperations: readonly string[];
}

/** One grant of the execution runtime. An empty list of tenants or handlers grants all of the product. */
export interface ExecutionIdentityPolicy {
  readonly Principal: string;
  readonly ProductId: string;
  readonly WorkerId: string;
  readonly AllowedTenantIds: readonly string[];
  readonly AllowedHandlerIds: readonly string[];
  readonly AllowedOperations: readonly string[];
}

/** One grant in a space: the operations of a principal in it. */
export interface SpaceIdentityPolicy {
  readonly Principal: string;
  readonly Space: string;
  readonly ProductId: string;
  readonly AllowedOperations: readonly string[];
}

/** The issuer of Google's identity tokens, in both spellings, and its keys. */
export const googleIssuers = ['https://accounts.google.com', 'accounts.google.com'] as const;
export const googleKeySetUrl = 'https://www.googleapis.com/oauth2/v3/certs';

/** How callers of one part of the service prove their identity. */
// biome-ignore format: a table reads better with one setting a line or two
export function accessSettings(section: string) {
  return {
    authenticationMode: setting<string>(`${section}:AuthenticationMode`, text('a word such as google-oidc', /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/), 'google-oidc',
      'How callers prove who they are: google-oidc (a token of the issuer in Server:Oidc), development-header, or the mode of a custom authenticator.'),
    developmentIdentityHeader: setting<string>(`${section}:DevelopmentIdentityHeader`, headerName, 'X-Svc-Development-Identity',
      'Header that names the principal in the mode development-header.'),
    allowedAudiences: setting<readonly string[]>(`${section}:AllowedAudiences`, list(anyText), [],
      'Accepted audiences of tokens, such as the address of the service. Required with google-oidc.'),
    authenticatorType: setting<string | null>(`${section}:AuthenticatorType`, anyText, null,
      'Module of a custom authenticator, such as ./authenticator.mjs. It replaces the built-in one.'),
  } as const;
}

/** Which tokens are accepted. */
// biome-ignore format: a table reads better with one setting a line or two
export const oidc = {
  issuers: setting<readonly string[]>('Server:Oidc:Issuers', list(tokenIssuer), [...googleIssuers],
    'Accepted issuers of tokens. All of them sign with the keys at KeySetUrl.'),
  keySetUrl: setting('Server:Oidc:KeySetUrl', url, googleKeySetUrl,
    'Where the issuer publishes its keys, as a JSON Web Key Set or a map of PEM texts.'),
  keySetFile: setting<string | null>('Server:Oidc:KeySetFile', anyText, null,
    'File with the public keys of the issuer, instead of an address. The service reads it again every minute. svc init makes one.'),
  verification: setting<'application' | 'platform'>('Server:Oidc:Verification', choice({ application: [], platform: [] }), 'application',
    'The part that verifies the signature of a token: the application, or the platform in front, which must then refuse every request without a valid token.'),
  authorizedParties: setting<readonly string[]>('Server:Oidc:AuthorizedParties', list(anyText), [],
    'Clients whose tokens are accepted (claim azp). Default: any.'),
  principalClaim: setting<'email' | 'sub'>('Server:Oidc:PrincipalClaim', choice({ email: [], sub: [] }), 'email',
    'Claim that names the principal of a token: the verified e-mail address, or the subject.'),
} as const;

/** Who may use the canonical store. */
// biome-ignore format: a table reads better with one setting a line or two
export const canonicalAccess = {
  ...accessSettings('Server:CanonicalAccess'),
  identityPolicies: setting<readonly Partial<IdentityPolicy>[]>('Server:CanonicalAccess:IdentityPolicies',
    list(members<IdentityPolicy>({ Principal: anyText, AllowedTenantIds: list(identifier), AllowedOperations: list(anyText) })), [],
    'Grants of principals for tenants: read, write, dispatch, export, restore, admin. Required outside Development while the canonical store is enabled.'),
  restoreTokenMaxAgeSeconds: setting<number | null>('Server:CanonicalAccess:RestoreTokenMaxAgeSeconds', integer(60, 86_400), null,
    'How old the token of a restore may be, in seconds. Default: any valid token will do.'),
} as const;

/** Who may use the execution runtime. */
// biome-ignore format: a table reads better with one setting a line or two
export const executionAccess = {
  ...accessSettings('Server:ExecutionAccess'),
  identityPolicies: setting<readonly Partial<ExecutionIdentityPolicy>[]>('Server:ExecutionAccess:IdentityPolicies',
    list(members<ExecutionIdentityPolicy>({ Principal: anyText, ProductId: identifier, WorkerId: identifier, AllowedTenantIds: list(identifier), AllowedHandlerIds: list(identifier), AllowedOperations: list(anyText) })), [],
    'Grants of principals for the runs of products: start_run, read_run, cancel_run, raise_event, worker, maintenance. Outside Development the service serves the execution runtime only where this list has an entry.'),
} as const;

/** Who may use collections and records. */
// biome-ignore format: a table reads better with one setting a line or two
export const recordAccess = {
  ...accessSettings('Server:RecordAccess'),
  identityPolicies: setting<readonly Partial<SpaceIdentityPolicy>[]>('Server:RecordAccess:IdentityPolicies',
    list(members<SpaceIdentityPolicy>({ Principal: anyText, Space: identifier, ProductId: identifier, AllowedOperations: list(anyText) })), [],
    'Grants of principals for collections and records: read, write, delete, maintain. Each principal has one Space; ProductId owns its jobs where the query names no product. Outside Development, and where other identity policies exist, the service serves records only where this list has an entry.'),
} as const;

/** Who may run the capabilities of providers. */
// biome-ignore format: a table reads better with one setting a line or two
export const providerAccess = {
  ...accessSettings('Server:ProviderAccess'),
  identityPolicies: setting<readonly Partial<SpaceIdentityPolicy>[]>('Server:ProviderAccess:IdentityPolicies',
    list(members<SpaceIdentityPolicy>({ Principal: anyText, Space: identifier, ProductId: identifier, AllowedOperations: list(anyText) })), [],
    'Grants of principals for providers: read, run, qualify. Each principal has one Space, the same as in Server:RecordAccess: its jobs, its share of the limits and its traces are there. Outside Development, and where other identity policies exist, the service serves providers only where this list has an entry.'),
} as const;
