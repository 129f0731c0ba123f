import { AsyncLocalStorage } from 'node:async_hooks';
import type { OperationTypes } from '../../contracts/generated/operations.ts';
import type { canonicalHandlers } from '../../functions/groups/canonical/handlers.ts';
import type { ServiceError } from '../../functions/kernel/errors.ts';
import type { ArchiveOperations } from './archives.ts';
import type { Verdict } from './verdict.ts';

export type Operation = keyof ReturnType<typeof canonicalHandlers>;

export type Types = Pick<OperationTypes, Operation> & ArchiveOperations;
/** With the calls of the operator's tool. */
export type AnyOperation = keyof Types;

/** One request as an instance works on it, found again by what it reads and writes. */
export interface Call<Id extends AnyOperation = Operation> {
  readonly number: number;
  readonly operation: Id;
  readonly params: Types[Id]['params'];
  readonly body: Types[Id]['body'];
  readonly instance: string;
  /** The clock of the instance when the request arrived. */
  readonly now: number;
  /** The last time that this clock gave: leases and renewals begin with their decision. */
  decided?: number;
  /** The verdict of the model for the state that the last attempt read. */
  verdict: Verdict | undefined;
  /** The number of the state that the tenant had when the call was sent. */
  since?: number;
  /** The result of a commit, and the number of restores of the tenant before it. */
  wrote?: { readonly result: string; readonly restores: number };
  /** Whether a restore has taken effect. */
  replaced?: boolean;
}

export type AnyCall = Call<AnyOperation>;

export type Outcome<Id extends AnyOperation = Operation> =
  | { readonly kind: 'answer'; readonly body: Types[Id]['response']['body'] }
  | { readonly kind: 'refused'; readonly error: ServiceError }
  /** Nothing was done. */
  | { readonly kind: 'failed' }
  /** The call may have taken effect, or take effect later. */
  | { readonly kind: 'unknown' };

export type AnyOutcome = Outcome<AnyOperation>;

/** The call at hand, for the store's hooks: as a request id would be passed along. */
const callAtHand = new AsyncLocalStorage<AnyCall>();

export function currentCall(): AnyCall | undefined {
  return callAtHand.getStore();
}

/** Runs `act` as the work on `call`, for planted bugs that ask what the call at hand is. */
export function duringCall<T>(call: AnyCall, act: () => T): T {
  return callAtHand.run(call, act);
}
