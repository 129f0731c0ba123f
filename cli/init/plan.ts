import { join } from 'node:path';
import { type CloudAnswers, fileNames, type InitAnswers, ownIssuer } from './answers.ts';

type Members = Readonly<Record<string, unknown>>;

/** The settings file that the answers ask for, without secrets. Pure. */
export function settingsOf(answers: InitAnswers): Members {
  return {
    Environment: 'Production',
    Server: {
      ...serverOf(answers),
      Oidc: oidcOf(answers),
      CanonicalAccess: {
        AllowedAudiences: [answers.audience],
        IdentityPolicies: canonicalPolicies(answers),
      },
      ExecutionAccess: {
        AllowedAudiences: [answers.audience],
        IdentityPolicies: executionPolicies(answers),
      },
      RecordAccess: {
        AllowedAudiences: [answers.audience],
        IdentityPolicies: recordPolicies(answers),
      },
      ProviderAccess: {
        AllowedAudiences: [answers.audience],
        IdentityPolicies: providerPolicies(answers),
      },
    },
    CanonicalStore: { Provider: answers.database, DeliveredEventRetentionDays: 30 },
    ExecutionRuntime: {
      ...artifactsOf(answers),
      ...(answers.handlers.length === 0
        ? {}
        : { ExternalHandlers: answers.handlers.map((HandlerId) => ({ HandlerId, MaxAttempts: 3 })) }),
      ProductPolicies: [productPolicy(answers)],
      // A quarter of them is the share of one tenant: waiting runs are active ones.
      MaxActiveRuns: 400_000,
      RunSharePercent: 25,
      MaxRetainedTerminalRuns: 1_000,
      MinRetainedHours: 168,
    },
  };
}

function serverOf({ functions, port, proxies, dataDirectory, apiKey, folder }: InitAnswers): Members {
  // A deployment of functions names the place where it mounts the file.
  if (functions) return {};
  const keys = apiKey ? { ApiKeyFile: join(folder, fileNames.apiKeyHashes) } : {};
  return {
    Host: '127.0.0.1',
    ...(port === null ? {} : { Port: port }),
    TrustedProxyHops: proxies,
    ...(dataDirectory === null ? {} : { DataDirectory: dataDirectory }),
    ...keys,
  };
}

function oidcOf({ identity, functions, out, folder }: InitAnswers): Members {
  if (identity.kind === 'google') return {};
  if (identity.kind === 'issuer') return { Issuers: [identity.issuer], KeySetUrl: identity.keySetUrl };
  // The key set of functions is deployed beside the settings; the folder here does not exist there.
  const KeySetFile = join(functions ? out : folder, fileNames.keySet);
  return { Issuers: [ownIssuer], KeySetFile, PrincipalClaim: 'sub' };
}

function canonicalPolicies({ principals, tenants }: InitAnswers): Members[] {
  const AllowedTenantIds = [...tenants];
  const app = {
    Principal: principals.app,
    AllowedTenantIds,
    AllowedOperations: ['read', 'write', 'dispatch'],
  };
  if (principals.operator === null) return [app];
  const operations = ['read', 'dispatch', 'export', 'restore', 'admin'];
  return [app, { Principal: principals.operator, AllowedTenantIds: ['*'], AllowedOperations: operations }];
}

function executionPolicies(answers: InitAnswers): Members[] {
  const { principals, product, workerId, scheduler } = answers;
  const tenants = namedTenants(answers);
  const grant = (Principal: string, AllowedOperations: readonly string[], more: Members = {}) => ({
    Principal,
    ProductId: product,
    ...tenants,
    ...more,
    AllowedOperations,
  });
  const { app, worker, operator } = principals;
  return [
    grant(app, ['start_run', 'read_run', 'cancel_run', 'raise_event']),
    ...(worker === null ? [] : [grant(worker, ['worker'], { WorkerId: workerId })]),
    ...(operator === null ? [] : [grant(operator, ['read_run', 'cancel_run', 'maintenance'])]),
    ...(scheduler === null
      ? []
      : [{ Principal: scheduler, ProductId: product, AllowedOperations: ['maintenance'] }]),
  ];
}

function recordPolicies(answers: InitAnswers): Members[] {
  return spacePolicies(answers, ['read', 'write', 'delete'], ['read', 'maintain']);
}

function providerPolicies(answers: InitAnswers): Members[] {
  return spacePolicies(answers, ['read', 'run'], ['read', 'qualify']);
}

/** A principal has one space. Its name is the tenant of its jobs, which the product must allow. */
function spacePolicies(
  { principals, tenants, product }: InitAnswers,
  ofApp: readonly string[],
  ofOperator: readonly string[],
): Members[] {
  const Space = tenants.includes('*') ? 'default' : tenants[0];
  const grant = (Principal: string, AllowedOperations: readonly string[]) => ({
    Principal,
    Space,
    ProductId: product,
    AllowedOperations,
  });
  const { app, operator } = principals;
  return [grant(app, ofApp), ...(operator === null ? [] : [grant(operator, ofOperator)])];
}

/** An empty list means all tenants there; `*` would be the name of one. */
function namedTenants({ tenants }: InitAnswers): Members {
  return tenants.includes('*') ? {} : { AllowedTenantIds: [...tenants] };
}

function productPolicy(answers: InitAnswers): Members {
  const { product, handlers } = answers;
  const named = handlers.length === 0 ? {} : { AllowedHandlerIds: [...handlers] };
  return { ProductId: product, ...namedTenants(answers), ...named };
}

/** Other stores than SQLite keep large artifacts only where a folder or a bucket is named. */
function artifactsOf({ functions, database, dataDirectory }: InitAnswers): Members {
  if (functions || database === 'sqlite') return {};
  return { ArtifactDirectory: join(dataDirectory ?? '.svc', 'artifacts') };
}

/** The secrets that no settings file holds, as variables of the environment. */
export function secretsOf({ connectionString }: InitAnswers): Readonly<Record<string, string>> {
  return connectionString === null ? {} : { CanonicalStore__ConnectionString: connectionString };
}

/** The variables that functions need beside the settings file. They are those that infra/functions.tf sets. */
export function cloudVariablesOf(
  cloud: CloudAnswers,
  handlers: readonly string[],
): Readonly<Record<string, string>> {
  const google = 'ExecutionRuntime__Google__';
  // A text that is no address stays, so that the rules of the settings refuse it.
  const audience = URL.parse(cloud.workerUrl)?.origin ?? cloud.workerUrl;
  const routes = handlers.map((id, at) => [`${google}WorkerRoutes__${at}__HandlerId`, id] as const);
  return {
    SVC_ENVIRONMENT: 'Production',
    Firestore__ProjectId: cloud.project,
    ExecutionRuntime__Adapter: 'google',
    ...(cloud.bucket === null ? {} : { ExecutionRuntime__ArtifactObjectContainer: cloud.bucket }),
    [`${google}ProjectId`]: cloud.project,
    [`${google}LocationId`]: cloud.location,
    [`${google}QueueId`]: cloud.queue,
    [`${google}WorkerUrl`]: cloud.workerUrl,
    [`${google}OidcAudience`]: audience,
    [`${google}ServiceAccountEmail`]: cloud.serviceAccount,
    HostedWorker__TaskAuthentication__AllowedAudiences__0: audience,
    ...Object.fromEntries(routes),
  };
}
