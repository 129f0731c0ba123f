import { AsyncLocalStorage } from 'node:async_hooks';
import type { OperationTypes } from '../../contracts/generated/operations.ts';
import type { executionHandlers } from '../../functions/groups/execution/handlers.ts';
import type { ServiceError } from '../../functions/kernel/errors.ts';

export type ExecutionOperation = keyof ReturnType<typeof executionHandlers>;

export interface ExecutionRequest<Id extends ExecutionOperation = ExecutionOperation> {
  readonly operation: Id;
  readonly params: OperationTypes[Id]['params'];
  readonly query: OperationTypes[Id]['query'];
  readonly body: OperationTypes[Id]['body'];
}

/** One request as an instance works on it. */
export interface ExecutionCall extends ExecutionRequest {
  readonly number: number;
  readonly instance: string;
  /** The clock of the instance when the request arrived. */
  readonly now: number;
  /** That clock, with the latest that it has said. */
  readonly clock?: { readonly latest: number };
  /** The oracle's moment at which the client sent it. */
  readonly since: number;
  /** Moments at which it changed a run. */
  readonly wrote: { readonly runId: string; readonly moment: number }[];
}

export type ExecutionOutcome<Id extends ExecutionOperation = ExecutionOperation> =
  | { readonly kind: 'answer'; readonly body: OperationTypes[Id]['response']['body'] }
  | { readonly kind: 'refused'; readonly error: ServiceError }
  /** Nothing was done. */
  | { readonly kind: 'failed' }
  /** The call may have taken effect, or take effect later. */
  | { readonly kind: 'unknown' };

const callAtHand = new AsyncLocalStorage<ExecutionCall | undefined>();

/** Which call the work at hand is for; none for what an instance does of its own accord. */
export function executionCall(): ExecutionCall | undefined {
  return callAtHand.getStore();
}

export function duringExecutionCall<T>(call: ExecutionCall | undefined, act: () => T): T {
  return callAtHand.run(call, act);
}
