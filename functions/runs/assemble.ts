import { limits } from '../../contracts/generated/limits.ts';
import type { BlobStore } from '../blobs/port.ts';
import type { Log } from '../kernel/log.ts';
import { OrderedIds } from '../kernel/ordered-id.ts';
import { WaitingPlaces } from '../kernel/waiting-places.ts';
import type { World } from '../kernel/world.ts';
import type { ProcessQueue, RunQueue } from '../queue/port.ts';
import type { RecordStore, Scope } from '../store/port.ts';
import { Engine, type EngineOptions } from './engine.ts';
import type { HandlerRegistry } from './handler-registry.ts';
import { OutageLog } from './outage-log.ts';
import type { PluginHandler } from './plugin.ts';
import { ProductPolicies, type ProductPolicy } from './product-policy.ts';
import { QueuedRuns } from './queued-runs.ts';
import { RecentScopes } from './recent-scopes.ts';
import { RefusedRuns } from './refused-runs.ts';
import { RunWatch } from './run-watch.ts';
import type { Runtime, RuntimeOptions } from './runtime.ts';
import { ScopeIndexState } from './scope-index-state.ts';
import { settleDue } from './settle.ts';
import { WorkerHandlers, type WorkerHandlersOptions } from './worker-handlers.ts';

export interface RunParts {
  readonly store: () => Promise<RecordStore>;
  readonly scope: Scope;
  readonly world: World;
  /** Number of this process in the ids that it draws. */
  readonly node: number;
  readonly registry: HandlerRegistry;
  /** The treatment of handlers that a worker names and the registry lacks. Default: they stay unknown. */
  readonly workerHandlers?: WorkerHandlersOptions;
  readonly policies: readonly ProductPolicy[];
  /** The queue in this process. Calls that wait for a run wait in it. */
  readonly local: ProcessQueue;
  /** The queue that takes the messages, if that is not the local one. */
  readonly queue?: RunQueue;
  /** Whether lease calls search the local queue before the store. */
  readonly usesReadyRuns: boolean;
  readonly blobs: (() => Promise<BlobStore>) | null;
  readonly log: Log;
  /** Receives the failures of handlers and of upkeep. */
  readonly saw?: (error: unknown) => void;
  readonly access?: Runtime['access'] | undefined;
  readonly commit?: Runtime['commit'] | undefined;
  readonly options: RuntimeOptions;
  /** Whether this process settles due runs without a call. */
  readonly settlesDueRuns: () => boolean;
  /** Handlers that this process executes. */
  readonly handlers: Iterable<PluginHandler>;
  readonly engine: Omit<EngineOptions, 'outage'>;
  /** Whether this process may execute the runs that its callers cancel. Default `true`. */
  readonly signalsCancellation?: boolean;
}

export interface AssembledRuns {
  readonly runtime: Runtime;
  readonly engine: Engine;
  /** Moves due runs on and makes them known to the local queue, at the current time. */
  readonly settle: () => ReturnType<typeof settleDue>;
}

/** Builds the run engine of one process. The service, the tests and the simulation all use this function. */
export function assembleRuns(parts: RunParts): AssembledRuns {
  const { store, scope, world, local } = parts;
  const signalsCancellation = parts.signalsCancellation ?? true;
  const leasePlaces = new WaitingPlaces(limits.executionLeaseWaitingCallsMax);
  const runtime: Runtime = {
    store,
    scope,
    world,
    ids: new OrderedIds({ clock: world.clock, node: parts.node, random: world.random }),
    registry: parts.registry,
    workerHandlers: new WorkerHandlers(
      parts.registry,
      { clock: world.clock, log: parts.log },
      parts.workerHandlers,
    ),
    policies: new ProductPolicies(parts.policies),
    queue: parts.queue ?? local,
    queuedRuns: new QueuedRuns(store, scope, world.random),
    ready: parts.usesReadyRuns ? local : null,
    blobs: parts.blobs,
    log: parts.log,
    ...(parts.saw && { saw: parts.saw }),
    ...(parts.access && { access: parts.access }),
    ...(parts.commit && { commit: parts.commit }),
    options: parts.options,
    watch: new RunWatch(world),
    queuedWatch: new RunWatch(world, leasePlaces),
    leasePlaces,
    scopes: new RecentScopes(),
    refused: new RefusedRuns(),
    scopeIndex: new ScopeIndexState(),
    settlesDueRuns: parts.settlesDueRuns,
    ...(signalsCancellation ? { signalCancellation: (runId: string) => engine.cancel(runId) } : {}),
  };
  const handlers = [...parts.handlers].map((handler) => [handler.handlerId, handler] as const);
  const recovered = 'Runs are found and settled again';
  const outage = new OutageLog(world.clock, parts.log, recovered);
  const engine = new Engine(runtime, new Map(handlers), { ...parts.engine, outage });
  local.addExecutor(engine);
  const settle = async () => {
    try {
      const settled = await settleDue(runtime, world.clock.now());
      outage.succeeded();
      return settled;
    } catch (error) {
      outage.failed('Due runs could not be settled', error);
      throw error;
    }
  };
  return { runtime, engine, settle };
}

/**
 * Reports whether another process may have written to the store since the last call. `opened` is the store, once open. A
 * mark may move shortly before its write can be read, so a change is reported twice.
 */
export function storeChanges(opened: () => RecordStore | undefined): () => boolean {
  let mark: string | null = null;
  let hadChanged = false;
  return () => {
    const store = opened();
    // Before the first call opens the store, no caller waits for a run.
    if (store === undefined) return false;
    const before = mark;
    mark = store.changeMark?.() ?? null;
    const changed = mark === null || mark !== before;
    const mayHave = changed || hadChanged;
    hadChanged = changed;
    return mayHave;
  };
}
