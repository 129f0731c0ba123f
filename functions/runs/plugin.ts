import type { Json, JsonObject } from '../kernel/canonical-json.ts';
import type { ArtifactWrite, StoredArtifact } from './artifact.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { InboxEvent, Progress, RunScope, RunTimer } from './run.ts';
import type { RunJob } from './run-job.ts';

/**
 * What applications write to have runs executed in the process of the service. A handler may be executed again after a crash,
 * a retry or a wait (at least once): what it does elsewhere must bear repetition, or be protected by a checkpoint or a lease.
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
  /** Attempts of a run whose request says none; 1 unless given. */
  readonly maxAttempts?: number;
  /** Runs of all handlers with the same key are executed one after another. */
  readonly concurrencyKey?: string;
  readonly tags?: Readonly<Record<string, string>>;
  /** What it returns is the run's result. Throw `RunFailure` to say how it failed; any other error fails the run as `unknown`. */
  run(context: RunContext): Promise<Json | undefined> | Json | undefined;
}

/** What a handler is given of its run, and may do with it. Every call is refused with `lease_not_active` once the lease is lost. */
export interface RunContext {
  readonly runId: string;
  readonly handlerId: string;
  readonly pluginId: string | null;
  /** 1 for the first. Counts executions, also those after waits and crashes. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly correlationId: string;
  /** RFC 3339, UTC: the same in every execution. */
  readonly createdAt: string;
  readonly scope: RunScope | null;
  readonly payload: Json;
  readonly tags: Readonly<Record<string, string>>;
  /** Only for handlers of the service itself. */
  readonly job?: RunJob;
  /** Aborted when the run is to be cancelled, or is no longer this process's. */
  readonly signal: AbortSignal;
  /** Members that are left out keep their value. */
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
  /** Takes a lease on a name of the application's own; `false` while another run holds it. */
  acquireLease(name: string, ttlSeconds: number, metadata?: JsonObject): Promise<boolean>;
  /** `false` where this run does not hold it. */
  releaseLease(name: string): Promise<boolean>;
  /** A timer of the record: nothing is executed when it fires. To be woken, wait for one. */
  scheduleTimer(name: string, fireAt: Date, payload?: Json): Promise<RunTimer<Json>>;
  /** Raises an event into this run, or into another one of the same product and tenant. */
  raiseEvent(name: string, payload?: Json, runId?: string): Promise<InboxEvent>;
  /**
   * The event, or `null` once `timeoutAt` has passed. Where neither has come the handler ends here, by `RunSuspended`, and is
   * executed again from its beginning when one has: the same call then returns, once. What comes of it later must not need it
   * again: keep it in a checkpoint where more than one wait, or a retry, may follow.
   */
  waitForExternalEvent(
    name: string,
    options?: { readonly timeoutAt?: Date },
  ): Promise<{ readonly id: string; readonly raisedAt: Date; readonly payload: Json } | null>;
  /** As above: the handler ends here until the moment has come. The first call of the name says when that is. */
  waitForTimer(name: string, fireAt: Date, payload?: Json): Promise<RunTimer<Json>>;
}

export interface TraceOptions {
  readonly message?: string;
  readonly severity?: string;
  readonly details?: JsonObject;
}

/** Ends an attempt with a failure of a class, which decides about retries: `validation` is never tried again. */
export class RunFailure extends Error {
  readonly failureClass: string;
  readonly status: 'failed' | 'timed_out' | 'rejected';

  constructor(
    failureClass: string,
    message: string,
    options: ErrorOptions & { readonly status?: 'failed' | 'timed_out' | 'rejected' } = {},
  ) {
    super(message, options);
    this.name = 'RunFailure';
    this.failureClass = failureClass;
    this.status = options.status ?? 'failed';
  }
}

/** By what it says of itself: a plugin that was bundled apart from the service brings a class of its own. */
export function isRunFailure(error: unknown): error is RunFailure {
  if (error instanceof RunFailure) return true;
  return error instanceof Error && error.name === 'RunFailure' && 'failureClass' in error;
}

/** The run is parked on a wait, and this execution of the handler is over. Not to be caught, or else thrown again. */
export class RunSuspended extends Error {
  constructor() {
    super('The run waits; its handler is executed again when the wait is over');
    this.name = 'RunSuspended';
  }
}

export function definePlugin(plugin: Plugin): Plugin {
  return plugin;
}
