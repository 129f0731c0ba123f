/**
 * `RunQueue`: how a run id reaches whoever can work on it. A message carries no state: whoever gets it leases the run first, so a
 * duplicate, a late or a reordered one changes nothing, and a lost one is found again in the store.
 */
export interface RunQueue {
  /** Says that the run can be worked on from `notBefore` on. Called after the run's state is durable. */
  enqueue(message: RunMessage): Promise<void> | void;
  /** Says that nothing is to be done about the run any more until the next message: what was expected of it may be forgotten. */
  forget?(runId: string): void;
  /** A message is gone once it was delivered: whoever finds it too early has to send the next one. */
  readonly delivers?: true;
}

export interface RunMessage {
  readonly runId: string;
  readonly handlerId: string;
  readonly reason: DispatchReason;
  /** Milliseconds since 1970; in the past or now for at once. */
  readonly notBefore: number;
  /** How often the run was leased before: a run becomes ready once between two leases. */
  readonly attempt: number;
  /**
   * Tells apart messages of one run that are alike in all else and yet no repetitions, such as one that is sent again because
   * the first may be lost. A queue that takes each message once takes one of each word.
   */
  readonly again?: string;
  /** The lease was only renewed: whoever is told when it was to end finds the new end then. */
  readonly renewed?: boolean;
}

export type DispatchReason = 'run_ready' | 'timer_due' | 'external_event' | 'lease_expired';

/**
 * What a queue in the same process as its workers knows of runs that are ready, so that they need not ask the store for each.
 * Nothing of it is the truth: whoever takes a run leases it in the store first.
 */
export interface ReadyRuns {
  /** A run of one of the handlers that is thought to be ready, the oldest; it is nobody else's from now on. */
  take(handlerIds: Iterable<string>): string | null;
  /** Whether asking for a run of one of the handlers can be worth it. */
  mayHave(handlerIds: Iterable<string>): boolean;
  /** Whether the store may know of ready runs that are not known here. */
  mustLook(handlerIds: Iterable<string>): boolean;
  /** What is known now, to be given to `learn` with what a look that begins now will show. */
  readonly mark: number;
  /**
   * Runs that the store showed as ready; `all` where there were no more of the handler. What was doubted since the look began
   * stays in doubt.
   */
  learn(handlerId: string, runIds: readonly string[], all: boolean, mark: number): void;
  /** Nothing is known for sure of these handlers any more. */
  doubt(handlerIds: Iterable<string>): void;
  /** Begins a call that may wait up to `waitMs`. It counts from now on, so that nothing that comes during its first look is missed. */
  enter(handlerIds: ReadonlySet<string>, waitMs: number, signal: AbortSignal): ReadyCall;
}

export interface ReadyCall {
  /** Settles when another look is worth it; with `false` when the time is over or nobody waits for the answer. */
  next(): Promise<boolean>;
  /** A run that was taken is not for this call: a call that has waited less long is told of it. */
  passOn(handlerId: string, runId: string): void;
  /** Makes the call look again. */
  wake(): void;
  leave(): void;
}

/** The queue inside a process: it takes messages, knows ready runs, and settles due runs while it is started. */
export interface ProcessQueue extends RunQueue, ReadyRuns {
  start(settleDue: () => Promise<{ readonly more: boolean; readonly nextAt?: number | null }>): Promise<void>;
  stop(): Promise<void>;
  /** A run of the handler may be ready, although no message reached this process. */
  hint(handlerId: string): void;
  addExecutor(executor: { readonly handlerIds: ReadonlySet<string>; wake(): void }): void;
}
