import { hostname } from 'node:os';
import { acceptsHandlersOfWorkers } from '../config/execution-rules.ts';
import { type Settings, table } from '../config/table.ts';
import type { HostedWorker } from '../groups/execution/delivery-operation.ts';
import type { ExecutionDependencies } from '../groups/execution/dependencies.ts';
import type { ChainOptions } from '../http/options.ts';
import type { Jobs } from '../jobs/admit-job.ts';
import { executableJobs, registerJobs } from '../jobs/built-in.ts';
import type { JobPlugin } from '../jobs/job-plugin.ts';
import { describeFailure, type Log } from '../kernel/log.ts';
import { nodeOf } from '../kernel/ordered-id.ts';
import type { Clock, Timers } from '../kernel/world.ts';
import { release } from '../release.ts';
import { assembleRuns } from '../runs/assemble.ts';
import { describeHandler, HandlerRegistry } from '../runs/handler-registry.ts';
import { AutomaticPrune } from '../runs/maintenance/automatic-prune.ts';
import { AutomaticUpkeep, type Upkeep } from '../runs/maintenance/automatic-upkeep.ts';
import { receiveNotices } from '../runs/notices.ts';
import { offerLeftKeys } from '../runs/offer-start-key.ts';
import type { Plugin } from '../runs/plugin.ts';
import { EXECUTION_SCOPE } from '../runs/records.ts';
import { recoverRuns } from '../runs/recover-runs.ts';
import type { Runtime } from '../runs/runtime.ts';
import type { WorkerHandlersOptions } from '../runs/worker-handlers.ts';
import type { RecordStore } from '../store/port.ts';
import { adapterOf, optionsOf } from './adapter.ts';
import { processBlobsOf } from './blobs.ts';
import { databasePath } from './database-path.ts';
import { runAccessOf } from './identity.ts';
import type { LayerParts } from './layer.ts';
import { CompositionFault, loadExport } from './module.ts';
import { pageTokensOf } from './page-tokens.ts';
import { composeQueue } from './queue.ts';

/** Role of a process in executing runs. */
export type ExecutionRole =
  /** Executes the handlers of its plugins if the queue is local, and settles due runs. */
  | 'service'
  /** Executes the runs that the queue delivers. */
  | 'worker'
  /** Executes no runs. */
  | 'maintenance';

/** The run engine, composed from the settings. */
export interface Execution {
  /** Admits and reads jobs for the operations of route groups. */
  readonly jobs: Jobs;
  readonly dependencies: ExecutionDependencies;
  /** Executes the deliveries of the queue. */
  readonly worker: HostedWorker;
  /** Recovers runs of earlier processes and starts to settle due runs. */
  start(): Promise<void>;
  /** Takes no more runs, and jobs begin no further call of a provider. Handlers continue. */
  drain(): void;
  /** How many runs this process executes now. */
  underWay(): number;
  /** Takes no more runs and waits for executing handlers, up to the drain time of the settings. */
  stop(): Promise<void>;
}

export interface ExecutionParts extends LayerParts {
  /** Writes a line at every log level; absent where no operator reads it. */
  readonly announce?: Log;
  readonly role: ExecutionRole;
  /** Durable work of the route groups, the same list in every process of a deployment. Default: none. */
  readonly jobs?: readonly JobPlugin[];
  /** The operations of these groups, for the commits of handlers. */
  readonly serving?: (groups: readonly string[]) => Promise<ChainOptions>;
  /** Upkeep of groups beside that of their jobs. */
  readonly upkeep?: readonly Upkeep[];
}

/** Lets operators find the process behind a worker id of a history. */
function mappingOf(workerId: string): string {
  return `Runs are executed by the worker ${workerId}: process ${process.pid} on the host ${hostname()}`;
}

/** Every process executes the jobs of the service; the line matters where it executes handlers of the operator too. */
function announceWorker({ announce, log }: ExecutionParts, workerId: string, hasPlugins: boolean): void {
  const message = mappingOf(workerId);
  if (hasPlugins) announce?.({ severity: 'INFO', message });
  else log({ severity: 'DEBUG', message });
}

interface Locks {
  /** Holds the name. Call the result to release it. */
  hold(name: string): () => void;
  isGone(name: string): boolean;
  sweep(isName: (name: string) => boolean): void;
}

/** Locks that prove which processes of one database are alive; `null` if only leases do. */
async function locksOf(settings: Settings): Promise<Locks | null> {
  if (settings.canonicalStore.provider !== 'sqlite') return null;
  const { ProcessLocks } = await import('../store/sqlite/process-locks.ts');
  return new ProcessLocks(databasePath(settings));
}

function engineOptionsOf({ execution }: Settings) {
  return { concurrencyMax: execution.maxConcurrentRuns, leaseMs: execution.leaseSeconds * 1_000 };
}

