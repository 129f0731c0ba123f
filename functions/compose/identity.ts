import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { authorizationClasses } from '../../contracts/generated/groups.ts';
import { type AccessPart, accessParts, needsApiKey, providersOff } from '../config/rules.ts';
import { type Settings, table } from '../config/table.ts';
import { createApiKeyFile } from '../identity/api-key-file.ts';
import { type ApiKeyFile, type ApiKeys, createApiKeys, hashApiKey } from '../identity/api-keys.ts';
import { type Authenticator, anonymous, createAuthenticator } from '../identity/authenticator.ts';
import {
  type Authorizer,
  type ClassPolicy,
  createAuthorizer,
  DELIVERY_CLASS,
} from '../identity/authorizer.ts';
import { type CanonicalAccessOperation, createCanonicalPolicy } from '../identity/canonical-access.ts';
import { authenticatorFrom, createCustomIdentity } from '../identity/custom-identity.ts';
import { developmentCaller } from '../identity/development.ts';
import { createDevelopmentIdentity } from '../identity/development-header.ts';
import {
  createExecutionAccess,
  createExecutionPolicy,
  type ExecutionAccess,
  type ExecutionAccessOperation,
  type ExecutionGrant,
} from '../identity/execution-access.ts';
import { permissionDenied } from '../identity/grants.ts';
import { withSpaceRights } from '../identity/job-run-access.ts';
import type { KeySet } from '../identity/oidc/key-set.ts';
import { createOidcIdentity } from '../identity/oidc/oidc-identity.ts';
import { createProviderPolicy, type ProviderAccess } from '../identity/provider-access.ts';
import { createRecordPolicy, type RecordAccess } from '../identity/record-access.ts';
import type { WorkloadIdentity } from '../identity/workload.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { World } from '../kernel/world.ts';
import { keySetOf } from './key-set.ts';
import { CompositionFault, loadExport } from './module.ts';
import { spaceAccessOf, withRecordIdentity, withRecordRights } from './record-identity.ts';

/** Authentication and authorization of callers, composed from the settings. */
export interface Identity {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** Answer on loopback names only, because only the network protects the service. Absent: the settings decide. */
  readonly loopbackOnly?: boolean;
}

type Part = AccessPart | 'hostedWorker';

/** The policies that authorization classes of the catalog name. A missing policy does not compile. */
type PolicyName = NonNullable<(typeof authorizationClasses)[keyof typeof authorizationClasses]['policy']>;

export async function composeIdentity(settings: Settings, world: World, log: Log): Promise<Identity> {
  // All parts share the key set: they read tokens of the same issuer.
  const keys = await keySetOf(settings, world);
  const workloads: Record<string, WorkloadIdentity> = {};
  const made = new Map<string, WorkloadIdentity>();
  for (const [name, part] of Object.entries(accessParts)) {
    if (settings[part].identityPolicies.length === 0) continue;
    const workload = made.get(part) ?? (await workloadOf(settings, part, keys, world));
    made.set(part, workload);
    workloads[name] = workload;
  }
  const apiKeys = await apiKeysOf(settings, world, log);
  const authenticator = createAuthenticator({
    ...(apiKeys === undefined ? {} : { apiKeys }),
    apiKeyRequired: needsApiKey(settings),
    workloads,
    otherwise: anonymous,
  });
  const isDevelopment = settings.service.environment === 'Development';
  return {
    authenticator: withRecordIdentity(
      isDevelopment ? opened(authenticator, workloads) : authenticator,
      workloads,
    ),
    authorizer: authorizerOf(settings),
  };
}

/** Decides about operations of the catalog, and again about the jobs that they admitted. */
function authorizerOf(settings: Settings): Authorizer {
  return withRecordRights(createAuthorizer({ policies: policiesOf(settings) }), settings);
}

/**
 * Authorizes queue deliveries: only the service account of the queue may deliver, with a token for the worker's address.
 * API keys do not count, and header fields that only name the origin of a call prove nothing.
 */
