import type {
  ExecutionArtifact,
  ExecutionCheckpoint,
  ExecutionExternalEvent,
  ExecutionRun,
  ExecutionTimer,
  ExecutionWaitResult,
} from '../../contracts/generated/models.ts';
import type { Json, JsonObject } from '../kernel/canonical-json.ts';
import { legible } from '../kernel/legible.ts';
import type { ArtifactWrite, StoredArtifact } from './artifact.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { ReportInput } from './checks.ts';
import type { InboxEvent, RunScope, RunTimer } from './run.ts';
import type { RunJob } from './run-job.ts';
import type { StepCalls } from './step-port.ts';

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
  /** Version of its code, which a run shows. */
  readonly version?: string;
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

/**
 * The data and calls of a handler, with the names of the worker kit. Every call is refused with `lease_not_active` once the lease is
 * lost. Deprecated members stay until the next major release.
 */
export interface RunContext extends EarlierNames, Waits {
  /** The run at the time of the lease. */
  readonly run: ExecutionRun;
  readonly payload: Json;
  /** Only for handlers of the service itself. */
  readonly job?: RunJob;
  /**
   * Only for handlers of the service itself, before the transaction that others see the effect of. From then on a cancellation has
   * no effect; where one was requested before, the call ends the run as cancelled.
   */
  decide(): Promise<void>;
  /** Aborted when the run is cancelled or this process loses its lease. */
  readonly signal: AbortSignal;
  /** The calls of handlers that `defineHandler` of the worker kit makes. */
  readonly steps: StepCalls;
  /** Absent members keep their value. */
  report(progress: ReportInput): Promise<void>;
  /** Adds an entry to the history of the run. */
  recordEvent(event: TraceOptions & { readonly type?: string }): Promise<void>;
  log(
    message: string,
    options?: { readonly severity?: string; readonly details?: JsonObject },
  ): Promise<void>;
  putArtifact(
    artifact: Partial<ArtifactWrite> & { readonly name: string },
  ): Promise<StoredArtifact & ExecutionArtifact>;
  /** Survives retries, waits and restarts; the last write of a key counts. */
  checkpoint(
    key: string,
    content: Json,
    metadata?: Readonly<Record<string, string>>,
  ): Promise<KeptCheckpoint>;
  /** `null` without a checkpoint of that key. */
  readCheckpoint(key: string): Promise<KeptCheckpoint | null>;
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
}

/** With the members of both names: the date as a number, and as a text. */
export type KeptCheckpoint = Checkpoint & ExecutionCheckpoint;

interface Waits {
  /**
   * The event, or `null` after the timeout. Without either, the call throws `RunSuspended`, and the handler is executed from its
   * beginning when one arrives. The call then returns it once: keep it in a checkpoint if another wait or a retry may follow.
   */
  waitForExternalEvent(
    name: string,
    options: { readonly timeoutSeconds: number },
  ): Promise<ExecutionExternalEvent | null>;
  /** The event. `outcome`, `event` and `timer` of the result are deprecated. */
  waitForExternalEvent(name: string): Promise<ExecutionExternalEvent & ExecutionWaitResult>;
  /** @deprecated Give `timeoutSeconds`; the call then returns the event, or `null`. */
  waitForExternalEvent(name: string, options: { readonly timeoutAt?: Date }): Promise<ExecutionWaitResult>;
  /** Suspends the handler, like a wait for an event, until a moment. The first call of a name sets the moment. */
  waitForTimer(name: string, moment: TimerMoment): Promise<ExecutionTimer>;
  /** @deprecated Give `{ fireAt }`; the call then returns the timer. */
  waitForTimer(name: string, fireAt: Date, payload?: Json): Promise<ExecutionWaitResult>;
}

/** In seconds from now, or a date. */
export type TimerMoment = { readonly payload?: Json } & (
  | { readonly seconds: number }
  | { readonly fireAt: Date }
);

interface EarlierNames {
  /** @deprecated `run.id` */
  readonly runId: string;
  /** @deprecated `run.handlerId` */
  readonly handlerId: string;
  /** @deprecated `run.pluginId` */
  readonly pluginId: string | null;
  /** @deprecated `run.attempt`: starts at 1 and counts executions, also those after waits and crashes. */
  readonly attempt: number;
  /** @deprecated `run.maxAttempts` */
  readonly maxAttempts: number;
  /** @deprecated `run.correlationId` */
  readonly correlationId: string;
  /** @deprecated `run.createdAtUtc`: RFC 3339, UTC; the same in every execution. */
  readonly createdAt: string;
  /** @deprecated `run.scope` */
  readonly scope: RunScope | null;
  /** @deprecated `run.tags` */
  readonly tags: Readonly<Record<string, string>>;
  /** @deprecated `recordEvent` */
  trace(type: string, options?: TraceOptions): Promise<void>;
  /** @deprecated `checkpoint` */
  writeCheckpoint(
    key: string,
    content: Json,
    metadata?: Readonly<Record<string, string>>,
  ): Promise<KeptCheckpoint>;
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
  /** `false`: no retry follows, for every class. */
  readonly retryable?: boolean;

  constructor(
    failureClass: string,
    message: string,
    options: ErrorOptions & Partial<Pick<RunFailure, 'status' | 'retryable'>> = {},
  ) {
    super(message, options);
    this.name = 'RunFailure';
    this.failureClass = failureClass;
    this.status = options.status ?? 'failed';
    if (options.retryable !== undefined) this.retryable = options.retryable;
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

/** The attempt ends without a result, and its run is given back. */
export class RunGivenBack extends Error {
  constructor() {
    super('The run is given back');
    this.name = 'RunGivenBack';
  }
}

export function isGivenBack(error: unknown): boolean {
  return legible(() => error instanceof RunGivenBack, false);
}

export function isSuspension(error: unknown): boolean {
  return legible(() => error instanceof RunSuspended, false);
}

export function definePlugin(plugin: Plugin): Plugin {
  return plugin;
}

/** The reports of a handler are this far apart: each is a write of the run. */
export const REPORT_MS = 500;
