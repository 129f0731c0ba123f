import { executionHandlers } from '../../functions/groups/execution/handlers.ts';
import { OrderedIds } from '../../functions/kernel/ordered-id.ts';
import type { World } from '../../functions/kernel/world.ts';
import { LocalQueue } from '../../functions/queue/local/local-queue.ts';
import type { RunMessage, RunQueue } from '../../functions/queue/port.ts';
import { Engine } from '../../functions/runs/engine.ts';
import { HandlerRegistry } from '../../functions/runs/handler-registry.ts';
import type { PluginHandler } from '../../functions/runs/plugin.ts';
import { ProductPolicies, type ProductPolicy } from '../../functions/runs/product-policy.ts';
import type { Run } from '../../functions/runs/run.ts';
import { RunWatch } from '../../functions/runs/run-watch.ts';
import type { Runtime, RuntimeOptions } from '../../functions/runs/runtime.ts';
import { settleDue } from '../../functions/runs/settle.ts';
import type { RecordStore, Scope } from '../../functions/store/port.ts';
import { duringExecutionCall } from './execution-calls.ts';

export const EXECUTION: Scope = { kind: 'system', name: 'execution' };
export const KEY = 'one-at-a-time';
/** Handlers of external workers; two share a concurrency key. */
export const EXTERNAL = ['x-free', 'x-key', 'x-too'] as const;
export const IN_PROCESS = ['p-free', 'p-key'] as const;
export const PROCESS_LEASE_MS = 20_000;
export const CONCURRENCY_MAX = 2;
const RECHECK_MS = 2_000;

/** What the deployment of one seed is like. */
export interface Shape {
  readonly instances: readonly string[];
  /** Whether instances know of ready runs in memory, or workers hear of them by messages alone. */
  readonly local: boolean;
  /** Whether the database tells without being asked that something was written. */
  readonly marks: boolean;
  /** Whether the workers of the end do nothing but wait to be told of a run. */
  readonly patient: boolean;
  readonly activeRunsMax: number | null;
  readonly counterShards: number;
  /** How many of the runs are for workers outside, of 1; 0.7 where it is not given. */
  readonly outside?: number;
  readonly policies: readonly ProductPolicy[];
}

export const LEASE_EXPIRATIONS_MAX = 4;

const OPTIONS: Omit<RuntimeOptions, 'activeRunsMax' | 'counterShards'> = {
  adapterId: 'simulated',
  runtimeKind: 'simulated',
  retainedRunsMax: 500,
  listLimitDefault: 50,
  listLimitMax: 200,
  historyLimitDefault: 200,
  historyLimitMax: 200,
  payloadBytesMax: 262_144,
  resultBytesMax: 262_144,
  artifactInlineBytesMax: 262_144,
  leaseExpirationsMax: LEASE_EXPIRATIONS_MAX,
  traceEventsPerRunMax: 10_000,
  artifactsPerRunMax: 1_000,
  concurrencyRetryDelayMs: 100,
};

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
  /** A queue that delivers, in place of the one in the process; `hint` is for calls that wait in it. */
  readonly cloud?: ((hint: (handlerId: string) => void) => RunQueue) | undefined;
}

/** One instance as the composition root makes it, on a world that the seed drives. */
export function executionInstance(parts: InstanceParts) {
  const { world, store, shape } = parts;
  let mark: string | null = null;
  const mayHaveChanged = () => {
    const before = mark;
    mark = store.changeMark?.() ?? null;
    return mark === null || mark !== before;
  };
  const local = new LocalQueue({ world, recheckMs: RECHECK_MS, mayHaveChanged });
  let engine: Engine | undefined;
  const runtime: Runtime = {
    store: () => Promise.resolve(store),
    scope: EXECUTION,
    world,
    ids: new OrderedIds({ clock: world.clock, node: parts.node, random: world.random }),
    registry: registryOf(parts.handlers),
    policies: new ProductPolicies(shape.policies),
    queue: parts.cloud?.((handlerId) => local.hint(handlerId)) ?? {
      enqueue(message) {
        local.enqueue(message);
        parts.enqueue(message);
      },
      forget: (runId) => local.forget(runId),
    },
    ready: shape.local ? local : null,
    blobs: null,
    log: () => undefined,
    options: { ...OPTIONS, activeRunsMax: shape.activeRunsMax, counterShards: shape.counterShards },
    watch: new RunWatch(world),
    looksAfterTime: () => shape.local && parts.cloud === undefined,
    // A worker in the cloud is another process than the one that is asked to cancel.
    signalCancellation: (runId) => (parts.cloud === undefined ? engine?.cancel(runId) : undefined),
  };
  const executor = new Engine(runtime, new Map(parts.handlers.map((h) => [h.handlerId, h])), {
    workerId: parts.workerId,
    concurrencyMax: CONCURRENCY_MAX,
    leaseMs: PROCESS_LEASE_MS,
    asks: parts.cloud === undefined,
  });
  engine = executor;
  // What the process does of its own accord belongs to no call.
  const wake = () => duringExecutionCall(undefined, () => executor.wake());
  local.addExecutor({ handlerIds: executor.handlerIds, wake });
  const reserve = (handlerId: string) => {
    const reservation = executor.reserve(handlerId);
    if (reservation === null) return null;
    const alone = (act: () => void) => duringExecutionCall(undefined, act);
    return {
      grant: reservation.grant,
      execute: (run: Run) => alone(() => reservation.execute(run)),
      release: () => alone(() => reservation.release()),
    };
  };
  const own = parts.cloud === undefined ? { reserve } : {};
  const operations = executionHandlers({ runtime, access: null, adapter: ADAPTER, ...own });
  const start = () => {
    // Where instances live only as long as a request, whoever asks for work looks after what time brings.
    if (!runtime.looksAfterTime()) return;
    duringExecutionCall(undefined, () => {
      void local.start(() => settleDue(runtime, world.clock.now()));
      wake();
    });
  };
  const deliver = (runId: string) => duringExecutionCall(undefined, () => executor.deliver(runId));
  return { runtime, operations, start, deliver };
}

export type ExecutionInstance = ReturnType<typeof executionInstance>;

const ADAPTER = {
  displayName: 'Simulated runtime',
  version: '0.0.0',
  capabilities: ['durable.runs'],
  metadata: {},
  concurrencyKeyPolicy: 'serialize_running_runs',
  retentionScope: 'run_owned',
};

const PLAIN = { pluginId: null, description: null, maxAttempts: 1, concurrencyKey: null, tags: {} } as const;

function registryOf(handlers: readonly PluginHandler[]): HandlerRegistry {
  const registry = new HandlerRegistry();
  for (const handlerId of EXTERNAL) {
    const concurrencyKey = handlerId === 'x-free' ? null : KEY;
    registry.addExternal({ ...PLAIN, handlerId, displayName: handlerId, concurrencyKey, maxAttempts: 2 });
  }
  const described = handlers.map(({ handlerId, concurrencyKey = null, maxAttempts = 1 }) => ({
    ...PLAIN,
    handlerId,
    displayName: handlerId,
    concurrencyKey,
    maxAttempts,
  }));
  registry.addPlugin({ pluginId: 'simulated', name: 'simulated', version: '1' }, described);
  return registry;
}
