import type { ExecutionWaitResult } from '../../contracts/generated/models.ts';
import type { Json, JsonObject } from '../kernel/canonical-json.ts';
import { legible } from '../kernel/legible.ts';
import type { ArtifactWrite, StoredArtifact } from './artifact.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { InboxEvent, Progress, RunScope, RunTimer } from './run.ts';
import type { RunJob } from './run-job.ts';

/**
 * Handlers of an application that execute runs in the service's process. The server may execute a handler again after a
 * crash, a retry or a wait (at least once): protect its external effects by idempotency, a checkpoint or a lease.
 */
export interface Plugin {
  readonly pluginId: string;
  readonly name: string;
  readonly version: string;
  readonly handlers: readonly PluginHandler[];
}

export interface PluginHandler {
  readonly handlerId: string;
  readonly displayName?: string;
  readonly description?: string;
  /** Attempts of a run whose request states none. Default 1. */
  readonly maxAttempts?: number;
  /** Runs of all handlers with the same key are executed one after another. */
  readonly concurrencyKey?: string;
  readonly tags?: Readonly<Record<string, string>>;
  /**
   * Returns the run's result. Throw `RunFailure` to choose the failure class; any other error fails the run as
   * `unknown`.
   */
  run(context: RunContext): Promise<Json | undefined> | Json | undefined;
}

/** The data and calls of a handler. Every call is refused with `lease_not_active` once the lease is lost. */
export interface RunContext {
  readonly runId: string;
  readonly handlerId: string;
  readonly pluginId: string | null;
  /** Starts at 1 and counts executions, also those after waits and crashes. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly correlationId: string;
  /** RFC 3339, UTC; the same in every execution. */
  readonly createdAt: string;
  readonly scope: RunScope | null;
  readonly payload: Json;
  readonly tags: Readonly<Record<string, string>>;
  /** Only for handlers of the service itself. */
  readonly job?: RunJob;
  /**
   * Only for handlers of the service itself, before the transaction that others see the effect of. From then on a cancellation has
   * no effect; where one was requested before, the call ends the run as cancelled.
   */
  decide(): Promise<void>;
  /** Aborted when the run is cancelled or this process loses its lease. */
  readonly signal: AbortSignal;
  /** Absent members keep their value. */
  report(progress: Partial<Progress> & { readonly statusDetails?: JsonObject }): Promise<void>;
  log(
    message: string,
    options?: { readonly severity?: string; readonly details?: JsonObject },
  ): Promise<void>;
  trace(type: string, options?: TraceOptions): Promise<void>;
  putArtifact(artifact: Partial<ArtifactWrite> & { readonly name: string }): Promise<StoredArtifact>;
  /** Survives retries, waits and restarts; the last write of a key counts. */
  writeCheckpoint(
    key: string,
    content: Json,
    metadata?: Readonly<Record<string, string>>,
  ): Promise<Checkpoint>;
  readCheckpoint(key: string): Promise<Checkpoint | null>;
  /**
   * Takes a run-owned lease; `false` while another run of the same product and tenant holds the name. The lease ends with its
   * time or with the run.
   */
  acquireLease(name: string, ttlSeconds: number, metadata?: JsonObject): Promise<boolean>;
  /** `false` if this run does not hold the name. */
  releaseLease(name: string): Promise<boolean>;
  /** Records a timer. Nothing executes when it fires; use `waitForTimer` to be woken. */
  scheduleTimer(name: string, fireAt: Date, payload?: Json): Promise<RunTimer<Json>>;
  /** Raises an event into this run, or into another run of the same product and tenant. */
  raiseEvent(name: string, payload?: Json, runId?: string): Promise<InboxEvent>;
  /**
   * Returns how the wait ended: with its `event`, or as `timed_out` once `timeoutAt` has passed. Without either, the call throws `RunSuspended`, and the
   * handler is executed from its beginning when one arrives. The call then returns it once: keep it in a checkpoint
   * if another wait or a retry may follow.
   */
  waitForExternalEvent(name: string, options?: { readonly timeoutAt?: Date }): Promise<ExecutionWaitResult>;
  /**
   * Suspends the handler, like a wait for an event, until `fireAt`. The handler is then executed from its beginning, and its call
   * with the same name returns the timer of the first call: another `fireAt` of that call is ignored.
   */
  waitForTimer(name: string, fireAt: Date, payload?: Json): Promise<ExecutionWaitResult>;
}

interface TraceOptions {
  readonly message?: string;
  readonly severity?: string;
  readonly details?: JsonObject;
}

/**
 * Ends an attempt with a failure class, which decides about retries: `validation` is never retried. With the status
 * `cancelled` or `rejected` the handler ends its run at once, with any class.
 */
export class RunFailure extends Error {
  readonly failureClass: string;
  readonly status: 'failed' | 'timed_out' | 'rejected' | 'cancelled';

  constructor(
    failureClass: string,
    message: string,
    options: ErrorOptions & { readonly status?: RunFailure['status'] } = {},
  ) {
    super(message, options);
    this.name = 'RunFailure';
    this.failureClass = failureClass;
    this.status = options.status ?? 'failed';
  }
}

/** Also recognises the `RunFailure` class of a plugin that was bundled apart from the service. */
export function isRunFailure(error: unknown): error is RunFailure {
  return legible(
    () =>
      error instanceof RunFailure ||
      (error instanceof Error && error.name === 'RunFailure' && 'failureClass' in error),
    false,
  );
}

/** The run waits, so this execution of the handler ends. A handler that catches it must throw it again. */
export class RunSuspended extends Error {
  constructor() {
    super('The run waits; its handler is executed again when the wait is over');
    this.name = 'RunSuspended';
  }
}

export function isSuspension(error: unknown): boolean {
  return legible(() => error instanceof RunSuspended, false);
}

export function definePlugin(plugin: Plugin): Plugin {
  return plugin;
}

/** The reports of a handler are this far apart: each is a write of the run. */
export const REPORT_MS = 500;
