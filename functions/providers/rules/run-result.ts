import { canonicalJson, type JsonObject, sha256 } from '../../kernel/canonical-json.ts';
import { formatUtc } from '../../kernel/timestamp.ts';
import type { RunOutcome, RunResultStatus } from './outcome.ts';
import { rejectionOf } from './rejection.ts';
import { inputHashOf, namesOf, type RunRequest } from './run-request.ts';
import type { ProviderTarget } from './target.ts';

/** Marks a result as a proposal: its reader decides about it. */
const AUTHORITY_BOUNDARY = 'proposal_only';

/** An ended run, with the facts that its trace needs. */
export interface EndedRun {
  readonly target: ProviderTarget;
  readonly request: RunRequest;
  readonly outcome: RunOutcome;
  readonly traceId: string;
  readonly correlationId: string;
  /** `null` for a run outside a job, such as one of a qualification. */
  readonly jobId: string | null;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly durationMs: number;
  /** Tokens and cost of the call; `null` when no model has answered. */
  readonly usage: JsonObject | null;
}

/** `null` for a run without an output. */
export function outputHashOf({ output }: Pick<RunOutcome, 'output'>): string | null {
  return output === null ? null : sha256(canonicalJson(output));
}

/** The result as callers see it. */
export function resultOf(run: EndedRun) {
  const { target, outcome } = run;
  const { status, failureClass, providerStatus, message, output } = outcome;
  return {
    status,
    provider: target.id,
    ...namesOf(run.request),
    output: output ?? {},
    failureClass,
    providerStatus,
    error: message,
    rejection: rejectionOf(outcome),
    trace: traceEventOf(run),
  };
}

function traceEventOf(run: EndedRun) {
  const { target, request, outcome, traceId, startedAt, durationMs } = run;
  return {
    traceId,
    timestamp: formatUtc(startedAt),
    provider: target.id,
    ...namesOf(request),
    ...hashesOf(run),
    durationMs,
    failureClass: outcome.failureClass,
  };
}

function hashesOf({ target, request, outcome }: EndedRun) {
  return {
    inputHash: inputHashOf(request),
    outputHash: outputHashOf(outcome),
    modelId: target.modelId,
    adapterId: target.id,
    configHash: target.configHash,
    authorityBoundary: AUTHORITY_BOUNDARY,
    artifactRefs: [],
  };
}

/** The trace of a run or a qualification. */
export interface ProviderTrace {
  readonly id: string;
  readonly operation: 'provider.run' | 'provider.qualification';
  readonly adapter: string;
  readonly request: JsonObject;
  readonly resultSummary: JsonObject;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly durationMs: number;
}

/** The trace of a run. It has hashes where a result has content. */
export function runTraceOf(run: EndedRun): ProviderTrace {
  const { target, request, outcome, correlationId, jobId, usage } = run;
  const { timeoutSeconds, maxOutputBytes, contextRefs } = request;
  return {
    id: run.traceId,
    operation: 'provider.run',
    adapter: target.id,
    request: {
      provider: target.id,
      ...namesOf(request),
      modelId: target.modelId,
      correlationId,
      jobId,
      contextRefs: [...(contextRefs ?? [])],
      timeoutSeconds: timeoutSeconds ?? null,
      maxOutputBytes: maxOutputBytes ?? null,
      payloadHash: inputHashOf(request),
    },
    resultSummary: {
      status: outcome.status,
      failureClass: outcome.failureClass,
      providerStatus: outcome.providerStatus,
      ...hashesOf(run),
      usage,
    },
    startedAt: run.startedAt,
    durationMs: run.durationMs,
  };
}

/** The end of a job's durable run, so that lists of runs distinguish a rejection from a failure. */
export function endOf(
  status: Exclude<RunResultStatus, 'Succeeded'>,
): 'failed' | 'timed_out' | 'rejected' | 'cancelled' {
  return ends[status];
}

const ends = {
  Failed: 'failed',
  TimedOut: 'timed_out',
  Rejected: 'rejected',
  Unsupported: 'rejected',
  NotConfigured: 'rejected',
  Cancelled: 'cancelled',
} as const;

export type ProviderJobStatus = RunResultStatus | 'Queued' | 'Running';

/** The status of a job: that of its run while it is under way, then that of the result. */
export function jobStatusOf(run: string, result: RunResultStatus | null): ProviderJobStatus {
  const underWay = runStatuses[run] ?? 'Failed';
  return underWay === 'Queued' || underWay === 'Running' ? underWay : (result ?? underWay);
}

const runStatuses: Readonly<Record<string, ProviderJobStatus>> = {
  queued: 'Queued',
  waiting: 'Queued',
  running: 'Running',
  succeeded: 'Succeeded',
  failed: 'Failed',
  timed_out: 'TimedOut',
  cancelled: 'Cancelled',
  rejected: 'Rejected',
};
