import { randomUUID } from 'node:crypto';
import type { OperationTypes } from '../../contracts/generated/operations.ts';
import type { BlobStore } from '../../functions/blobs/port.ts';
import { machine } from '../../functions/compose/machine.ts';
import type { ExecutionDependencies } from '../../functions/groups/execution/dependencies.ts';
import { executionHandlers } from '../../functions/groups/execution/handlers.ts';
import type { CallContext } from '../../functions/http/handler.ts';
import type { Caller } from '../../functions/identity/caller.ts';
import type { ExecutionAccess } from '../../functions/identity/execution-access.ts';
import { executableJobs, registerJobs } from '../../functions/jobs/built-in.ts';
import type { JobPlugin } from '../../functions/jobs/job-plugin.ts';
import type { Log } from '../../functions/kernel/log.ts';
import { PageTokens } from '../../functions/kernel/page-token.ts';
import type { World } from '../../functions/kernel/world.ts';
import { LocalQueue } from '../../functions/queue/local/local-queue.ts';
import type { RunQueue } from '../../functions/queue/port.ts';
import { assembleRuns } from '../../functions/runs/assemble.ts';
import {
  describeHandler,
  type HandlerDescriptor,
  HandlerRegistry,
} from '../../functions/runs/handler-registry.ts';
import type { Plugin } from '../../functions/runs/plugin.ts';
import type { ProductPolicy } from '../../functions/runs/product-policy.ts';
import type { RuntimeOptions } from '../../functions/runs/runtime.ts';
import type { RecordStore, Scope } from '../../functions/store/port.ts';
import { sharedSecret } from '../../functions/store/secret.ts';
import type { CloudStage } from './cloud-queue.ts';
import { RUN_OPTIONS, TEST_ADAPTER } from './run-options.ts';

/** Runs of a test that lie beside everybody else's: a place of its own in any store. */
export function ownScope(): Scope {
  return { kind: 'system', name: `execution-${randomUUID()}` };
}

export interface InstanceOptions {
  readonly scope?: Scope;
  /** By default the machine's: then timers fire by themselves. */
  readonly world?: World;
  readonly external?: readonly (Partial<HandlerDescriptor> & { readonly handlerId: string })[];
  readonly plugins?: readonly Plugin[];
  /** Runs of one start key that are executed at a time, by handler. */
  readonly keyLimits?: Readonly<Record<string, number>>;
  /** Durable work of route groups. */
  readonly jobs?: readonly JobPlugin[];
  readonly policies?: readonly ProductPolicy[];
  readonly access?: ExecutionAccess | null;
  readonly options?: Partial<RuntimeOptions>;
  readonly node?: number;
  readonly blobs?: BlobStore;
  readonly log?: Log;
  readonly leaseMs?: number;
  readonly concurrencyMax?: number;
  readonly recheckMs?: number;
  /** By default any time. */
  readonly mayHaveChanged?: () => boolean;
}

let cloud: CloudStage | null = null;

/** From now on the stage delivers the runs of this file's instances, and their handlers execute them. */
export function dispatchBy(stage: CloudStage): void {
  cloud = stage;
}

/** Resolves when every message whose time has come was delivered; at once where none is. */
export async function messagesArrived(world: World): Promise<void> {
  await cloud?.arrived(world);
}

/** Resolves when those messages were handled too. */
export async function messagesHandled(world: World): Promise<void> {
  await cloud?.handled(world);
}

