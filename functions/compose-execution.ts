import { limits } from '../contracts/generated/limits.ts';
import type { BlobStore } from './blobs/port.ts';
import { executionAccessOf } from './compose-identity.ts';
import { CompositionFault, loadExport } from './compose-module.ts';
import { type Settings, table } from './config/table.ts';
import type { AdapterFacts, ExecutionDependencies } from './execution/dependencies.ts';
import { Engine } from './execution/engine.ts';
import { HandlerRegistry } from './execution/handler-registry.ts';
import type { Plugin } from './execution/plugin.ts';
import { ProductPolicies } from './execution/product-policy.ts';
import { EXECUTION_SCOPE } from './execution/records.ts';
import { RunWatch } from './execution/run-watch.ts';
import type { RuntimeOptions } from './execution/runtime.ts';
import { recoverRuns, settleDue } from './execution/settle.ts';
import { describeFailure, type Log } from './http/log.ts';
import { nodeOf, OrderedIds } from './kernel/ordered-id.ts';
import type { Timers, World } from './kernel/world.ts';
import type { ReadyRuns, RunQueue } from './queue/port.ts';
import { release } from './release.ts';
import type { RecordStore } from './store/port.ts';

/** The execution runtime put together from the settings: its operations, and what runs beside them. */
export interface Execution {
  readonly dependencies: ExecutionDependencies;
  /** Looks for what was left from before, and goes on looking after what time brings. */
  start(): Promise<void>;
  /** Takes no more runs and waits for the handlers under way, as long as the settings say. */
  stop(): Promise<void>;
}

/** The queue of this process; made by the composition root, which alone knows providers. */
export interface ProcessQueue extends RunQueue, ReadyRuns {
  start(settleDue: () => Promise<{ readonly more: boolean; readonly nextAt?: number | null }>): Promise<void>;
  stop(): Promise<void>;
  addExecutor(executor: { readonly handlerIds: ReadonlySet<string>; wake(): void }): void;
}

export interface ExecutionParts {
  readonly settings: Settings;
  readonly world: World;
  readonly store: () => Promise<RecordStore>;
  readonly log: Log;
  readonly queue: ProcessQueue;
  readonly blobs: (() => Promise<BlobStore>) | null;
  /** What tells this process from others. */
  readonly process: ProcessFacts;
  /** Shows which processes on one database live; `null` where nothing but the leases does. */
  readonly locks: () => Promise<Locks | null>;
}

export interface ProcessFacts {
  readonly host: string;
  readonly pid: number;
}

export interface Locks {
  /** The answer lets go of the name. */
  hold(name: string): () => void;
  isGone(name: string): boolean;
  sweep(isName: (name: string) => boolean): void;
}

/** Records that count active runs, by provider: where rivals for one record hold each other up, several share the count. */
const COUNTER_SHARDS: Readonly<Record<string, number>> = { sqlite: 1, mysql: 1, postgresql: 8, firestore: 8 };

export async function composeExecution(parts: ExecutionParts): Promise<Execution> {
  const { settings, world, store, log, queue, blobs } = parts;
  const registry = new HandlerRegistry();
  const plugins = await loadPlugins(settings, world.timers);
  registerAll(registry, plugins, settings);
  let engine: Engine | undefined;
  let started = false;
  const runtime = {
    store,
    scope: EXECUTION_SCOPE,
    world,
    ids: new OrderedIds({
      clock: world.clock,
      node: nodeOf(settings.execution.orderedIdNode, () => `${parts.process.host}-${parts.process.pid}`),
      random: world.random,
    }),
    registry,
    policies: new ProductPolicies(productPoliciesOf(settings)),
    queue,
    ready: queue,
    blobs,
    log,
    options: optionsOf(settings),
    watch: new RunWatch(world),
    looksAfterTime: () => started,
    signalCancellation: (runId: string) => engine?.cancel(runId),
  };
  const handlers = new Map(
    plugins.flatMap((plugin) => plugin.handlers.map((handler) => [handler.handlerId, handler])),
  );
  const { workerId, maxConcurrentRuns, leaseSeconds } = settings.execution;
  // Before any run can be leased in its name.
  const presence = await presenceOf(parts, workerId === null && handlers.size > 0);
  engine = new Engine(runtime, handlers, {
    workerId: workerId ?? presence.name,
    concurrencyMax: maxConcurrentRuns,
    leaseMs: leaseSeconds * 1_000,
  });
  const executor = engine;
  queue.addExecutor(executor);
  return {
    dependencies: {
      runtime,
      access: executionAccessOf(settings),
      adapter: adapterOf(settings),
      ...(handlers.size === 0 ? {} : { reserve: (handlerId: string) => executor.reserve(handlerId) }),
    },
    async start() {
      started = true;
      const { locks } = presence;
      if (locks !== null) {
        const isGone = (id: string) => PROVEN_NAME.test(id) && locks.isGone(id);
        await recoverRuns(runtime, isGone, world.clock.now());
        locks.sweep((name) => PROVEN_NAME.test(name));
      }
      await queue.start(() => told(log, settleDue(runtime, world.clock.now())));
      executor.wake();
    },
    async stop() {
      await queue.stop();
      const done = await executor.stop(settings.server.drainSeconds * 1_000);
      // What a handler may still be at is nobody else's until this process has ended.
      if (done) presence.release();
    },
  };
}

