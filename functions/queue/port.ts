import type { WaitingPlace } from '../kernel/waiting-places.ts';

/**
 * `RunQueue` carries run ids to workers. A message has no state: a worker leases the run from the store first. So
 * duplicate, late and reordered messages are harmless, and a lost one is found by maintenance.
 */
export interface RunQueue {
  /** Announces that the run can be executed from `notBefore` on. The caller first makes the state of the run durable. */
  enqueue(message: RunMessage): Promise<void> | void;
  /** The run needs no work until its next message, so the queue may forget it. */
  forget?(runId: string): void;
  /** The queue drops a message after its delivery, so a worker that receives it early must requeue it. */
  readonly delivers?: true;
}

/** Marks a request as a delivery of a queue, which distinguishes it from other requests. It proves no identity. */
export const DISPATCH_HEADER = 'X-Svc-Execution-Dispatch';

/** The owner whose share of the execution slots a run uses; `null` for a run without a share limit. */
export type RunOwner = string | null;

/** Whether a run of this owner may have a slot now. */
export type MayTake = (owner: RunOwner) => boolean;

export interface ReadyRun {
  readonly runId: string;
  readonly owner: RunOwner;
}

/** Runs that a search skipped, because their owners have no free slot now. */
export interface HeldBack {
  readonly owners: ReadonlySet<RunOwner>;
  /** Whether the search saw the whole queue of the handler. */
  readonly isWhole: boolean;
}

export interface RunMessage {
  readonly runId: string;
  readonly handlerId: string;
  /** Default: `null`. Only a queue in the process of the worker uses it. */
  readonly owner?: RunOwner;
  readonly reason: DispatchReason;
  /** Milliseconds since 1970. A past or current time means at once. */
  readonly notBefore: number;
  /** Leases of the run so far: it becomes ready once between two leases. */
  readonly attempt: number;
  /**
   * Distinguishes messages of one run that are otherwise equal, such as a redrive of a message that may be lost. A
   * queue that refuses repetitions accepts each key once.
   */
  readonly repeatKey?: string;
  /** The lease was only renewed. The message for its old expiry will find the new one. */
  readonly renewed?: boolean;
}

/** @testonly */
export type DispatchReason = 'run_ready' | 'timer_due' | 'external_event' | 'lease_expired';

/**
 * Ready runs that a queue in the process of its workers remembers, so that they need not search the store. Only the
 * store is authoritative: a caller leases a run there first.
 */
export interface ReadyRuns {
  /** Removes and returns the oldest known ready run of the handlers, of an owner that may have one. */
  take(handlerIds: Iterable<string>, mayTake?: MayTake): string | null;
  /** Puts back a run that `take` returned, since its owner may not have it now. */
  putBack(handlerId: string, run: ReadyRun): void;
  /** Whether the queue knows a ready run of another owner. */
  holdsOther(handlerIds: Iterable<string>, owner: RunOwner): boolean;
  /** Whether a search for a run of the handlers may succeed. */
  mayHave(handlerIds: Iterable<string>): boolean;
  /** Whether the store may have ready runs that the queue does not know, of owners that may have one. */
  mustSearch(handlerIds: Iterable<string>, mayTake?: MayTake): boolean;
  /** State to pass to `learn` with the result of a search that begins now. */
  readonly mark: number;
  /**
   * Adds the ready runs that a search found; `all` if the handler has no others, but for those that it held back. A call of
   * `markIncomplete` since the search began keeps its effect.
   */
  learn(handlerId: string, runs: readonly ReadyRun[], all: boolean, mark: number, heldBack?: HeldBack): void;
  /** The queue may lack ready runs of these handlers. */
  markIncomplete(handlerIds: Iterable<string>): void;
  /** The queue may lack ready runs of any handler. */
  markAllIncomplete(): void;
  /** Runs of the handler may be ready, although no message reached this process: wakes one searcher for each. */
  hint(handlerId: string, runs?: number): void;
  /** Enters a call; `null`: it does not wait. Enter before the first search, so that no run is missed during it. */
  enter(handlerIds: ReadonlySet<string>, wait: ReadyWait | null, signal: AbortSignal): ReadyCall;
}

export interface ReadyWait {
  readonly waitMs: number;
  /** The waiting place, which the call leaves at its end; `null`: all places for it are taken, so it does not wait. */
  readonly place: WaitingPlace | null;
}

export interface ReadyCall {
  /**
   * Resolves with `true` when another search is worthwhile, with `false` when the time is over or the caller has
   * left.
   */
  next(): Promise<boolean>;
  /** The call may not lease this run. Passes it to a call that has waited less long. */
  passOn(handlerId: string, runId: string): void;
  /** Makes the call search again. */
  wake(): void;
  leave(): void;
}

/** The queue inside a process: it takes messages, knows the ready runs, and settles due runs while it is started. */
export interface ProcessQueue extends RunQueue, ReadyRuns {
  start(settleDue: () => Promise<{ readonly more: boolean; readonly nextAt?: number | null }>): Promise<void>;
  stop(): Promise<void>;
  /** Settles due runs and wakes every searcher: messages of other processes may be lost. */
  recheck(): void;
  addExecutor(executor: { readonly handlerIds: ReadonlySet<string>; wake(): void }): void;
}