export async function composeExecution(parts: ExecutionParts): Promise<Execution> {
  const { settings, world, log, role, jobs = [] } = parts;
  let opened: RecordStore | undefined;
  const store = async () => (opened = await parts.store.get());
  const { local, cloud } = await composeQueue(settings, world, () => opened);
  const reaches = cloud === null ? undefined : cloud.reaches.bind(cloud);
  const registry = new HandlerRegistry(reaches, concurrencyLimitsOf(settings));
  const plugins = await loadPlugins(settings, world.timers);
  registerAll(registry, plugins, settings);
  registered('the service', () => registerJobs(registry, jobs, release.version));
  const handlers = executesHandlers(role, cloud) ? executableHandlers(plugins, jobs, world.clock) : [];
  // Take the process lock before any run can be leased under this name.
  const presence = await presenceOf(parts, settings.execution.workerId === null && handlers.length > 0);
  const workerId = settings.execution.workerId ?? presence.name;
  if (handlers.length > 0) announceWorker(parts, workerId, plugins.length > 0);
  const rules = rulesOf(parts);
  let started = false;
  const { runtime, engine, settle } = assembleRuns({
    store,
    scope: EXECUTION_SCOPE,
    world,
    node: nodeOf(settings.execution.orderedIdNode, () => `${hostname()}-${process.pid}`),
    registry,
    ...rules,
    local,
    ...(cloud === null ? {} : { queue: cloud.queue }),
    usesReadyRuns: role === 'service',
    blobs: processBlobsOf(parts),
    log,
    saw: parts.damage.saw,
    settlesDueRuns: () => started,
    handlers,
    engine: { workerId, asks: role === 'service', ...engineOptionsOf(settings) },
  });
  const { automatic, upkeep } = maintenanceOf(parts, runtime);
  const reserve = handlers.length === 0 ? {} : { reserve: engine.reserve.bind(engine) };
  return {
    jobs: { runtime, ...reserve },
    dependencies: {
      runtime,
      access: rules.access,
      upkeep,
      adapter: adapterOf(settings),
      pageTokens: pageTokensOf(parts),
      ...reserve,
    },
    worker: { workerId, handlerIds: engine.handlerIds, deliver: (runId) => engine.deliver(runId) },
    async start() {
      // The cloud queue delivers due runs as messages, and scheduled maintenance finds lost ones.
      if (cloud !== null) return;
      started = true;
      await recover(runtime, presence.locks);
      await local.start(settle);
      receiveNotices(opened, local);
      engine.wake();
      for (const each of automatic) each.start();
    },
    drain: () => engine.drain(),
    underWay: () => engine.executing,
    async stop() {
      for (const each of automatic) await each.stop();
      await local.stop();
      const done = await engine.stop(settings.server.drainSeconds * 1_000);
      await cloud?.close();
      // Keep the name while a handler may still run: other processes must not take its runs yet.
      if (done) presence.release();
    },
  };
}

function executableHandlers(plugins: readonly Plugin[], jobs: readonly JobPlugin[], clock: Clock) {
  return [...plugins.flatMap((plugin) => plugin.handlers), ...executableJobs(jobs, clock)];
}

function maintenanceOf(
  { settings: { execution }, jobs = [], upkeep: ofGroups = [] }: ExecutionParts,
  runtime: Runtime,
) {
  const ofJobs = jobs.flatMap(({ maintain }) =>
    maintain === undefined ? [] : [(isOver: () => boolean) => maintain({ runtime, isOver })],
  );
  const upkeep: readonly Upkeep[] = [...ofJobs, ...ofGroups];
  const pruning = new AutomaticPrune(runtime, execution.pruneIntervalMinutes * 60_000);
  // In the cloud reconcile does it.
  const ofKeys: Upkeep = async () => ({
    offeredKeys: await offerLeftKeys(runtime, runtime.world.clock.now()),
  });
  return { upkeep, automatic: [pruning, new AutomaticUpkeep(runtime, [...upkeep, ofKeys])] };
}

/** Ends the leases of processes that are proven dead. */
async function recover(runtime: Runtime, locks: Locks | null): Promise<void> {
  if (locks === null) return;
  const isGone = (id: string) => PROVEN_NAME.test(id) && locks.isGone(id);
  await recoverRuns(runtime, isGone, runtime.world.clock.now());
  locks.sweep((name) => PROVEN_NAME.test(name));
}

/** With a cloud queue only the worker that receives its deliveries executes handlers. */
function executesHandlers(role: ExecutionRole, cloud: unknown): boolean {
  return cloud === null ? role === 'service' : role === 'worker';
}

function registerAll(registry: HandlerRegistry, plugins: readonly Plugin[], { execution }: Settings): void {
  for (const plugin of plugins)
    registered(plugin.pluginId, () => registry.addPlugin(plugin, describedHandlers(plugin)));
  for (const handler of execution.externalHandlers) {
    const handlerId = handler.HandlerId ?? '';
    registered(handlerId, () =>
      registry.addExternal(
        describeHandler({
          handlerId,
          pluginId: handler.PluginId,
          displayName: handler.DisplayName,
          description: handler.Description,
          maxAttempts: handler.MaxAttempts,
          concurrencyKey: handler.ConcurrencyKey,
        }),
      ),
    );
  }
}

