import { limits } from '../../../contracts/generated/limits.ts';
import { choice, integer, list, members, text, truth } from '../kinds.ts';
import { setting } from '../setting.ts';
import { accessSettings } from './access.ts';
import { inLocalDevelopment } from './defaults.ts';
import {
  anyText,
  emulatorHost,
  identifier,
  locationName,
  mailbox,
  projectName,
  queueName,
  url,
} from './texts.ts';

/** Limits of a product in the execution runtime. An empty list restricts nothing. */
export interface ProductPolicySettings {
  readonly ProductId: string;
  readonly AllowedHandlerIds: readonly string[];
  readonly AllowedTenantIds: readonly string[];
  readonly AllowedServiceIdentities: readonly string[];
  readonly MaxPayloadBytes: number;
  readonly ArtifactPrefix: string;
  readonly RedactedJsonPropertyNames: readonly string[];
}

/** A handler that external workers execute. */
export interface ExternalHandler {
  readonly HandlerId: string;
  readonly PluginId: string;
  readonly DisplayName: string;
  readonly Description: string;
  readonly MaxAttempts: number;
  readonly ConcurrencyKey: string;
}

/** Rules for the runs of one handler, of a plugin or of external workers. */
export interface HandlerSetting {
  readonly HandlerId: string;
  readonly ConcurrencyLimit: number;
}

/** The destination of the runs of one handler. Absent members come from the defaults. */
export interface WorkerRouteSetting {
  readonly HandlerId: string;
  readonly ProjectId: string;
  readonly LocationId: string;
  readonly QueueId: string;
  readonly WorkerUrl: string;
  readonly ServiceAccountEmail: string;
  readonly OidcAudience: string;
}

