import { limits } from '../../contracts/generated/limits.ts';
import { choice, integer, list, members, secretText, text, truth, unquotedText } from './kinds.ts';
import type { Secret } from './secret.ts';
import { type Given, type Setting, setting } from './setting.ts';

/** One grant: who, for which tenants, may do what. */
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

/** What a product may do in the execution runtime. An empty list restricts nothing. */
export interface ProductPolicy {
  readonly ProductId: string;
  readonly AllowedHandlerIds: readonly string[];
  readonly AllowedTenantIds: readonly string[];
  readonly AllowedServiceIdentities: readonly string[];
  readonly MaxPayloadBytes: number;
  readonly ArtifactPrefix: string;
  readonly RedactedJsonPropertyNames: readonly string[];
}

/** A handler that workers outside execute. */
export interface ExternalHandler {
  readonly HandlerId: string;
  readonly PluginId: string;
  readonly DisplayName: string;
  readonly Description: string;
  readonly MaxAttempts: number;
  readonly ConcurrencyKey: string;
}

/** Where the runs of one handler go; what it does not say, the defaults say. */
export interface WorkerRouteSetting {
  readonly HandlerId: string;
  readonly ProjectId: string;
  readonly LocationId: string;
  readonly QueueId: string;
  readonly WorkerUrl: string;
  readonly ServiceAccountEmail: string;
  readonly OidcAudience: string;
}