export async function composeDeliveryIdentity(settings: Settings, world: World): Promise<Identity> {
  const { cloudTasks, hostedWorker, service } = settings;
  const given = hostedWorker.allowedPrincipals;
  const account = cloudTasks.serviceAccountEmail;
  const principals = given.length > 0 || account === null ? given : [account];
  const keys = await keySetOf(settings, world);
  const workloads =
    principals.length === 0
      ? {}
      : { [DELIVERY_CLASS]: await workloadOf(settings, 'hostedWorker', keys, world) };
  const known = createAuthenticator({ apiKeyRequired: false, workloads, otherwise: anonymous });
  const mailboxes = namesMailboxes(settings, 'hostedWorker');
  const nameOf = (principal: string) => (mailboxes ? principal.toLowerCase() : principal);
  const allowed = new Set(principals.map(nameOf));
  const policy: ClassPolicy = ({ principal }) => {
    // Answer as for a missing token: an unknown caller learns nothing, and the queue retries in both cases.
    if (!allowed.has(nameOf(principal)))
      throw new ServiceError('unauthenticated', 'The caller may not deliver messages to this worker.');
  };
  return {
    authenticator: service.environment === 'Development' ? opened(known, workloads) : known,
    // API keys do not apply here, so only the delivery policy decides.
    loopbackOnly:
      service.environment === 'Development' &&
      !settings.server.allowRemoteDevelopment &&
      (principals.length === 0 || hostedWorker.authenticationMode === 'development-header'),
    authorizer: createAuthorizer({ policies: { [DELIVERY_CLASS]: policy } }),
  };
}