/** The execution runtime. */
// biome-ignore format: a table reads better with one setting a line or two
export const execution = {
  enabled: setting('ExecutionRuntime:Enabled', truth(), true,
    'Whether the service has an execution runtime; without one its routes do not exist.'),
  adapter: setting<'local' | 'google'>('ExecutionRuntime:Adapter', choice({ local: ['local-sqlite'], google: ['google-firestore-cloud-tasks'] }), 'local',
    'How runs reach their workers: local, a queue in the process over the configured store; google, tasks of Cloud Tasks over the same store.'),
  maxActiveRuns: setting<number>('ExecutionRuntime:MaxActiveRuns', integer(1, 1_000_000), limits.executionActiveRunsDefault,
    'Runs that may be queued, running or waiting at a time. The service refuses a start beyond them and stores nothing.', { unit: 'runs' }),
  runSharePercent: setting<number>('ExecutionRuntime:RunSharePercent', integer(1, 100), 25,
    'Share of MaxActiveRuns that one product and tenant may have, rounded up to at least one run. Runs without a scope have no share.', { unit: 'percent' }),
  maxActiveJobs: setting<number>('ExecutionRuntime:MaxActiveJobs', integer(1, 1_000_000), 100,
    'Jobs of the service that may be queued, running or waiting at a time, beside the runs; one beyond them is refused and stores nothing.', { unit: 'jobs' }),
  jobSharePercent: setting<number>('ExecutionRuntime:JobSharePercent', integer(1, 100), 25,
    'Share of MaxActiveJobs that the jobs of one space may have, rounded up to at least one job.', { unit: 'percent' }),
  maxRetainedTerminalRuns: setting<number>('ExecutionRuntime:MaxRetainedTerminalRuns', integer(0, 10_000_000), limits.executionRetainedRunsDefault,
    'Terminal runs that prune keeps of each product and tenant; it deletes the oldest beyond them. The newest 50 refused starts stay, beside these.', { unit: 'runs' }),
  minRetainedHours: setting<number>('ExecutionRuntime:MinRetainedHours', integer(0, 8_760), 24,
    'Automatic pruning keeps a run, with its idempotency key, at least this long after its end. A prune at the request of a caller removes younger runs too.', { unit: 'hours' }),
  pruneIntervalMinutes: setting<number>('ExecutionRuntime:PruneIntervalMinutes', integer(1, 10_080), 60,
    'How often the embedded server prunes. With the adapter google, the scheduled function prune does it.', { unit: 'minutes' }),
  defaultListLimit: setting<number>('ExecutionRuntime:DefaultListLimit', integer(1, 1_000), limits.executionListLimitDefault,
    'Runs in a list when the caller gives no limit, and never more than MaxListLimit.', { unit: 'runs' }),
  maxListLimit: setting<number>('ExecutionRuntime:MaxListLimit', integer(1, 1_000), limits.executionListLimitMax,
    'Most runs in one page of a list. A value above 200 means 200, the maximum of the contract.', { unit: 'runs' }),
  defaultHistoryLimit: setting<number>('ExecutionRuntime:DefaultHistoryLimit', integer(1, 1_000), limits.executionHistoryLimitDefault,
    'Trace events in a history when the caller gives no limit, and never more than MaxHistoryLimit.', { unit: 'events' }),
  maxHistoryLimit: setting<number>('ExecutionRuntime:MaxHistoryLimit', integer(1, 1_000), limits.executionHistoryLimitMax,
    'Most trace events in one page of a history. A value above 200 means 200, the maximum of the contract.', { unit: 'events' }),
  maxPayloadBytes: setting<number>('ExecutionRuntime:MaxPayloadBytes', integer(1, limits.executionPayloadBytesMax), limits.executionPayloadBytesDefault,
    'Largest payload of a run, an event or a wait, as canonical JSON.', { unit: 'bytes' }),
  maxResultBytes: setting<number>('ExecutionRuntime:MaxResultBytes', integer(1, limits.executionResultBytesMax), limits.executionResultBytesDefault,
    'Largest result of a run, as canonical JSON.', { unit: 'bytes' }),
  maxLeaseExpirations: setting<number>('ExecutionRuntime:MaxLeaseExpirations', integer(1, 1_000), limits.executionLeaseExpirationsDefault,
    'Leases of one run that may expire before the run fails, so that a run that kills its workers ends.', { unit: 'leases' }),
  concurrencyRetryDelayMs: setting<number>('ExecutionRuntime:ConcurrencyRetryDelayMs', integer(10, 3_600_000), limits.executionConcurrencyRetryDelayMsDefault,
    'Delay before a run whose concurrency key is taken is tried again, as the status document reports it. The local adapter reacts to a released key at once.', { unit: 'milliseconds' }),
  workerId: setting<string | null>('ExecutionRuntime:WorkerId', identifier, null,
    'Worker id of this process in traces and leases. Default: a random id for each process; a log line at start names its host and process id.'),
  maxConcurrentRuns: setting('ExecutionRuntime:MaxConcurrentRuns', integer(1, 10_000), 64,
    'Runs that this process executes at a time. The last free slot is for a product and tenant without one, so one of them never holds all of several slots, and more than half only while no run of another waits. The owner of a job is its space. Runs without a scope have no share.', { unit: 'runs' }),
  leaseSeconds: setting('ExecutionRuntime:LeaseSeconds', integer(1, 86_400), 30,
    'Lease duration of runs that this process executes. After it, another process may take the run over.', { unit: 'seconds' }),
  recheckSeconds: setting('ExecutionRuntime:RecheckSeconds', integer(1, 3_600), 5,
    'How often this process looks in the store for work of other processes. With the provider sqlite it looks only after another process has written.', { unit: 'seconds' }),
  orderedIdNode: setting<string | null>('ExecutionRuntime:OrderedIdNode', anyText, null,
    'Node of the ordered ids of this process: a number, or a name from which the number is derived. Default: derived from host name and process id.', { variables: ['SVC_ORDERED_ID_NODE'] }),
  artifactDirectory: setting<string | null>('ExecutionRuntime:ArtifactDirectory', anyText, null,
    'Folder for artifacts that are too large to be stored inline. Default: artifacts in the data directory.'),
  artifactObjectContainer: setting<string | null>('ExecutionRuntime:ArtifactObjectContainer', text('the name of a bucket', /^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$/), null,
    'Cloud Storage bucket for those artifacts, instead of the folder.', { variables: ['SVC_EXECUTION_ARTIFACT_OBJECT_CONTAINER'] }),
  artifactStorageEndpoint: setting<string | null>('ExecutionRuntime:ArtifactStorageEndpoint', url, null,
    'Address of a Cloud Storage emulator, used without credentials: for development.'),
  plugins: setting<readonly string[]>('ExecutionRuntime:Plugins', list(anyText), [],
    'Modules whose handlers this process executes, such as ./claims-plugin.mjs; append #Name for a named export.'),
  externalHandlers: setting<readonly Partial<ExternalHandler>[]>('ExecutionRuntime:ExternalHandlers',
    list(members<ExternalHandler>({ HandlerId: identifier, PluginId: identifier, DisplayName: anyText, Description: anyText, MaxAttempts: integer(1, limits.executionAttemptsMax), ConcurrencyKey: identifier })), [],
    'Handlers that external workers execute; workers may lease only these.'),
  handlers: setting<readonly Partial<HandlerSetting>[]>('ExecutionRuntime:Handlers',
    list(members<HandlerSetting>({ HandlerId: identifier, ConcurrencyLimit: integer(1, limits.executionConcurrencyLimitMax) })), [],
    'Rules for single handlers, also for those of plugins: how many runs with the same concurrencyKey of their starts are executed at a time, 1 unless it is set. A handler with a ConcurrencyKey executes one run at a time in any case.'),
  acceptHandlersOfWorkers: setting<boolean>('ExecutionRuntime:AcceptHandlersOfWorkers', truth(), inLocalDevelopment,
    'Whether the handlers that a lease call names are added, with their defaults, for the tenants of its worker until the process ends. Only on the embedded server in Development on loopback; elsewhere true is refused.'),
  productPolicies: setting<readonly Partial<ProductPolicySettings>[]>('ExecutionRuntime:ProductPolicies',
    list(members<ProductPolicySettings>({ ProductId: identifier, AllowedHandlerIds: list(identifier), AllowedTenantIds: list(identifier), AllowedServiceIdentities: list(identifier), MaxPayloadBytes: integer(1, 1_048_576), ArtifactPrefix: identifier, RedactedJsonPropertyNames: list(identifier) })), [],
    'Limits per product. With any entry, a new run must name a configured product and a tenant.'),
} as const;