const anyText = text('some text', /^[^\p{Cc}]{1,1000}$/u);
const headerName = text('the name of a header', /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/);
const hostName = text('an address or a host name', /^[0-9A-Za-z.:_-]{1,253}$/);
const identifier = text('an identifier of 1 to 160 characters', /^[^\p{Cc}]{1,160}$/u);
// These may be written with a password in them, and are then refused, but not quoted.
const tokenIssuer = unquotedText(
  'the issuer as tokens name it, such as https://issuer.example.com',
  /^[\x21-\x7e]{1,512}$/,
);
const url = unquotedText(
  'an address such as https://issuer.example.com/keys',
  /^https?:\/\/[^\s@#\\]{1,1000}$/,
);
const keyHash = unquotedText('sha256: and 64 lower-case hexadecimal digits', /^sha256:[0-9a-f]{64}$/);
const origin = unquotedText('an origin such as https://app.example.com', /^https?:\/\/[^\s/?#@\\*]{1,253}$/);
// What a header can carry without quoting and what a caller cannot mistype by a space.
const projectName = text('a project id', /^[a-z0-9][a-z0-9.:-]{2,99}$/);
const locationName = text('a location such as europe-west1', /^[a-z][a-z0-9-]{0,62}$/);
const queueName = text('the id of a queue', /^[A-Za-z0-9-]{1,100}$/);
const mailbox = text('the address of a service account', /^[^\s@\p{Cc}]{1,100}@[^\s@\p{Cc}]{1,200}$/u);
const emulatorHost = unquotedText('host:port', /^[0-9A-Za-z.:[\]_-]{1,253}:\d{1,5}$/);
const apiKey = secretText('1 to 512 visible ASCII characters', /^[\x21-\x7e]{1,512}$/);

/** What Google signs identity tokens as, in both its spellings, and with. */
export const googleIssuers = ['https://accounts.google.com', 'accounts.google.com'] as const;
export const googleKeySetUrl = 'https://www.googleapis.com/oauth2/v3/certs';

/** How callers of one part of the service prove who they are. */
// biome-ignore format: as below
function accessSettings(section: string) {
  return {
    authenticationMode: setting<string>(`${section}:AuthenticationMode`, text('a word such as google-oidc', /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/), 'google-oidc',
      'How callers prove who they are: google-oidc (a token of the issuer in Server:Oidc), development-header, or the mode of a custom authenticator.'),
    developmentIdentityHeader: setting<string>(`${section}:DevelopmentIdentityHeader`, headerName, 'X-Svc-Development-Identity',
      'Header that names the principal in the mode development-header.'),
    allowedAudiences: setting<readonly string[]>(`${section}:AllowedAudiences`, list(anyText), [],
      'Audiences that a token may be made for, such as the address of the service. Required with google-oidc.'),
    authenticatorType: setting<string | null>(`${section}:AuthenticatorType`, anyText, null,
      'Module of a custom authenticator, such as ./authenticator.mjs, which takes the place of the built-in one.'),
  } as const;
}

const inDevelopment =
  <T>(yes: T, no: T) =>
  (given: Given) =>
    given.environment === 'Development' ? yes : no;
const onFunctions =
  <T>(yes: T, no: T) =>
  (given: Given) =>
    given.host === 'functions' ? yes : no;

/** The databases that records can be kept in, and other names for them. */
const providers = {
  sqlite: ['local-sqlite', 'local'],
  firestore: ['google-firestore'],
  postgresql: ['postgres', 'cloud-sql-postgres', 'alloydb-postgres'],
  mysql: ['mariadb', 'cloud-sql-mysql'],
} as const;
export type Provider = keyof typeof providers;

/** Every setting there is, a line each. Nothing else reads the environment, the command line or a settings file. */
// biome-ignore format: a table reads better with one setting a line or two
export const table = {
  service: {
    environment: setting('Environment', text('a word such as Development or Production', /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/), onFunctions('Production', 'Development'),
      'Development is open to whoever reaches it and tells reasons of failures; every other word is strict.', { variables: ['SVC_ENVIRONMENT', 'ENVIRONMENT'] }),
    dataDirectory: setting('Server:DataDirectory', anyText, '.svc',
      'Folder of the embedded store, made when it is missing.', { variables: ['SVC_DATA_DIR'], option: 'data-dir' }),
    cloudService: setting<string | null>('Server:CloudService', anyText, null,
      'Name of the cloud service, told by the platform. A service there is never on loopback.', { variables: ['K_SERVICE'] }),
  },
  server: {
    host: setting('Server:Host', hostName, '127.0.0.1',
      'Address that the embedded server listens on.', { option: 'host' }),
    port: setting('Server:Port', integer(0, 65_535), 5220,
      'Port of the embedded server; 0 takes a free one.', { variables: ['PORT'], option: 'port' }),
    allowRemoteDevelopment: setting('Server:AllowRemoteDevelopment', truth(), false,
      'Lets an open Development server listen beyond loopback, and answer requests for host names other than localhost.'),
    trustedProxyHops: setting('Server:TrustedProxyHops', integer(0, 16), 0,
      'Proxies of ours in front: so many entries of X-Forwarded-For, from the right, are believed.', { unit: 'proxies' }),
    drainSeconds: setting('Server:DrainSeconds', integer(0, 600), onFunctions<number>(8, 10),
      'How long requests under way may take to finish when the service stops. The platform gives functions 10 seconds.', { unit: 'seconds' }),
    logLevel: setting<'debug' | 'info' | 'warning' | 'error'>('Server:LogLevel', choice({ debug: [], info: ['information'], warning: ['warn'], error: [] }), onFunctions<'info' | 'warning'>('info', 'warning'),
      'Least severity of the log lines that are written.', { option: 'log-level' }),
    messageBytesMax: setting<number | null>('Server:MessageBytesMax', integer(1_048_576, 1_073_741_824), onFunctions<number | null>(33_554_432, null),
      'Largest request or answer that the platform in front carries. What is larger is refused with what to do instead.', { unit: 'bytes' }),
    validateResponses: setting('Server:ValidateResponses', truth(), inDevelopment(true, false),
      'Whether every answer is held against its model before it is sent.'),
  },
  security: {
    apiKeys: setting<readonly Secret[]>('Server:ApiKeys', list(apiKey), [],
      'Keys that callers may present, in clear: for development. Elsewhere the service warns of them; give their hashes, or a file of them.'),
    apiKeyHashes: setting<readonly string[]>('Server:ApiKeyHashes', list(keyHash), [],
      'Keys that callers may present, by their hashes: npm run -s svc -- api-key create makes a key and tells its hash.'),
    apiKeyFile: setting<string | null>('Server:ApiKeyFile', anyText, null,
      'File with the hashes of keys that callers may present, read again every 30 seconds: a key that is taken out is refused within a minute.', { variables: ['SVC_API_KEY_FILE'] }),
    apiKey: setting<Secret | null>('Server:ApiKey', apiKey, null,
      'One more key that callers may present, in clear: for development. Elsewhere the service warns of it; give the hash instead.', { variables: ['SVC_API_KEY'] }),
    requireApiKey: setting<boolean | null>('Server:RequireApiKey', truth(), null,
      'Whether callers must present a key. Unless set: when there is one.'),
    apiKeyHeader: setting('Server:ApiKeyHeader', headerName, 'X-Svc-Api-Key',
      'Header that carries the key.', { variables: ['SVC_API_KEY_HEADER'] }),
  },
  rateLimit: {
    permitLimit: setting('Server:CanonicalRateLimit:PermitLimit', integer(1, 100_000), inDevelopment<number>(limits.rateLimitPermitsDevelopmentDefault, limits.rateLimitPermitsDefault),
      'Canonical requests a window from one source address.', { unit: 'requests' }),
    windowSeconds: setting<number>('Server:CanonicalRateLimit:WindowSeconds', integer(1, 86_400), limits.rateLimitWindowSecondsDefault,
      'Length of a window.', { unit: 'seconds' }),
    queueLimit: setting<number>('Server:CanonicalRateLimit:QueueLimit', integer(0, 10_000), limits.rateLimitQueueDefault,
      'Requests that wait for the next window instead of being refused.', { unit: 'requests' }),
  },
  oidc: {
    issuers: setting<readonly string[]>('Server:Oidc:Issuers', list(tokenIssuer), [...googleIssuers],
      'Who may have issued a token. All of them sign with the keys of KeySetUrl.'),
    keySetUrl: setting('Server:Oidc:KeySetUrl', url, googleKeySetUrl,
      'Where the issuer publishes its keys, as a JSON Web Key Set or a map of PEM texts.'),
    verification: setting<'application' | 'platform'>('Server:Oidc:Verification', choice({ application: [], platform: [] }), 'application',
      'Who checks the signature of a token: the application, or the platform in front, which must then let nobody past without a valid one.'),
    authorizedParties: setting<readonly string[]>('Server:Oidc:AuthorizedParties', list(anyText), [],
      'Clients that may have asked for a token (azp). Unless set: any.'),
    principalClaim: setting<'email' | 'sub'>('Server:Oidc:PrincipalClaim', choice({ email: [], sub: [] }), 'email',
      'What a token names its principal by: the verified e-mail address, or the subject.'),
  },
  canonicalAccess: {
    ...accessSettings('Server:CanonicalAccess'),
    identityPolicies: setting<readonly Partial<IdentityPolicy>[]>('Server:CanonicalAccess:IdentityPolicies',
      list(members<IdentityPolicy>({ Principal: anyText, AllowedTenantIds: list(identifier), AllowedOperations: list(anyText) })), [],
      'Who may do what for which tenants: read, write, dispatch, export, restore, admin. Required outside Development while the canonical store is enabled.'),
  },
  executionAccess: {
    ...accessSettings('Server:ExecutionAccess'),
    identityPolicies: setting<readonly Partial<ExecutionIdentityPolicy>[]>('Server:ExecutionAccess:IdentityPolicies',
      list(members<ExecutionIdentityPolicy>({ Principal: anyText, ProductId: identifier, WorkerId: identifier, AllowedTenantIds: list(identifier), AllowedHandlerIds: list(identifier), AllowedOperations: list(anyText) })), [],
      'Who may do what with the runs of which product: start_run, read_run, cancel_run, raise_event, worker, maintenance. Outside Development the execution runtime is served only where there is one.'),
  },
  execution: {
    enabled: setting('ExecutionRuntime:Enabled', truth(), true,
      'Whether there is an execution runtime; without one its routes do not exist.'),
    adapter: setting<'local' | 'google'>('ExecutionRuntime:Adapter', choice({ local: ['local-sqlite'], google: ['google-firestore-cloud-tasks'] }), 'local',
      'How runs reach their workers: local, a queue in the process over the store that CanonicalStore:Provider names; google, tasks of Cloud Tasks over the same store.'),
    maxActiveRuns: setting<number>('ExecutionRuntime:MaxActiveRuns', integer(1, 1_000_000), limits.executionActiveRunsDefault,
      'Runs that may be queued, running or waiting at a time; a start beyond them is refused and stores nothing.', { unit: 'runs' }),
    maxRetainedTerminalRuns: setting<number>('ExecutionRuntime:MaxRetainedTerminalRuns', integer(0, 10_000_000), limits.executionRetainedRunsDefault,
      'Runs that are kept after their end; the oldest beyond them go when the runtime is pruned.', { unit: 'runs' }),
    defaultListLimit: setting<number>('ExecutionRuntime:DefaultListLimit', integer(1, 1_000), limits.executionListLimitDefault,
      'Runs of a list that names no limit.', { unit: 'runs' }),
    maxListLimit: setting<number>('ExecutionRuntime:MaxListLimit', integer(1, 1_000), limits.executionListLimitMax,
      'Runs of one list at most.', { unit: 'runs' }),
    defaultHistoryLimit: setting<number>('ExecutionRuntime:DefaultHistoryLimit', integer(1, 1_000), limits.executionHistoryLimitDefault,
      'Events of a history that names no limit.', { unit: 'events' }),
    maxHistoryLimit: setting<number>('ExecutionRuntime:MaxHistoryLimit', integer(1, 1_000), limits.executionHistoryLimitMax,
      'Events of one history at most.', { unit: 'events' }),
    maxPayloadBytes: setting<number>('ExecutionRuntime:MaxPayloadBytes', integer(1, limits.executionPayloadBytesMax), limits.executionPayloadBytesDefault,
      'Largest payload of a run, an event or a wait, as canonical JSON.', { unit: 'bytes' }),
    maxResultBytes: setting<number>('ExecutionRuntime:MaxResultBytes', integer(1, limits.executionResultBytesMax), limits.executionResultBytesDefault,
      'Largest result of a run, as canonical JSON.', { unit: 'bytes' }),
    maxLeaseExpirations: setting<number>('ExecutionRuntime:MaxLeaseExpirations', integer(1, 1_000), limits.executionLeaseExpirationsDefault,
      'Leases of one run that may run out before it fails: a run that kills its workers ends.', { unit: 'leases' }),
    concurrencyRetryDelayMs: setting<number>('ExecutionRuntime:ConcurrencyRetryDelayMs', integer(10, 3_600_000), limits.executionConcurrencyRetryDelayMsDefault,
      'Told to callers as the pause after which a run whose concurrency key is taken is tried again. The local adapter is told when a key becomes free, and need not try.', { unit: 'milliseconds' }),
    workerId: setting<string | null>('ExecutionRuntime:WorkerId', identifier, null,
      'Name of this process as a worker, in traces and leases. Unless set: made of host and process.'),
    maxConcurrentRuns: setting('ExecutionRuntime:MaxConcurrentRuns', integer(1, 10_000), 64,
      'Runs that the handlers of this process execute at a time.', { unit: 'runs' }),
    leaseSeconds: setting('ExecutionRuntime:LeaseSeconds', integer(1, 86_400), 30,
      'How long this process holds a run without a word; another may go on with it after that.', { unit: 'seconds' }),
    recheckSeconds: setting('ExecutionRuntime:RecheckSeconds', integer(1, 3_600), 5,
      'How often it is asked what other processes have left in the store. With the provider sqlite the database is asked only after they have written.', { unit: 'seconds' }),
    orderedIdNode: setting<string | null>('ExecutionRuntime:OrderedIdNode', anyText, null,
      'Node of the ordered ids that this process makes: a number, or a name that one is made of. Unless set: made of host and process.', { variables: ['SVC_ORDERED_ID_NODE'] }),
    artifactDirectory: setting<string | null>('ExecutionRuntime:ArtifactDirectory', anyText, null,
      'Folder of the artifacts that are too large to be kept inline. Unless set: artifacts in the data directory.'),
    artifactObjectContainer: setting<string | null>('ExecutionRuntime:ArtifactObjectContainer', text('the name of a bucket', /^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$/), null,
      'Bucket of Cloud Storage for those artifacts, in place of the folder.', { variables: ['SVC_EXECUTION_ARTIFACT_OBJECT_CONTAINER'] }),
    artifactStorageEndpoint: setting<string | null>('ExecutionRuntime:ArtifactStorageEndpoint', url, null,
      'Address that speaks for Cloud Storage, without credentials: for development.'),
    plugins: setting<readonly string[]>('ExecutionRuntime:Plugins', list(anyText), [],
      'Modules whose handlers this process executes, such as ./claims-plugin.mjs; #Name for an export that is not the default.'),
    externalHandlers: setting<readonly Partial<ExternalHandler>[]>('ExecutionRuntime:ExternalHandlers',
      list(members<ExternalHandler>({ HandlerId: identifier, PluginId: identifier, DisplayName: anyText, Description: anyText, MaxAttempts: integer(1, limits.executionAttemptsMax), ConcurrencyKey: identifier })), [],
      'Handlers that workers outside execute; only these may be leased.'),
    productPolicies: setting<readonly Partial<ProductPolicy>[]>('ExecutionRuntime:ProductPolicies',
      list(members<ProductPolicy>({ ProductId: identifier, AllowedHandlerIds: list(identifier), AllowedTenantIds: list(identifier), AllowedServiceIdentities: list(identifier), MaxPayloadBytes: integer(1, 1_048_576), ArtifactPrefix: identifier, RedactedJsonPropertyNames: list(identifier) })), [],
      'What each product may do. Once there is one, a new run needs a product that is known and a tenant.'),
  },
  cloudTasks: {
    projectId: setting<string | null>('ExecutionRuntime:Google:ProjectId', projectName, null,
      'Project of the queue. Unless set: the one of the database.', { variables: ['SVC_EXECUTION_GCP_PROJECT_ID'] }),
    locationId: setting<string | null>('ExecutionRuntime:Google:LocationId', locationName, null,
      'Location of the queue, such as europe-west1.', { variables: ['SVC_EXECUTION_TASKS_LOCATION'] }),
    queueId: setting<string | null>('ExecutionRuntime:Google:QueueId', queueName, null,
      'Queue that carries the messages to workers.', { variables: ['SVC_EXECUTION_TASKS_QUEUE'] }),
    workerUrl: setting<string | null>('ExecutionRuntime:Google:WorkerUrl', url, null,
      'Address that messages are delivered to: of the hosted worker, which executes the handlers of ExecutionRuntime:Plugins.', { variables: ['SVC_EXECUTION_WORKER_URL'] }),
    serviceAccountEmail: setting<string | null>('ExecutionRuntime:Google:ServiceAccountEmail', mailbox, null,
      'Service account whose token a delivery carries.', { variables: ['SVC_EXECUTION_TASKS_SERVICE_ACCOUNT'] }),
    oidcAudience: setting<string | null>('ExecutionRuntime:Google:OidcAudience', anyText, null,
      'What that token is made for. Unless set: the address of the worker.', { variables: ['SVC_EXECUTION_TASKS_OIDC_AUDIENCE'] }),
    requireExplicitWorkerRoutes: setting('ExecutionRuntime:Google:RequireExplicitWorkerRoutes', truth(), true,
      'Whether every handler of ExecutionRuntime:ExternalHandlers needs a route of its own; otherwise those without one go to the default address.'),
    workerRoutes: setting<readonly Partial<WorkerRouteSetting>[]>('ExecutionRuntime:Google:WorkerRoutes',
      list(members<WorkerRouteSetting>({ HandlerId: identifier, ProjectId: projectName, LocationId: locationName, QueueId: queueName, WorkerUrl: url, ServiceAccountEmail: mailbox, OidcAudience: anyText })), [],
      'Where the runs of single handlers go: HandlerId and what differs from the settings above.'),
    emulatorHost: setting<string | null>('ExecutionRuntime:Google:EmulatorHost', emulatorHost, null,
      'Emulator of Cloud Tasks to use instead of the cloud.', { variables: ['CLOUD_TASKS_EMULATOR_HOST'] }),
  },
  hostedWorker: {
    callbackPath: setting('HostedWorker:CallbackPath', text('a path such as /tasks/execution', /^(\/[A-Za-z0-9._~-]{1,64}){1,8}$/), '/tasks/execution',
      'Path at which the hosted worker takes deliveries.'),
    allowedPrincipals: setting<readonly string[]>('HostedWorker:TaskAuthentication:AllowedPrincipals', list(anyText), [],
      'Who may deliver. Unless set: ExecutionRuntime:Google:ServiceAccountEmail.'),
    ...accessSettings('HostedWorker:TaskAuthentication'),
  },
  canonicalStore: {
    enabled: setting('CanonicalStore:Enabled', truth(), true,
      'Whether there is a canonical store; without one its routes do not exist.', { variables: ['SVC_CANONICAL_STORE_ENABLED'] }),
    provider: setting<Provider>('CanonicalStore:Provider', choice(providers), onFunctions<Provider>('firestore', 'sqlite'),
      'Database behind the store. A file does not outlive a function instance, so functions default to firestore.', { variables: ['SVC_CANONICAL_STORE_PROVIDER'] }),
    connectionString: setting<Secret | null>('CanonicalStore:ConnectionString', secretText('a connection string', /^\S.{0,4095}$/s), null,
      'Where the providers postgresql and mysql find their database, such as postgresql://user:password@host/database.', { variables: ['SVC_CANONICAL_CONNECTION_STRING'] }),
    connectionsMax: setting('CanonicalStore:ConnectionsMax', integer(1, 1_000), 10,
      'Connections that one instance holds to the database of the providers postgresql and mysql.'),
    databasePath: setting<string | null>('CanonicalStore:DatabasePath', anyText, null,
      'File of the provider sqlite. Unless set: svc.canonical.sqlite in the data directory.', { variables: ['SVC_CANONICAL_DATABASE_PATH'] }),
    grouping: setting('CanonicalStore:Grouping', truth(), true,
      'Whether the provider sqlite makes commits that wait together durable together.'),
    deliveredEventRetentionDays: setting<number | null>('CanonicalStore:DeliveredEventRetentionDays', integer(1, 36_500), null,
      'How long a delivered outbox event is kept: longer ago, it is gone for every call, and its id is free. Unless set: for ever.', { unit: 'days' }),
  },
  firestore: {
    projectId: setting<string | null>('Firestore:ProjectId', projectName, null,
      'Project of the database. Unless set: the one that the platform tells.', { variables: ['GOOGLE_CLOUD_PROJECT', 'GCLOUD_PROJECT'] }),
    databaseId: setting('Firestore:DatabaseId', text('a database id', /^(\(default\)|[a-z][a-z0-9-]{3,62})$/), '(default)',
      'Database in the project.'),
    emulatorHost: setting<string | null>('Firestore:EmulatorHost', emulatorHost, null,
      'Emulator to use instead of the cloud.', { variables: ['FIRESTORE_EMULATOR_HOST'] }),
  },
  docs: {
    enabled: setting('Docs:Enabled', truth(), inDevelopment(true, false),
      'Whether /docs serves the API reference with requests to try, to everybody. It loads nothing from elsewhere.'),
  },
  cors: {
    allowedOrigins: setting<readonly string[]>('Cors:AllowedOrigins', list(origin), inDevelopment<readonly string[]>(developmentOrigins(), []),
      'Origins of browser applications that may call.'),
  },
} as const;

type Group = { readonly [name: string]: Setting<unknown> };
type ValuesOf<G> = { readonly [N in keyof G]: G[N] extends Setting<infer T> ? T : never };

/** The table's values, typed. */
export type Settings = { readonly [G in keyof typeof table]: ValuesOf<(typeof table)[G]> };

export const lines: readonly Setting<unknown>[] = Object.values(
  table as { readonly [name: string]: Group },
).flatMap((group) => Object.values(group));

/** Sections that belong to the service, also those of parts that this release does not have. */
export const sections: ReadonlySet<string> = new Set([
  ...lines.map((line) => line.key.split(':', 1).join('').toLowerCase()),
  'mcp',
  'executionruntime',
  'execution',
  'hostedworker',
  'queue',
  'telemetry',
  'http',
]);

function developmentOrigins(): string[] {
  const ports = [3000, 5173, 5174, 8080];
  return ports.flatMap((port) => [`http://localhost:${port}`, `http://127.0.0.1:${port}`]);
}
