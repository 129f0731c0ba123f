import { executionHandlers } from '../../functions/groups/execution/handlers.ts';
import type { World } from '../../functions/kernel/world.ts';
import { type Executor, LocalQueue } from '../../functions/queue/local/local-queue.ts';
import type { RunMessage, RunQueue } from '../../functions/queue/port.ts';
import { assembleRuns, storeChanges } from '../../functions/runs/assemble.ts';
import { describeHandler, HandlerRegistry } from '../../functions/runs/handler-registry.ts';
import type { PluginHandler } from '../../functions/runs/plugin.ts';
import type { ProductPolicy } from '../../functions/runs/product-policy.ts';
import type { Run } from '../../functions/runs/run.ts';
import type { ReserveSlot } from '../../functions/runs/start-here.ts';
import type { RecordStore, Scope } from '../../functions/store/port.ts';
import { RUN_OPTIONS, TEST_ADAPTER, TEST_PAGE_TOKENS } from '../support/run-options.ts';
import { duringExecutionCall } from './execution-calls.ts';

export const EXECUTION: Scope = { kind: 'system', name: 'execution' };
export const KEY = 'one-at-a-time';
/** Handlers of external workers; two share a concurrency key. */
export const EXTERNAL = ['x-free', 'x-key', 'x-too'] as const;
export const IN_PROCESS = ['p-free', 'p-key'] as const;
const PROCESS_LEASE_MS = 20_000;
export const CONCURRENCY_MAX = 2;
const RECHECK_MS = 2_000;

/** The deployment of one seed. */
export interface Shape {
  readonly instances: readonly string[];
  /** Whether instances know of ready runs in memory, or workers hear of them by messages alone. */
  readonly local: boolean;
  /** Whether the database announces writes without being asked. */
  readonly marks: boolean;
  /** The mark of the database moves before the write that moves it can be read, as the size of a log file does. */
  readonly marksEarly?: boolean;
  /** Time between two checks for writes of other instances; 2 s where it is not given. */
  readonly recheckMs?: number;
  /** Whether the last workers only wait for messages about runs, and never poll. */
  readonly patient: boolean;
  readonly activeRunsMax: number | null;
  readonly counterShards: number;
  /** How many of the runs are for workers outside, of 1; 0.7 where it is not given. */
  readonly outside?: number;
  readonly policies: readonly ProductPolicy[];
  /** Runs of one start key that are executed at a time; 1 where it is not given. */
  readonly keyLimit?: number;
}

export const LEASE_EXPIRATIONS_MAX = 4;

export interface InstanceParts {
  readonly name: string;
  readonly workerId: string;
  readonly node: number;
  readonly world: World;
  readonly store: RecordStore;
  readonly shape: Shape;
  readonly handlers: readonly PluginHandler[];
  /** Where messages to workers go; it may throw. */
  readonly enqueue: (message: RunMessage) => void;
  /** A planted bug: whether the queue in the process takes the message. */
  readonly hears?: ((message: RunMessage) => boolean) | undefined;
  /** A planted bug: places of a start key beyond its limit. */
  readonly placesMore?: number | undefined;
  /** A queue that delivers, in place of the one in the process; `hint` is for calls that wait in it. */
  readonly cloud?: ((hint: (handlerId: string) => void) => RunQueue) | undefined;
}

/** One instance as the composition root makes it, on a world that the seed drives. */
export function executionInstance(parts: InstanceParts) {
  const { world, store, shape } = parts;
  const local = new DetachedQueue({
    world,
    recheckMs: shape.recheckMs ?? RECHECK_MS,
    mayHaveChanged: storeChanges(() => store),
  });
  const { runtime, engine, settle } = assembleRuns({
    store: () => Promise.resolve(store),
    scope: EXECUTION,
    world,
    node: parts.node,
    registry: registryOf(parts.handlers, (shape.keyLimit ?? 1) + (parts.placesMore ?? 0)),
    policies: shape.policies,
    local,
    queue: parts.cloud?.((handlerId) => local.hint(handlerId)) ?? {
      enqueue(message) {
        if (parts.hears?.(message) !== false) local.enqueue(message);
        parts.enqueue(message);
      },
      forget: (runId) => local.forget(runId),
    },
    usesReadyRuns: shape.local,
    blobs: null,
    log: () => undefined,
    options: {
      ...RUN_OPTIONS,
      historyLimitDefault: 200,
      leaseExpirationsMax: LEASE_EXPIRATIONS_MAX,
      activeRunsMax: shape.activeRunsMax,
      counterShards: shape.counterShards,
    },
    settlesDueRuns: () => shape.local && parts.cloud === undefined,
    handlers: parts.handlers,
    engine: {
      workerId: parts.workerId,
      concurrencyMax: CONCURRENCY_MAX,
      leaseMs: PROCESS_LEASE_MS,
      asks: parts.cloud === undefined,
    },
    // In the cloud the worker is another process than the one that receives the cancellation.
    signalsCancellation: parts.cloud === undefined,
  });
  const reserve: ReserveSlot = (handlerId, owner) => {
    const reservation = engine.reserve(handlerId, owner);
    if (reservation === null) return null;
    const alone = (act: () => void) => duringExecutionCall(undefined, act);
    return {
      grant: reservation.grant,
      execute: (run: Run) => alone(() => reservation.execute(run)),
      release: () => alone(() => reservation.release()),
    };
  };
  const own = parts.cloud === undefined ? { reserve } : {};
  const operations = executionHandlers({
    runtime,
    access: null,
    adapter: TEST_ADAPTER,
    pageTokens: TEST_PAGE_TOKENS,
    ...own,
  });
  const start = () => {
    // Where instances live only as long as a request, the caller that asks for work also settles due runs.
    if (!runtime.settlesDueRuns()) return;
    duringExecutionCall(undefined, () => {
      void local.start(settle);
      engine.wake();
    });
  };
  const deliver = (runId: string) => duringExecutionCall(undefined, () => engine.deliver(runId));
  return { runtime, operations, start, deliver };
}

export type ExecutionInstance = ReturnType<typeof executionInstance>;

/** The own work of a process belongs to no call of a client. */
class DetachedQueue extends LocalQueue {
  override addExecutor(executor: Executor): void {
    super.addExecutor({
      handlerIds: executor.handlerIds,
      wake: () => duringExecutionCall(undefined, () => executor.wake()),
    });
  }
}

function registryOf(handlers: readonly PluginHandler[], keyLimit: number): HandlerRegistry {
  const registry = new HandlerRegistry(undefined, new Map(EXTERNAL.map((id) => [id, keyLimit])));
  for (const handlerId of EXTERNAL) {
    const concurrencyKey = handlerId === 'x-free' ? null : KEY;
    registry.addExternal(describeHandler({ handlerId, concurrencyKey, maxAttempts: 2 }));
  }
  const plugin = { pluginId: 'simulated', name: 'simulated', version: '1' };
  registry.addPlugin(plugin, handlers.map(describeHandler));
  return registry;
}
