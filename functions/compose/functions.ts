import type { OperationEntry } from '../../contracts/operation.ts';
import type { Settings } from '../config/table.ts';
import type { HandlerMap } from '../http/chain.ts';
import type { World } from '../kernel/world.ts';
import type { Execution, ExecutionRole } from './execution.ts';
import { composeDeliveryIdentity, composeIdentity, type Identity } from './identity.ts';
import type { LayerParts } from './layer.ts';

/** Functions without a group of the contract: the hosted worker, scheduled maintenance and the MCP endpoint. */

const runFunctions = ['worker', 'reconcile', 'prune'] as const;
/** @testonly */
export const functionNames = [...runFunctions, 'mcp'] as const;
export type FunctionName = (typeof functionNames)[number];
type RunFunction = (typeof runFunctions)[number];

export function isFunctionName(name: string | undefined): name is FunctionName {
  return functionNames.some((known) => known === name);
}

/** The additional functions of the execution runtime that the settings allow. */
export function servedFunctions({ execution }: Settings): readonly RunFunction[] {
  // Only the cloud queue delivers messages to a hosted worker.
  return execution.adapter === 'google' ? runFunctions : runFunctions.filter((name) => name !== 'worker');
}

export function roleOf(name: FunctionName): ExecutionRole {
  // The endpoint admits runs like a group, and executes them where a group would.
  if (name === 'mcp') return 'service';
  return name === 'worker' ? 'worker' : 'maintenance';
}

export interface LoadedFunction {
  readonly handlers: HandlerMap;
  readonly extra: readonly OperationEntry[];
  readonly identity: Identity;
}

export async function loadFunction(
  name: RunFunction,
  { settings, world, log }: Pick<LayerParts, 'settings' | 'world' | 'log'>,
  execution: Execution,
): Promise<LoadedFunction> {
  if (name === 'worker') return hostedWorker(settings, world, execution);
  const [{ scheduledHandler, scheduledOperation }, identity] = await Promise.all([
    import('../groups/execution/scheduled-operations.ts'),
    composeIdentity(settings, world, log),
  ]);
  const handlers = { [name]: scheduledHandler(name, execution.dependencies) };
  return { handlers, extra: [scheduledOperation(name)], identity };
}

async function hostedWorker(settings: Settings, world: World, execution: Execution): Promise<LoadedFunction> {
  const [delivery, identity] = await Promise.all([
    import('../groups/execution/delivery-operation.ts'),
    composeDeliveryIdentity(settings, world),
  ]);
  const operation = delivery.deliveryOperation(settings.hostedWorker.callbackPath);
  const health = delivery.workerHealthOperation;
  return {
    handlers: {
      [operation.id]: delivery.receiveDelivery(execution.worker),
      [health.id]: delivery.getWorkerHealth(execution.worker),
    },
    extra: [operation, health],
    identity,
  };
}