/** One instance of the execution runtime over a store; several over one store and scope are a deployment. */
export function executionInstance(store: RecordStore, given: InstanceOptions = {}) {
  const world = given.world ?? machine;
  const registry = new HandlerRegistry(undefined, new Map(Object.entries(given.keyLimits ?? {})));
  for (const handler of given.external ?? []) registry.addExternal(describeHandler(handler));
  for (const plugin of given.plugins ?? []) registry.addPlugin(plugin, plugin.handlers.map(describeHandler));
  registerJobs(registry, given.jobs ?? [], '0.0.0');
  const queue = new LocalQueue({
    world,
    recheckMs: given.recheckMs ?? 5_000,
    mayHaveChanged: given.mayHaveChanged ?? (() => true),
  });
  const dispatched = cloud?.queueOf({
    world,
    hint: (handlerId) => queue.hint(handlerId),
    deliver: (runId) => engine.deliver(runId),
  });
  const handlers = [
    ...(given.plugins ?? []).flatMap((plugin) => plugin.handlers),
    ...executableJobs(given.jobs ?? [], world.clock),
  ];
  const { runtime, engine, settle } = assembleRuns({
    store: () => Promise.resolve(store),
    scope: given.scope ?? ownScope(),
    world,
    node: given.node ?? 1,
    registry,
    policies: given.policies ?? [],
    local: queue,
    ...(dispatched === undefined ? {} : { queue: later(dispatched) }),
    usesReadyRuns: true,
    blobs: given.blobs === undefined ? null : () => Promise.resolve(given.blobs as BlobStore),
    log: given.log ?? (() => undefined),
    options: { ...RUN_OPTIONS, ...given.options },
    // Tests settle due runs themselves, by `start` or by `settleDue`.
    settlesDueRuns: () => dispatched === undefined,
    handlers,
    engine: {
      workerId: `process-${randomUUID()}`,
      concurrencyMax: given.concurrencyMax ?? 64,
      leaseMs: given.leaseMs ?? 30_000,
      asks: dispatched === undefined,
    },
  });
  const reserve =
    handlers.length === 0 || dispatched !== undefined ? {} : { reserve: engine.reserve.bind(engine) };
  const dependencies: ExecutionDependencies = {
    runtime,
    access: given.access ?? null,
    adapter: TEST_ADAPTER,
    pageTokens: new PageTokens(sharedSecret(() => Promise.resolve(store), world.random, 'page-tokens')),
    ...reserve,
  };
  return {
    runtime,
    /** The dependencies with which the operations of a route group admit and read jobs. */
    jobs: { runtime, ...reserve },
    queue,
    engine,
    operations: executionHandlers(dependencies),
    /** Begins to execute and to look after what time brings. */
    async start() {
      if (dispatched !== undefined) return;
      await queue.start(settle);
      engine.wake();
    },
    async stop() {
      await queue.stop();
      await engine.stop(5_000);
    },
  };
}

function later(opening: Promise<RunQueue>): RunQueue {
  return { delivers: true, enqueue: async (message) => (await opening).enqueue(message) };
}

export type ExecutionInstance = ReturnType<typeof executionInstance>;

type ExecutionOperations = ExecutionInstance['operations'];
type Body<Id extends keyof ExecutionOperations> = OperationTypes[Id]['body'];

/** Calls one instance in the form in which handlers are called, at the time of its world. */
export class ExecutionClient {
  readonly instance: ExecutionInstance;
  readonly #caller: Caller;

  constructor(instance: ExecutionInstance, caller: Caller = { kind: 'development', principal: null }) {
    this.instance = instance;
    this.#caller = caller;
  }

  #context(signal = new AbortController().signal): CallContext {
    const now = this.instance.runtime.world.clock.now();
    return { caller: this.#caller, correlationId: 'test', now, signal };
  }