/**
 * In Development an authorization class without policies is open to every authenticated caller; an API key then only
 * authenticates. Outside Development the configuration requires policies for every part.
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

async function apiKeysOf(settings: Settings, world: World, log: Log): Promise<ApiKeys | undefined> {
  const { apiKeys, apiKey, apiKeyHashes, apiKeyFile, apiKeyHeader } = settings.security;
  const clear = apiKey === null ? apiKeys : [...apiKeys, apiKey];
  if (clear.length > 0 && settings.service.environment !== 'Development') {
    const better = `give its hash in ${table.security.apiKeyHashes.key} or ${table.security.apiKeyFile.key}`;
    log({ severity: 'WARNING', message: `The settings contain an API key in clear text: ${better}.` });
  }
  const hashes = [...new Set([...apiKeyHashes, ...clear.map((key) => hashApiKey(key.reveal()))])];
  if (hashes.length === 0 && apiKeyFile === null) return undefined;
  const file = apiKeyFile === null ? {} : { file: await openApiKeyFile(apiKeyFile, world, log) };
  return createApiKeys({ hashes, headerName: apiKeyHeader, ...file });
}

/** A file that is missing at start is an operator's error and stops the service; a later loss is only logged. */
async function openApiKeyFile(path: string, { clock, timers }: World, log: Log): Promise<ApiKeyFile> {
  const read = () => readFile(resolve(path), 'utf8');
  try {
    await read();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const reason = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code ?? 'unknown reason'})`;
    // Do not show the path: an operator may have entered a key instead.
    throw new CompositionFault(`The file that ${table.security.apiKeyFile.key} names ${reason}.`, {
      cause: error,
    });
  }
  return createApiKeyFile({
    read,
    clock,
    timers,
    reportFault: (message) => log({ severity: 'ERROR', message }),
  });
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
    const authenticator = await loadExport(authenticatorType, 'The authenticator', timers, authenticatorFrom);
    return createCustomIdentity({ authenticator, timers });
  }
  if (authenticationMode === 'development-header')
    return createDevelopmentIdentity({ headerName: developmentIdentityHeader });
  const { issuers, authorizedParties, principalClaim, verification } = settings.oidc;
  const { oidcAudience, workerUrl } = settings.cloudTasks;
  // The audience of the queue's delivery tokens.
  const ownAudience = part === 'hostedWorker' ? [oidcAudience ?? workerUrl ?? ''] : [];
  return createOidcIdentity({
    audiences: allowedAudiences.length > 0 ? allowedAudiences : ownAudience,
    issuers,
    authorizedParties,
    principalClaim,
    verification,
    keys,
    clock,
  });
}

/** Decides access to single runs; `null` if no policy is configured, so that every caller may access every run. */
export function executionAccessOf(settings: Settings): ExecutionAccess | null {
  const grants = executionGrants(settings);
  const caseInsensitive = namesMailboxes(settings, 'executionAccess');
  return grants.length === 0 ? null : createExecutionAccess(grants, { caseInsensitive });
}

/** The family of the jobs whose requests and results are records. */
const RECORD_JOBS = 'record-import';
/** The family of the jobs whose requests and results are texts of providers. */
const PROVIDER_JOBS = 'provider-run';

/** As `executionAccessOf`, for the operations on runs: a run that carries records or texts needs the right of their space too. */
export function runAccessOf(settings: Settings): ExecutionAccess | null {
  const runs = executionAccessOf(settings);
  if (runs === null) return null;
  const { recordAccess, providerAccess } = settings;
  const withRecords =
    recordAccess.identityPolicies.length === 0
      ? runs
      : withSpaceRights(runs, recordAccessOf(settings), (family) => family === RECORD_JOBS);
  if (providerAccess.identityPolicies.length === 0) return withRecords;
  return withSpaceRights(
    withRecords,
    asRecordJudge(providerAccessOf(settings)),
    (family) => family === PROVIDER_JOBS,
  );
}

/** A caller that may start runs of providers may cancel them. */
function asRecordJudge(providers: ProviderAccess): Pick<RecordAccess, 'judgeRecordJob'> {
  return {
    judgeRecordJob: ({ operation, ...job }) =>
      providers.judgeRecordJob({ ...job, operation: operation === 'read' ? 'read' : 'run' }),
  };
}

/** Decides about the spaces of records; without policies all callers share the space `default`. */
export function recordAccessOf(settings: Settings): RecordAccess {
  return spaceAccessOf(settings.recordAccess, namesMailboxes(settings, 'recordAccess'));
}

/** Decides about the spaces of callers that run capabilities of providers; without policies all callers share the space `default`. */
export function providerAccessOf(settings: Settings): ProviderAccess {
  return spaceAccessOf(settings.providerAccess, namesMailboxes(settings, 'providerAccess'));
}

/** Decides which callers of a retrieval may use a provider as reranker: none while the operations on providers are off. */
export function rerankAccessOf(settings: Settings): Pick<ProviderAccess, 'judgeRecordJob'> {
  if (providersOff(settings) === null) return providerAccessOf(settings);
  return {
    judgeRecordJob() {
      throw permissionDenied();
    },
  };
}

function executionGrants({ executionAccess }: Settings): readonly ExecutionGrant[] {
  // As below: the rules have refused missing and unknown values.
  return executionAccess.identityPolicies.map((policy) => ({
    principal: policy.Principal ?? '',
    productId: policy.ProductId ?? '',
    workerId: policy.WorkerId ?? null,
    tenantIds: policy.AllowedTenantIds ?? [],
    handlerIds: policy.AllowedHandlerIds ?? [],
    operations: (policy.AllowedOperations ?? []) as readonly ExecutionAccessOperation[],
  }));
}

function policiesOf(settings: Settings): Readonly<Record<string, ClassPolicy>> {
  const { canonicalAccess } = settings;
  // The rules of the configuration have refused every policy with missing or unknown values.
  const canonical = canonicalAccess.identityPolicies.map((policy) => ({
    principal: policy.Principal ?? '',
    tenantIds: policy.AllowedTenantIds ?? [],
    operations: (policy.AllowedOperations ?? []) as readonly CanonicalAccessOperation[],
  }));
  const executionPolicy = createExecutionPolicy(executionGrants(settings), {
    caseInsensitive: namesMailboxes(settings, 'executionAccess'),
  });
  const made: Readonly<Record<PolicyName, ClassPolicy>> = {
    canonical: createCanonicalPolicy({
      grants: canonical,
      caseInsensitive: namesMailboxes(settings, 'canonicalAccess'),
      restoreTokenMaxAgeSeconds: canonicalAccess.restoreTokenMaxAgeSeconds,
    }),
    execution: executionPolicy,
    records: createRecordPolicy(recordAccessOf(settings)),
    providers: createProviderPolicy(providerAccessOf(settings)),
  };
  return Object.fromEntries(
    Object.entries(authorizationClasses).flatMap(([name, { policy }]) =>
      policy === null ? [] : [[name, made[policy]]],
    ),
  );
}

/** E-mail addresses ignore case; a subject or the name from a custom authenticator is compared exactly. */
function namesMailboxes(settings: Settings, part: Part): boolean {
  const { authenticatorType, authenticationMode } = settings[part];
  if (authenticatorType !== null) return false;
  return authenticationMode === 'development-header' || settings.oidc.principalClaim === 'email';
}