function concurrencyLimitsOf({ execution }: Settings): ReadonlyMap<string, number> {
  const limited = execution.handlers.map(
    ({ HandlerId = '', ConcurrencyLimit = 1 }) => [HandlerId, ConcurrencyLimit] as const,
  );
  return new Map(limited);
}

function rulesOf({ settings, serving }: ExecutionParts) {
  const policies = productPoliciesOf(settings);
  const rules = { options: optionsOf(settings), policies, workerHandlers: workerHandlersOf(settings) };
  return { ...rules, access: runAccessOf(settings), commit: serving && commitBy(serving) };
}

type Commit = NonNullable<Runtime['commit']>;

/** The code of the group is loaded with the first commit of a handler. */
function commitBy(serving: NonNullable<ExecutionParts['serving']>): Commit {
  let made: Commit | undefined;
  return async (...given) => {
    const { createCommit } = await import('./handler-commit.ts');
    return (made ??= createCommit(() => serving(['canonical'])))(...given);
  };
}

function workerHandlersOf(settings: Settings): WorkerHandlersOptions {
  const { acceptHandlersOfWorkers, externalHandlers } = table.execution;
  const accepts = acceptsHandlersOfWorkers(settings);
  return { accepts, settings: { accepts: acceptHandlersOfWorkers.key, named: externalHandlers.key } };
}

/**
 * The name of a process with a lock. Runs of other names are taken when their leases end. Names of release 0.5.0 hold the
 * host and the process id as well.
 */
const PROVEN_NAME = /^process-(?:[^/\\]*-\d+-)?[0-9a-f]{16}$/;

const noRelease = () => undefined;

interface Presence {
  readonly name: string;
  readonly locks: Locks | null;
  readonly release: () => void;
}

/**
 * Names this process by a random id, since callers see the name in health and histories. The log line at start says which
 * process has it; only the lock proves that the process is alive.
 */
async function presenceOf({ settings, world, log }: ExecutionParts, shown: boolean): Promise<Presence> {
  const name = `process-${Buffer.from(world.random.bytes(8)).toString('hex')}`;
  try {
    const opened = await locksOf(settings);
    return { name, locks: opened, release: (shown ? opened?.hold(name) : undefined) ?? noRelease };
  } catch (error) {
    const message =
      'The process lock could not be taken: after a crash, runs of this process wait for their leases to expire';
    log({ severity: 'WARNING', message, failure: describeFailure(error) });
    return { name: name.slice(0, -8), locks: null, release: noRelease };
  }
}

/** A plugin may not assign its handlers to another plugin: the registry sets the id. */
function describedHandlers({ handlers }: Plugin) {
  return handlers.map((handler) => describeHandler({ ...handler, pluginId: null }));
}

function registered(name: string, register: () => void): void {
  try {
    register();
  } catch (error) {
    throw new CompositionFault(
      `The handlers of ${name} cannot be used: ${error instanceof Error ? error.message : 'unknown'}`,
    );
  }
}

function productPoliciesOf({ execution }: Settings) {
  return execution.productPolicies.map((policy) => ({
    productId: policy.ProductId ?? '',
    allowedHandlerIds: policy.AllowedHandlerIds ?? [],
    allowedTenantIds: policy.AllowedTenantIds ?? [],
    allowedServiceIdentities: policy.AllowedServiceIdentities ?? [],
    payloadBytesMax: policy.MaxPayloadBytes ?? null,
    artifactPrefix: policy.ArtifactPrefix ?? '',
    redactedNames: policy.RedactedJsonPropertyNames ?? [],
  }));
}

function loadPlugins(settings: Settings, timers: Timers): Promise<Plugin[]> {
  const what = `${table.execution.plugins.key}:`;
  return Promise.all(settings.execution.plugins.map((type) => loadExport(type, what, timers, pluginFrom)));
}

function pluginFrom(exported: unknown, name: string): Plugin {
  if (isPlugin(exported)) return exported;
  throw new Error(`its export ${name} is no plugin with pluginId, name, version and handlers`);
}

function isPlugin(value: unknown): value is Plugin {
  if (typeof value !== 'object' || value === null) return false;
  const { pluginId, name, version, handlers } = value as Partial<Record<keyof Plugin, unknown>>;
  const named = [pluginId, name, version].every((text) => typeof text === 'string' && text !== '');
  return named && Array.isArray(handlers) && handlers.every(isHandler);
}

function isHandler(value: unknown): boolean {
  // `defineHandler` of the worker kit makes a function that has the members of a handler.
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const { handlerId, run } = value as { handlerId?: unknown; run?: unknown };
  return typeof handlerId === 'string' && handlerId !== '' && typeof run === 'function';
}
