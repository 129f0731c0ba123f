import type { Json } from '../../kernel/canonical-json.ts';
import type { Change, RetryPolicy, Run, RunScope, StoredValue } from '../run.ts';
import { NULL_VALUE } from '../run.ts';
import type { RunJob } from '../run-job.ts';

/** A validated start request. */
export interface StartRequest {
  readonly handlerId: string;
  readonly pluginId: string | null;
  readonly payload: Json;
  /** `sha256:` of the payload's canonical JSON. */
  readonly payloadHash: string;
  readonly payloadBytes: number;
  readonly idempotencyKey: string | null;
  readonly correlationId: string | null;
  readonly scope: RunScope | null;
  readonly scheduledAt: number | null;
  /** `null`: the handler's policy. */
  readonly retryPolicy: Partial<RetryPolicy> | null;
  readonly tags: Readonly<Record<string, string>>;
  readonly operationId: string;
  /** Present if an operation of the service admits the run as a job. */
  readonly job?: RunJob;
  /** The run removes data: it starts also where its owner may store nothing more, and on a full disk. */
  readonly frees?: boolean;
  /** The run that starts this one as its child. */
  readonly parentId?: string;
  /** Absent unless the cancellation of the run is cooperative. */
  readonly cancelGraceMs?: number;
  /** Checkpoints that the run begins with, each key once. */
  readonly checkpoints?: readonly FirstCheckpoint[];
  /** The concurrency key of the request; absent without one. */
  readonly startKey?: string;
  /** Absent unless the run is put off by later starts. */
  readonly quiet?: QuietTime;
}

export interface QuietTime {
  readonly quietMs: number;
  /** The longest time from the first start to the run. */
  readonly withinMs: number;
}

export interface FirstCheckpoint {
  readonly key: string;
  readonly content: Json;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The parts of a handler that admission needs. */
export interface HandlerFacts {
  readonly handlerId: string;
  readonly pluginId: string | null;
  readonly maxAttempts: number;
  readonly concurrencyKey: string | null;
  /** Whether the queue has a route for the handler; absent if it needs none. */
  readonly routed?: boolean;
}

export interface NewRun {
  /** Ordered id. */
  readonly id: string;
  readonly payload: StoredValue;
  readonly keyHash: string | null;
}

export interface Rejection {
  readonly failureClass: 'handler_missing' | 'plugin_mismatch' | 'platform';
  readonly error: string;
}

/** Why no registered handler can execute the run; `null` if one can. */
export function rejectionOf(request: StartRequest, handler: HandlerFacts | undefined): Rejection | null {
  if (handler === undefined) {
    return {
      failureClass: 'handler_missing',
      error: `No handler is registered under the id ${JSON.stringify(request.handlerId)}`,
    };
  }
  if (request.pluginId !== null && request.pluginId !== handler.pluginId) {
    const owner = handler.pluginId === null ? 'no plugin' : `the plugin ${JSON.stringify(handler.pluginId)}`;
    const named = `not to ${JSON.stringify(request.pluginId)}`;
    const error = `The handler ${JSON.stringify(request.handlerId)} belongs to ${owner}, ${named}`;
    return { failureClass: 'plugin_mismatch', error };
  }
  if (handler.routed === false) {
    const error = `No worker is configured for the handler ${JSON.stringify(request.handlerId)}`;
    return { failureClass: 'platform', error };
  }
  return null;
}

const DEFAULT_RETRY = { initialDelaySeconds: 1, maxDelaySeconds: 60, backoffMultiplier: 2 } as const;

/**
 * The request's policy, completed by the handler's number of attempts and the defaults.
 * @testonly
 */
export function retryPolicyOf(request: StartRequest, handler: HandlerFacts | undefined): RetryPolicy {
  const given = request.retryPolicy ?? {};
  const initialDelaySeconds = given.initialDelaySeconds ?? DEFAULT_RETRY.initialDelaySeconds;
  return {
    maxAttempts: Math.max(1, given.maxAttempts ?? handler?.maxAttempts ?? 1),
    initialDelaySeconds,
    maxDelaySeconds: Math.max(initialDelaySeconds, given.maxDelaySeconds ?? DEFAULT_RETRY.maxDelaySeconds),
    // Zero means no growth: every retry waits the initial delay.
    backoffMultiplier:
      given.backoffMultiplier || (given.backoffMultiplier === 0 ? 1 : DEFAULT_RETRY.backoffMultiplier),
  };
}

/** Creates the admitted run: queued, waiting for its schedule, or rejected. */
export function createRun(
  request: StartRequest,
  handler: HandlerFacts | undefined,
  fresh: NewRun,
  now: number,
): Change {
  const rejection = rejectionOf(request, handler);
  const scheduled = request.scheduledAt !== null && request.scheduledAt > now;
  const run: Run = {
    id: fresh.id,
    handlerId: request.handlerId,
    pluginId: request.pluginId ?? handler?.pluginId ?? null,
    operationId: request.operationId,
    status: rejection !== null ? 'rejected' : scheduled ? 'waiting' : 'queued',
    attempt: 0,
    failures: 0,
    leaseExpirations: 0,
    retryPolicy: retryPolicyOf(request, handler),
    keyHash: fresh.keyHash,
    correlationId: request.correlationId ?? fresh.id,
    scope: request.scope,
    payloadHash: request.payloadHash,
    payload: rejection === null ? fresh.payload : NULL_VALUE,
    tags: request.tags,
    createdAt: now,
    updatedAt: now,
    scheduledAt: request.scheduledAt,
    startedAt: rejection === null ? null : now,
    completedAt: rejection === null ? null : now,
    cancellationRequested: false,
    requested: null,
    attempted: null,
    succeeded: null,
    failed: null,
    progress: null,
    currentStep: null,
    failureClass: rejection?.failureClass ?? null,
    error: rejection?.error ?? null,
    result: NULL_VALUE,
    statusDetails: null,
    lease: null,
    endedLease: null,
    concurrencyKey: null,
    wait: null,
    outcomes: [],
    taken: null,
    inbox: [],
    trace: [],
    lastSequenceId: '',
    traced: 0,
    traceDropped: 0,
    artifacts: 0,
    counted: false,
    ...(request.job === undefined ? {} : { job: request.job }),
    ...(request.parentId === undefined ? {} : { parentId: request.parentId }),
    ...(request.cancelGraceMs === undefined ? {} : { cancelGraceMs: request.cancelGraceMs }),
    ...(request.startKey === undefined ? {} : { startKey: request.startKey }),
    ...(request.quiet === undefined ? {} : { quietBy: now + request.quiet.withinMs }),
    ...(rejection !== null || request.checkpoints === undefined
      ? {}
      : { firstCheckpoints: request.checkpoints.length }),
  };
  return rejection === null
    ? { run, events: [{ type: 'run.created' }] }
    : { run, events: [{ type: 'run.rejected', severity: 'warning', message: rejection.error }] };
}