/** Whoever waits for the look tries it again; whoever runs the service has to know. */
function told<T>(log: Log, look: Promise<T>): Promise<T> {
  return look.catch((error: unknown) => {
    log({ severity: 'ERROR', message: 'Due runs could not be moved on', failure: describeFailure(error) });
    throw error;
  });
}

function registerAll(registry: HandlerRegistry, plugins: readonly Plugin[], { execution }: Settings): void {
  for (const plugin of plugins)
    registered(plugin.pluginId, () => registry.addPlugin(plugin, plugin.handlers.map(described)));
  for (const handler of execution.externalHandlers) {
    const handlerId = handler.HandlerId ?? '';
    registered(handlerId, () =>
      registry.addExternal({
        handlerId,
        pluginId: handler.PluginId ?? null,
        displayName: handler.DisplayName ?? handlerId,
        description: handler.Description ?? null,
        maxAttempts: handler.MaxAttempts ?? 1,
        concurrencyKey: handler.ConcurrencyKey ?? null,
        tags: {},
      }),
    );
  }
}

/** The name of a process that shows that it lives; others have to wait for its leases. */
const PROVEN_NAME = /^process-[^/\\]*-\d+-[0-9a-f]{16}$/;

const nothing = () => undefined;

interface Presence {
  readonly name: string;
  readonly locks: Locks | null;
  readonly release: () => void;
}

/** Host and process are in the name for whoever reads it; that the process is no more is proven by its lock alone. */
async function presenceOf({ process, world, locks, log }: ExecutionParts, shown: boolean): Promise<Presence> {
  const host = process.host.replace(/[^\w.-]/g, '_').slice(0, 80);
  const own = Buffer.from(world.random.bytes(8)).toString('hex');
  const name = `process-${host}-${process.pid}-${own}`;
  try {
    const opened = await locks();
    return { name, locks: opened, release: (shown ? opened?.hold(name) : undefined) ?? nothing };
  } catch (error) {
    const message = 'Other processes cannot be shown that this one lives: its runs are left to their leases';
    log({ severity: 'WARNING', message, failure: describeFailure(error) });
    return { name: name.slice(0, -8), locks: null, release: nothing };
  }
}

function described(handler: Plugin['handlers'][number]) {
  const { handlerId, displayName, description, maxAttempts, concurrencyKey, tags } = handler;
  return {
    handlerId,
    pluginId: null,
    displayName: displayName ?? handlerId,
    description: description ?? null,
    maxAttempts: maxAttempts ?? 1,
    concurrencyKey: concurrencyKey ?? null,
    tags: tags ?? {},
  };
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

function optionsOf({ execution, canonicalStore }: Settings): RuntimeOptions {
  const local = canonicalStore.provider === 'sqlite' ? 'sqlite' : canonicalStore.provider;
  return {
    adapterId: `local-${local}`,
    runtimeKind: `local.${local}`,
    activeRunsMax: execution.maxActiveRuns,
    counterShards: COUNTER_SHARDS[canonicalStore.provider] ?? 1,
    retainedRunsMax: execution.maxRetainedTerminalRuns,
    listLimitDefault: Math.min(execution.defaultListLimit, execution.maxListLimit),
    listLimitMax: execution.maxListLimit,
    historyLimitDefault: Math.min(execution.defaultHistoryLimit, execution.maxHistoryLimit),
    historyLimitMax: execution.maxHistoryLimit,
    payloadBytesMax: execution.maxPayloadBytes,
    resultBytesMax: execution.maxResultBytes,
    artifactInlineBytesMax: limits.executionArtifactInlineBytesMax,
    leaseExpirationsMax: execution.maxLeaseExpirations,
    traceEventsPerRunMax: limits.executionTraceEventsPerRunMax,
    artifactsPerRunMax: limits.executionArtifactsPerRunMax,
    concurrencyRetryDelayMs: execution.concurrencyRetryDelayMs,
  };
}

function adapterOf({ canonicalStore }: Settings): AdapterFacts {
  return {
    displayName: 'Local execution runtime',
    version: release.version,
    capabilities: [
      'durable.runs',
      'cancellation',
      'retries',
      'artifacts',
      'trace.history',
      'idempotency',
      'local.dispatch',
      'in_process.handlers',
      'external.workers',
      'durable.timers',
      'external.events',
      'durable.waits',
      'leases',
      'restart.resume',
    ],
    metadata: { stateStore: canonicalStore.provider, dispatcher: 'local', workerTarget: 'process-or-lease' },
    concurrencyKeyPolicy: 'serialize_running_runs',
    retentionScope: 'run_owned',
  };
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
  if (typeof value !== 'object' || value === null) return false;
  const { handlerId, run } = value as { handlerId?: unknown; run?: unknown };
  return typeof handlerId === 'string' && handlerId !== '' && typeof run === 'function';
}