  async start(body: Body<'startExecutionRun'>, given: Partial<CallContext> = {}) {
    const { operations } = this.instance;
    const context = { ...this.#context(), ...given };
    return (await operations.startExecutionRun({ params: {}, query: {}, body }, context)).body;
  }

  async get(runId: string, query: OperationTypes['getExecutionRun']['query'] = {}) {
    const { operations } = this.instance;
    return (await operations.getExecutionRun({ params: { runId }, query, body: null }, this.#context())).body;
  }

  async list(query: OperationTypes['listExecutionRuns']['query'] = {}) {
    const { operations } = this.instance;
    return (await operations.listExecutionRuns({ params: {}, query, body: null }, this.#context())).body;
  }

  async runtime() {
    const { operations } = this.instance;
    const input = { params: {}, query: {}, body: null };
    return (await operations.getExecutionRuntime(input, this.#context())).body;
  }

  async effectiveRuntime(query: OperationTypes['getEffectiveExecutionRuntime']['query'] = {}) {
    const { operations } = this.instance;
    const input = { params: {}, query, body: null };
    return (await operations.getEffectiveExecutionRuntime(input, this.#context())).body;
  }

  /** A page of the list, with the token that its `Link` carries; `null` after the last page. */
  async listPage(query: OperationTypes['listExecutionRuns']['query'] = {}) {
    const { operations } = this.instance;
    const input = { params: {}, query, body: null };
    const { body, headers } = await operations.listExecutionRuns(input, this.#context());
    const address = /^<(.*)>; rel="next"$/.exec(headers?.Link ?? '')?.[1] ?? null;
    const next = address === null ? null : new URL(address, 'http://svc').searchParams;
    return { runs: body, next: next?.get('continuationToken') ?? null, address, headers: headers ?? {} };
  }

  async maintenance() {
    const { operations } = this.instance;
    const input = { params: {}, query: {}, body: null };
    return (await operations.getExecutionRuntimeMaintenance(input, this.#context())).body;
  }

  async prune(body: Body<'pruneExecutionRuntimeMaintenance'> = {}) {
    const { operations } = this.instance;
    const input = { params: {}, query: {}, body };
    return (await operations.pruneExecutionRuntimeMaintenance(input, this.#context())).body;
  }

  async reconcile(body: Body<'reconcileExecutionRuntimeDispatch'> = {}) {
    const { operations } = this.instance;
    const input = { params: {}, query: {}, body };
    return (await operations.reconcileExecutionRuntimeDispatch(input, this.#context())).body;
  }

  async cancel(runId: string) {
    const { operations } = this.instance;
    return (
      await operations.cancelExecutionRun({ params: { runId }, query: {}, body: null }, this.#context())
    ).body;
  }

  async raise(runId: string, body: Body<'raiseExecutionEvent'>) {
    const { operations } = this.instance;
    return (await operations.raiseExecutionEvent({ params: { runId }, query: {}, body }, this.#context()))
      .body;
  }

  async history(runId: string, query: OperationTypes['getExecutionRunHistory']['query'] = {}) {
    const { operations } = this.instance;
    return (
      await operations.getExecutionRunHistory({ params: { runId }, query, body: null }, this.#context())
    ).body;
  }

  async artifact(runId: string, artifactRef: string) {
    const { operations } = this.instance;
    const input = { params: { runId, artifactRef }, query: {}, body: null };
    return (await operations.getExecutionRunArtifact(input, this.#context())).body;
  }

  async artifacts(runId: string) {
    const { operations } = this.instance;
    const input = { params: { runId }, query: {}, body: null };
    return (await operations.listExecutionRunArtifacts(input, this.#context())).body;
  }

  async checkpoint(runId: string, key: string) {
    const { operations } = this.instance;
    const input = { params: { runId, key }, query: {}, body: null };
    return (await operations.getExecutionRunCheckpoint(input, this.#context())).body;
  }

  /** `null` where there is nothing to lease. */
  async lease(body: Body<'leaseExternalExecutionRun'>, signal?: AbortSignal) {
    const { operations } = this.instance;
    const input = { params: {}, query: {}, body };
    return (await operations.leaseExternalExecutionRun(input, this.#context(signal))).body;
  }

  async heartbeat(body: Body<'heartbeatExternalExecutionLease'>) {
    const { operations } = this.instance;
    const input = { params: {}, query: {}, body };
    return (await operations.heartbeatExternalExecutionLease(input, this.#context())).body;
  }

  async report(body: Body<'reportExternalExecutionLease'>) {
    const { operations } = this.instance;
    return (await operations.reportExternalExecutionLease({ params: {}, query: {}, body }, this.#context()))
      .body;
  }

  async record(body: Body<'recordExternalExecutionLeaseEvent'>) {
    const { operations } = this.instance;
    await operations.recordExternalExecutionLeaseEvent({ params: {}, query: {}, body }, this.#context());
  }

  async putArtifact(body: Body<'putExternalExecutionLeaseArtifact'>) {
    const { operations } = this.instance;
    const input = { params: {}, query: {}, body };
    return (await operations.putExternalExecutionLeaseArtifact(input, this.#context())).body;
  }

  async putCheckpoint(body: Body<'putExternalExecutionLeaseCheckpoint'>) {
    const { operations } = this.instance;
    const input = { params: {}, query: {}, body };
    return (await operations.putExternalExecutionLeaseCheckpoint(input, this.#context())).body;
  }

  async readCheckpoint(body: Body<'getExternalExecutionLeaseCheckpoint'>) {
    const { operations } = this.instance;
    const input = { params: {}, query: {}, body };
    return (await operations.getExternalExecutionLeaseCheckpoint(input, this.#context())).body;
  }

  async startChild(body: Body<'startExternalExecutionLeaseChild'>) {
    const { operations } = this.instance;
    const input = { params: {}, query: {}, body };
    return (await operations.startExternalExecutionLeaseChild(input, this.#context())).body;
  }

  async wait(body: Body<'waitExternalExecutionLease'>) {
    const { operations } = this.instance;
    return (await operations.waitExternalExecutionLease({ params: {}, query: {}, body }, this.#context()))
      .body;
  }

  async complete(body: Body<'completeExternalExecutionLease'>, given: Partial<CallContext> = {}) {
    const { operations } = this.instance;
    const input = { params: {}, query: {}, body };
    return (await operations.completeExternalExecutionLease(input, { ...this.#context(), ...given })).body;
  }

  async release(body: Body<'releaseExternalExecutionLease'>) {
    const { operations } = this.instance;
    const input = { params: {}, query: {}, body };
    return (await operations.releaseExternalExecutionLease(input, this.#context())).body;
  }
}