/** The queue in the cloud. */
// biome-ignore format: a table reads better with one setting a line or two
export const cloudTasks = {
  projectId: setting<string | null>('ExecutionRuntime:Google:ProjectId', projectName, null,
    'Project of the queue. Default: the project of the database.', { variables: ['SVC_EXECUTION_GCP_PROJECT_ID'] }),
  locationId: setting<string | null>('ExecutionRuntime:Google:LocationId', locationName, null,
    'Location of the queue, such as europe-west1.', { variables: ['SVC_EXECUTION_TASKS_LOCATION'] }),
  queueId: setting<string | null>('ExecutionRuntime:Google:QueueId', queueName, null,
    'Queue that carries run messages to workers.', { variables: ['SVC_EXECUTION_TASKS_QUEUE'] }),
  workerUrl: setting<string | null>('ExecutionRuntime:Google:WorkerUrl', url, null,
    'Address of the hosted worker, which executes the handlers of ExecutionRuntime:Plugins; Cloud Tasks delivers messages there.', { variables: ['SVC_EXECUTION_WORKER_URL'] }),
  serviceAccountEmail: setting<string | null>('ExecutionRuntime:Google:ServiceAccountEmail', mailbox, null,
    'Service account whose token each delivery carries.', { variables: ['SVC_EXECUTION_TASKS_SERVICE_ACCOUNT'] }),
  oidcAudience: setting<string | null>('ExecutionRuntime:Google:OidcAudience', anyText, null,
    'Audience of that token. Default: the address of the worker.', { variables: ['SVC_EXECUTION_TASKS_OIDC_AUDIENCE'] }),
  requireExplicitWorkerRoutes: setting('ExecutionRuntime:Google:RequireExplicitWorkerRoutes', truth(), true,
    'Whether every handler of ExecutionRuntime:ExternalHandlers needs its own route; if not, handlers without one use the default address.'),
  workerRoutes: setting<readonly Partial<WorkerRouteSetting>[]>('ExecutionRuntime:Google:WorkerRoutes',
    list(members<WorkerRouteSetting>({ HandlerId: identifier, ProjectId: projectName, LocationId: locationName, QueueId: queueName, WorkerUrl: url, ServiceAccountEmail: mailbox, OidcAudience: anyText })), [],
    'Routes of single handlers: HandlerId and the members that differ from the settings above.'),
  emulatorHost: setting<string | null>('ExecutionRuntime:Google:EmulatorHost', emulatorHost, null,
    'Cloud Tasks emulator to use instead of the cloud.', { variables: ['CLOUD_TASKS_EMULATOR_HOST'] }),
} as const;

/** The function that executes the handlers of plugins when the queue delivers their runs. */
// biome-ignore format: a table reads better with one setting a line or two
export const hostedWorker = {
  callbackPath: setting('HostedWorker:CallbackPath', text('a path such as /tasks/execution', /^(\/[A-Za-z0-9._~-]{1,64}){1,8}$/), '/tasks/execution',
    'Path at which the hosted worker receives deliveries.'),
  allowedPrincipals: setting<readonly string[]>('HostedWorker:TaskAuthentication:AllowedPrincipals', list(anyText), [],
    'Principals that may deliver. Default: ExecutionRuntime:Google:ServiceAccountEmail.'),
  ...accessSettings('HostedWorker:TaskAuthentication'),
} as const;
