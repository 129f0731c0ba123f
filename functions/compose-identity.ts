import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { needsApiKey } from './config/rules.ts';
import type { Settings } from './config/table.ts';
import type { Log } from './http/log.ts';
import { createApiKeyFile } from './identity/api-key-file.ts';
import { type ApiKeys, createApiKeys, hashApiKey } from './identity/api-keys.ts';
import { type Authenticator, anonymous, createAuthenticator } from './identity/authenticator.ts';
import { type Authorizer, type ClassPolicy, createAuthorizer } from './identity/authorizer.ts';
import { type CanonicalAccessOperation, createCanonicalPolicy } from './identity/canonical-access.ts';
import { authenticatorFrom, createCustomIdentity } from './identity/custom-identity.ts';
import { developmentCaller } from './identity/development.ts';
import { createDevelopmentIdentity } from './identity/development-header.ts';
import { createExecutionPolicy, type ExecutionAccessOperation } from './identity/execution-access.ts';
import { createKeySet, type KeySet } from './identity/oidc/key-set.ts';
import { createOidcIdentity } from './identity/oidc/oidc-identity.ts';
import type { WorkloadIdentity } from './identity/workload.ts';
import type { World } from './kernel/world.ts';

/** Who is calling, and may they: put together from the settings. */
export interface Identity {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
}

/** The authorization class whose callers each part of the settings is about. */
const classes = { 'canonical-policy': 'canonicalAccess', 'execution-policy': 'executionAccess' } as const;

type Part = (typeof classes)[keyof typeof classes];

/** A setting that turned out wrong when it was used, such as a module that cannot be loaded. */
export class CompositionFault extends Error {}

export async function composeIdentity(settings: Settings, world: World, log: Log): Promise<Identity> {
  // One for all parts: they read tokens of the same issuer.
  const keys = createKeySet({ url: settings.oidc.keySetUrl, ...world });
  const workloads: Record<string, WorkloadIdentity> = {};
  for (const [name, part] of Object.entries(classes)) {
    if (settings[part].identityPolicies.length > 0)
      workloads[name] = await workloadOf(settings, part, keys, world);
  }
  const apiKeys = apiKeysOf(settings, world, log);
  const authenticator = createAuthenticator({
    ...(apiKeys === undefined ? {} : { apiKeys }),
    apiKeyRequired: needsApiKey(settings),
    workloads,
    otherwise: anonymous,
  });
  return {
    authenticator:
      settings.service.environment === 'Development' ? opened(authenticator, workloads) : authenticator,
    authorizer: createAuthorizer({ policies: policiesOf(settings) }),
  };
}

/**
 * Development lets in whoever may call at all where no policy says otherwise: an API key then has nothing more to say than
 * that it is known. Outside Development the configuration does not allow a part without policies.
 */
function opened(inner: Authenticator, workloads: Readonly<Record<string, WorkloadIdentity>>): Authenticator {
  return {
    async authenticate(headers, operation) {
      const caller = await inner.authenticate(headers, operation);
      const open =
        operation.authorizationClass !== 'anonymous' &&
        !Object.hasOwn(workloads, operation.authorizationClass);
      return open ? developmentCaller : caller;
    },
  };
}

function apiKeysOf({ security }: Settings, world: World, log: Log): ApiKeys | undefined {
  const { apiKeys, apiKey, apiKeyHashes, apiKeyFile, apiKeyHeader } = security;
  const clear = apiKey === null ? apiKeys : [...apiKeys, apiKey];
  const hashes = [...new Set([...apiKeyHashes, ...clear.map((key) => hashApiKey(key.reveal()))])];
  if (hashes.length === 0 && apiKeyFile === null) return undefined;
  const file =
    apiKeyFile === null
      ? {}
      : {
          file: createApiKeyFile({
            read: () => readFile(resolve(apiKeyFile), 'utf8'),
            clock: world.clock,
            timers: world.timers,
            tell: (message) => log({ severity: 'ERROR', message }),
          }),
        };
  return createApiKeys({ hashes, headerName: apiKeyHeader, ...file });
}

async function workloadOf(
  settings: Settings,
  part: Part,
  keys: KeySet,
  { clock, timers }: World,
): Promise<WorkloadIdentity> {
  const { authenticatorType, authenticationMode, developmentIdentityHeader, allowedAudiences } =
    settings[part];
  if (authenticatorType !== null) {
    const authenticator = await loadAuthenticator(authenticatorType);
    return createCustomIdentity({ authenticator, timers });
  }
  if (authenticationMode === 'development-header')
    return createDevelopmentIdentity({ headerName: developmentIdentityHeader });
  const { issuers, authorizedParties, principalClaim, verification } = settings.oidc;
  return createOidcIdentity({
    audiences: allowedAudiences,
    issuers,
    authorizedParties,
    principalClaim,
    verification,
    keys,
    clock,
  });
}

/** `./authenticator.mjs` beside the process, or the name of a package; `#Name` for an export that is not the default. */
async function loadAuthenticator(type: string) {
  const [place = '', name = 'default'] = type.split('#', 2);
  const path = /^\.{0,2}\//.test(place) ? pathToFileURL(resolve(place)).href : place;
  try {
    const module = (await import(path)) as Readonly<Record<string, unknown>>;
    return authenticatorFrom(module[name]);
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown';
    throw new CompositionFault(`The authenticator ${type} cannot be used: ${reason}`, { cause: error });
  }
}

function policiesOf(settings: Settings): Readonly<Record<string, ClassPolicy>> {
  const { canonicalAccess, executionAccess } = settings;
  // The rules of the configuration have refused every policy in which one of these is missing or unknown.
  const canonical = canonicalAccess.identityPolicies.map((policy) => ({
    principal: policy.Principal ?? '',
    tenantIds: policy.AllowedTenantIds ?? [],
    operations: (policy.AllowedOperations ?? []) as readonly CanonicalAccessOperation[],
  }));
  const execution = executionAccess.identityPolicies.map((policy) => ({
    principal: policy.Principal ?? '',
    productId: policy.ProductId ?? '',
    workerId: policy.WorkerId ?? null,
    tenantIds: policy.AllowedTenantIds ?? [],
    handlerIds: policy.AllowedHandlerIds ?? [],
    operations: (policy.AllowedOperations ?? []) as readonly ExecutionAccessOperation[],
  }));
  return {
    'canonical-policy': createCanonicalPolicy({
      grants: canonical,
      caseInsensitive: namesMailboxes(settings, 'canonicalAccess'),
    }),
    'execution-policy': createExecutionPolicy(execution, {
      caseInsensitive: namesMailboxes(settings, 'executionAccess'),
    }),
  };
}

/** E-mail addresses are one name in any case; a subject or whatever a custom authenticator says is taken as it is. */
function namesMailboxes(settings: Settings, part: Part): boolean {
  const { authenticatorType, authenticationMode } = settings[part];
  if (authenticatorType !== null) return false;
  return authenticationMode === 'development-header' || settings.oidc.principalClaim === 'email';
}
