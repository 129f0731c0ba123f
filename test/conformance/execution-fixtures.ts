import { randomUUID } from 'node:crypto';
import type { ProductPolicy } from '../../functions/runs/product-policy.ts';
import { findRun } from '../../functions/runs/read-runs.ts';
import type { Run } from '../../functions/runs/run.ts';
import { settleDue } from '../../functions/runs/settle.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { START, testWorld } from '../support/canonical.ts';
import {
  ExecutionClient,
  executionInstance,
  type InstanceOptions,
  messagesHandled,
} from '../support/execution.ts';
import { ManualWorld } from '../support/manual-world.ts';

export const HANDLER = 'test.work';
export const OTHER = 'test.other';
export const PLUGIN = 'test.plugin';

/**
 * One instance over runs of its own, whose time the test sets. None of its timers fires: on a busy machine a queue
 * would deliver a run with an expired lease and settle it before the test does.
 */
export function ownRuns(store: RecordStore, options: InstanceOptions = {}) {
  const clock = { now: START };
  const { timers } = new ManualWorld();
  const world = { ...testWorld(clock), timers };
  const instance = executionInstance(store, {
    world,
    external: [{ handlerId: HANDLER, pluginId: PLUGIN }, { handlerId: OTHER }],
    ...options,
  });
  const { runtime } = instance;
  return {
    clock,
    instance,
    client: new ExecutionClient(instance),
    scope: runtime.scope,
    /**
     * Advances the time when no message is under way: a message handled later would settle runs that became due
     * meanwhile.
     */
    later: async (ms: number): Promise<void> => {
      await messagesHandled(world);
      clock.now += ms;
    },
    /** Advances the time and settles due runs, as the timer of a running instance would. */
    pass: async (ms: number): Promise<void> => {
      clock.now += ms;
      while ((await settleDue(runtime, clock.now)).more) {}
    },
  };
}

export function scopeOf(productId: string, tenantId = 't') {
  return { productId, tenantId };
}

/** The proof that a worker sends with each call about a run that it just leased. */
export interface Work {
  readonly leaseKey: string;
  readonly leaseToken: string;
  readonly workerId: string;
}

export async function leased(client: ExecutionClient, runId: string, ttlSeconds = 600): Promise<Work> {
  const workerId = 'worker';
  const handlerIds = [HANDLER, OTHER];
  const lease = await client.lease({ workerId, handlerIds, runId, ttlSeconds });
  if (lease === null) throw new Error(`run ${runId} was not to be had`);
  return { leaseKey: lease.leaseKey, leaseToken: lease.leaseToken, workerId };
}

/** A new run that a worker holds. */
export async function working(client: ExecutionClient, body: Partial<StartBody> = {}) {
  const run = await client.start({ handlerId: HANDLER, ...body });
  return { run, work: await leased(client, run.id) };
}

export type StartBody = Parameters<ExecutionClient['start']>[0];

export function someKey(): string {
  return randomUUID();
}

/** The stored run, with members that the wire does not show. */
export async function storedRun(client: ExecutionClient, runId: string): Promise<Run> {
  const run = await findRun(client.instance.runtime, runId);
  if (run === undefined) throw new Error(`there is no run ${runId}`);
  return run;
}

/** A JSON text of exactly this many bytes. */
export function textOfBytes(bytes: number): string {
  return 'x'.repeat(bytes - 2);
}

/** A product policy without restrictions; only its product is missing. */
export const openProduct: Omit<ProductPolicy, 'productId'> = {
  allowedHandlerIds: [],
  allowedTenantIds: [],
  allowedServiceIdentities: [],
  payloadBytesMax: null,
  artifactPrefix: '',
  redactedNames: [],
};
